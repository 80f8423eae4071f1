"""Which addresses on the network may be fetched: plain http(s), on the public internet.

Source: IANA IPv4 and IPv6 Special-Purpose Address Registries (the networks); WHATWG URL, "ends in a
number" (names that some resolver would read as an address); each cloud's own pages (`METADATA`).
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import SplitResult, quote, urlsplit

from mmconvert.core.errors import RowError, UsageError, show

PORTS = {"http": 80, "https": 443}

_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
            "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
            "224.0.0.0/4", "240.0.0.0/4",
            "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
        ),
    )
)  # fmt: skip
_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 in which hosts are; loopback, mapped IPv4, NAT64, local and multicast lie outside."""

METADATA = {
    "169.254.169.254": "AWS, Azure, Google Cloud, Oracle, OpenStack and others: instance metadata",
    "169.254.170.2": "AWS ECS: task roles, docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html",
    "169.254.170.23": "AWS EKS: docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html",
    "fd00:ec2::254": "AWS: docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html",
    "fd00:ec2::23": "AWS EKS: docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html",
    "fd20:ce::254": "Google Cloud: cloud.google.com/compute/docs/metadata/querying-metadata",
    "168.63.129.16": "Azure: learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16",
    "100.100.100.200": "Alibaba Cloud: alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata",
    "192.0.0.192": "Oracle Cloud Classic: docs.oracle.com/en/cloud/iaas-classic/compute-iaas-cloud/",
    "169.254.0.23": "Tencent Cloud: cloud.tencent.com/document/product/213/4934",
    "169.254.42.42": "Scaleway: scaleway.com/en/docs/instances/how-to/use-cloud-init/",
    "fd00:42::42": "Scaleway: as above",
    "fe80::a9fe:a9fe": "OpenStack: docs.openstack.org/nova/latest/user/metadata.html",
}
"""Services by which a cloud gives a machine its keys: whose they are, and where that is said. One address is public."""

_METADATA = frozenset(map(ipaddress.ip_address, METADATA))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

_NEVER = re.compile(r"[\\\x00-\x1f\x7f]")
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""Host and port -> addresses as text."""


def is_metadata(address: Address) -> bool:
    """Tell whether a cloud's metadata service is at an address, or at the IPv4 address inside it.

    Example:
        >>> [is_metadata(ipaddress.ip_address(a)) for a in ("168.63.129.16", "::ffff:169.254.169.254", "8.8.8.8")]
        [True, True, False]
    """
    inside: Address | None = None
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inside = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address in _METADATA or inside in _METADATA


def is_public(address: Address) -> bool:
    """Tell whether an address belongs to a host on the public internet.

    Example:
        >>> [is_public(ipaddress.ip_address(a)) for a in ("8.8.8.8", "169.254.169.254", "::ffff:8.8.8.8")]
        [True, False, False]
    """
    if is_metadata(address):
        return False
    if isinstance(address, ipaddress.IPv6Address) and (address not in _GLOBAL_IPV6 or address.scope_id):
        return False
    return not any(address in network for network in _NOT_PUBLIC)


def is_connectable(address: Address) -> bool:
    """Tell whether a host that the user named may be at an address: a private one, too, but no metadata service.

    Example:
        >>> [is_connectable(ipaddress.ip_address(a)) for a in ("10.0.0.5", "169.254.169.254", "168.63.129.16")]
        [True, False, False]
    """
    return not (is_metadata(address) or address.is_link_local or address.is_multicast or address.is_unspecified)


def parse_allowed_host(text: str) -> tuple[str, int | None]:
    """Take `NAME[:PORT]` apart.

    Returns:
        The name as `check_url` spells it, and the port; None for those of http and https.

    Raises:
        UsageError: It is neither a name nor an address.

    Example:
        >>> parse_allowed_host("Images.internal:8080"), parse_allowed_host("10.0.0.5")
        (('images.internal', 8080), ('10.0.0.5', None))
    """
    try:
        parts = check_url(f"http://{text}")
    except RowError as error:
        raise UsageError(f"--allow-host: {error.message} Write NAME or NAME:PORT.") from None
    if parts.path != "/" or parts.query or "#" in text:
        raise UsageError(f"--allow-host: expected a host {show(text)}. Write NAME or NAME:PORT.")
    return parts.hostname or "", parts.port


def check_allowed_hosts(hosts: Sequence[str], *, allow_remote: bool) -> None:
    """Refuse hosts that are named in vain or wrongly.

    Raises:
        UsageError: Nothing is fetched, or as `parse_allowed_host`.
    """
    if hosts and not allow_remote:
        raise UsageError("--allow-host goes with --allow-remote. Add it.")
    for host in hosts:
        parse_allowed_host(host)


def is_allowed_host(target: SplitResult, hosts: Iterable[tuple[str, int | None]]) -> bool:
    """Tell whether the user named the host of an address, see `parse_allowed_host`."""
    port = target.port or PORTS[target.scheme]
    return any(target.hostname == name and port in (PORTS.values() if own is None else (own,)) for name, own in hosts)


def resolve(host: str, port: int) -> list[str]:
    """Look a host up with the system's resolver.

    Raises:
        OSError: There is no such host, or no name server answers.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def check_url(url: str) -> SplitResult:
    """Take an address apart and refuse every spelling that programs read differently.

    Returns:
        Its parts; `hostname` is ASCII, and an address only in its usual spelling.

    Raises:
        RowError: `remote.address`.

    Example:
        >>> check_url("https://example.org/a b.png?x=1").geturl()
        'https://example.org/a%20b.png?x=1'
    """
    if _NEVER.search(url):
        raise build_refusal(url, "it holds a backslash or a control character")
    try:
        url.encode()
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise build_refusal(url, str(error)) from None
    if parts.scheme not in PORTS:
        raise build_refusal(url, "only http and https are fetched")
    if "@" in parts.netloc:
        raise build_refusal(url, "it holds a user's name")
    if port == 0:
        raise build_refusal(url, "there is no port 0")
    host = _encode_host(parts.hostname or "", parts.netloc.startswith("["), url)
    netloc = f"[{host}]" if ":" in host else host
    return SplitResult(
        parts.scheme,
        netloc if port is None else f"{netloc}:{port}",
        quote(parts.path or "/", safe="/%:=&+$,;!*'()@~"),
        quote(parts.query, safe="/%:=&+$,;!*'()@~?[]{}|^"),
        "",
    )


