"""Which addresses may be fetched: many spellings of one machine, and what a name server may answer."""

import contextlib
import ipaddress
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import RowError
from mmconvert.storage.url_safety import (
    METADATA,
    check_addresses,
    check_url,
    is_allowed_host,
    is_connectable,
    is_metadata,
    is_public,
    parse_allowed_host,
)

PUBLIC = "93.184.216.34"

REFUSED_AS_WRITTEN = [
    # other ways to write 127.0.0.1 and 169.254.169.254
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0X7F.0.0.1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0177.0.0.1/",
    "http://127.0.0.01/",
    "http://0/",
    "http://0.0/",
    "http://00000.1/",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "http://169.254.43518/",
    "http://1.2.3.4.5/",
    "http://256.1.1.1/",
    "http://4294967296/",
    "http://0x/",
    # user names, ports, brackets
    "http://user@example.org/",
    "http://user:password@example.org/",
    "http://example.org@127.0.0.1/",
    "http://127.0.0.1:80@example.org/",
    "http://@example.org/",
    "http://example.org:0/",
    "http://example.org:65536/",
    "http://example.org:-1/",
    "http://example.org:8 0/",
    "http://example.org:\u0668\u0660/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[::1",
    "http://[127.0.0.1]/",
    "http://[v1.fe80]/",
    "http://::1/",
    # hosts that are no names
    "http:///etc/passwd",
    "http://",
    "http://./",
    "http://../",
    "http://a..example.org/",
    "http://-example.org/",
    "http://exa mple.org/",
    "http://exam%70le.org/",
    "http://127.0.0.1%2f@example.org/",
    "http://" + "a" * 64 + ".org/",
    "http://" + "a." * 130 + "org/",
    # what programs read differently
    "http:\\\\example.org/",
    "http://example.org\\@127.0.0.1/",
    "http://example.org\t/",
    "http://exam\nple.org/",
    "http://example.org/\r\nHost: 127.0.0.1",
    "http://example.org/\0",
    "http://example.org/\ud800",
    # other schemes
    "file:///etc/passwd",
    "ftp://example.org/x.png",
    "gopher://127.0.0.1:70/",
    "jar:http://example.org!/x",
    "data://example.org/x",
    "s3://bucket/x.png",
    "//example.org/x.png",
    "example.org/x.png",
    "",
]
"""Refused before any look-up."""

REFUSED_BY_ADDRESS = [
    "http://127.0.0.1/",
    "http://127.255.255.254/",
    "http://127.0.0.1./",
    "http://0.0.0.0/",
    "http://10.0.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1:8080/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://192.0.0.170/",
    "http://198.18.0.1/",
    "http://203.0.113.7/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://255.255.255.255/",
    "http://240.0.0.1/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]:80/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:8.8.8.8]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/",
    "http://[ff02::1]/",
    "http://[fec0::1]/",
    "http://[2001:db8::1]/",
    # digits that a browser turns into ASCII ones
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/",
    "http://127\u30020\u30020\u30021/",
    "http://\U0001d7cf\U0001d7d0\U0001d7d5.0.0.1/",
]
"""Refused for the address itself; no name is looked up."""


def no_look_up(host: str, port: int) -> list[str]:
    raise LookupError(f"{host} was looked up")


@pytest.mark.parametrize("url", REFUSED_AS_WRITTEN)
def test_spellings_that_are_no_plain_address_are_refused(url: str) -> None:
    with pytest.raises(RowError) as caught:
        check_url(url)
    assert caught.value.code == "remote.address"