def _encode_host(host: str, bracketed: bool, url: str) -> str:
    if bracketed:
        try:
            # A zone (fe80::1%eth0) names one of this machine's own networks.
            return str(ipaddress.IPv6Address(host if "%" not in host else ""))
        except ValueError:
            raise build_refusal(url, "its host is not an IPv6 address") from None
    try:
        host = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        raise build_refusal(url, "its host is not a name") from None
    name = host.removesuffix(".")
    if len(name) > 253 or not _HOST.fullmatch(name):
        raise build_refusal(url, "its host is not a name")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        # 127.1, 0x7f000001 and 2130706433 are all read as an address by some resolver.
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            raise build_refusal(url, "its host is a number, but not four of them with dots") from None
    return name.lower()


def build_refusal(url: str, reason: str) -> RowError:
    """Make the error of an address that is not fetched."""
    return RowError("remote.address", "", f"the address is not fetched: {reason} {show(url)}.")


def check_addresses(
    target: SplitResult, resolve: Resolve = resolve, allowed: Callable[[Address], bool] = is_public
) -> list[Address]:
    """Look a host up, once, and refuse it when any of its addresses may not be connected to.

    Args:
        target: What `check_url` gave.
        resolve: Gives the addresses of a host.
        allowed: Tells the addresses that may be connected to.

    Returns:
        Its addresses, at least one.

    Raises:
        RowError: `remote.address`, or `remote.failed` for a host that is not found.
    """
    host = target.hostname or ""
    try:
        addresses = [ipaddress.ip_address(host)]
    except ValueError:
        try:
            found = resolve(host, target.port or PORTS[target.scheme])
            addresses = [ipaddress.ip_address(address) for address in found]
        except (OSError, UnicodeError) as error:
            raise RowError("remote.failed", "", f"the host {host} cannot be looked up: {error}.") from None
    if not addresses:
        raise RowError("remote.failed", "", f"the host {host} has no address.")
    for address in addresses:
        if not allowed(address):
            raise build_refusal(target.geturl(), f"its host is at {address}, which is not on the public internet")
    return addresses