@pytest.mark.parametrize("url", REFUSED_BY_ADDRESS)
def test_hosts_inside_are_refused_in_every_spelling(url: str) -> None:
    with pytest.raises(RowError) as caught:
        check_addresses(check_url(url), no_look_up)
    assert caught.value.code == "remote.address"


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("https://example.org.:8443/a?b=c#d", "https://example.org:8443/a?b=c"),
        ("http://example.org:/x", "http://example.org/x"),
        ("http://b\u00fccher.example/x", "http://xn--bcher-kva.example/x"),
        ("http://example\u3002org/x", "http://example.org/x"),
        ("http://example.org/\u00e4 b%20c", "http://example.org/%C3%A4%20b%20c"),
        ("http://my_host.example.org/", "http://my_host.example.org/"),
        ("http://93.184.216.34:80/", "http://93.184.216.34:80/"),
        ("http://[2606:2800:220:1:248:1893:25C8:1946]/", "http://[2606:2800:220:1:248:1893:25c8:1946]/"),
        ("http://0x.example.org/", "http://0x.example.org/"),
        ("http://127.0.0.1.example.org/", "http://127.0.0.1.example.org/"),
    ],
)
def test_plain_addresses_are_taken_in_one_spelling(url: str, same: str) -> None:
    assert check_url(url).geturl() == same
    assert check_addresses(check_url(url), lambda host, port: [PUBLIC])


@pytest.mark.parametrize(
    "inside", ["127.0.0.1", "::1", "10.1.2.3", "169.254.169.254", "::ffff:10.0.0.1", "fe80::1%eth0"]
)
def test_one_address_inside_refuses_the_host(inside: str) -> None:
    target = check_url("http://rebound.example/")
    for answer in ([inside], [PUBLIC, inside], [inside, PUBLIC]):
        with pytest.raises(RowError, match="public internet") as caught:
            check_addresses(target, lambda host, port, answer=answer: answer)
        assert caught.value.code == "remote.address"


def test_the_name_is_looked_up_once_with_its_port() -> None:
    asked = []
    check_addresses(check_url("https://example.org./x"), lambda *what: asked.append(what) or [PUBLIC])
    check_addresses(check_url("http://example.org:81/x"), lambda *what: asked.append(what) or [PUBLIC])
    assert asked == [("example.org", 443), ("example.org", 81)]


@pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), OSError("no name server")])
def test_an_unknown_host_is_told(error: OSError) -> None:
    def fails(host: str, port: int) -> list[str]:
        raise error

    for resolve in (fails, lambda host, port: []):
        with pytest.raises(RowError, match="host gone") as caught:
            check_addresses(check_url("http://gone.example/"), resolve)
        assert caught.value.code == "remote.failed"


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_reserved
    ):
        assert not is_public(address)


@given(st.text(max_size=40))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://example.org/{text}"):
        with contextlib.suppress(RowError):
            parts = check_url(url)
            assert parts.geturl().isascii()
            assert check_url(parts.geturl()) == parts


@pytest.mark.parametrize("address", [*METADATA, "::ffff:168.63.129.16", "64:ff9b::a9fe:a9fe", "2002:a83f:8110::"])
def test_metadata_services_of_clouds_are_refused_by_address_and_by_name(address):
    parsed = ipaddress.ip_address(address)
    assert is_metadata(parsed)
    assert not is_public(parsed)
    host = f"[{address}]" if ":" in address else address
    for url in (f"http://{host}/latest/meta-data/", "http://pictures.example/a.png"):
        with pytest.raises(RowError, match="not on the public internet"):
            check_addresses(check_url(url), lambda host, port: [address])


def test_a_named_host_is_one_name_on_its_ports():
    hosts = [parse_allowed_host("Images.internal"), parse_allowed_host("10.0.0.5:8080")]
    named = (
        "http://images.internal/a",
        "https://images.internal:443/",
        "http://IMAGES.internal:80/",
        "http://10.0.0.5:8080/",
    )
    other = (
        "http://images.internal:8080/",
        "http://10.0.0.5/",
        "http://x.images.internal/",
        "http://images.internal.x/",
    )
    assert all(is_allowed_host(check_url(url), hosts) for url in named)
    assert not any(is_allowed_host(check_url(url), hosts) for url in other)


@pytest.mark.parametrize(
    "address", [*METADATA, "::ffff:169.254.169.254", "169.254.1.1", "fe80::1", "224.0.0.1", "0.0.0.0"]
)
def test_no_named_host_is_a_metadata_service(address):
    with pytest.raises(RowError, match="which is not"):
        check_addresses(check_url("http://images.internal/"), lambda host, port: [address], is_connectable)
