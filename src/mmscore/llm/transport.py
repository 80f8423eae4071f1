"""One connection to a service, and whether it may be used again."""

from typing import TYPE_CHECKING

from mmconvert._version import __version__

if TYPE_CHECKING:  # takes time to load, and who has no judge and no API server does without
    import ssl

    import httpx2


def open_client(
    key: str | None, connect_seconds: float, silence_seconds: float, tls: "ssl.SSLContext"
) -> "httpx2.AsyncClient":
    """Make a client that holds one connection; nothing is sent yet.

    Args:
        key: Secret for the Authorization header; None sends none.
        connect_seconds: Patience for the connection.
        silence_seconds: Patience between two pieces of a reply, the first included.
        tls: Certificates.
    """
    import httpx2

    # No compression is asked for: a small reply could not unfold into a large one unseen.
    headers = {
        "User-Agent": f"mmscore/{__version__}",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    if key:
        headers["Authorization"] = f"Bearer {key}"
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
    timeout = httpx2.Timeout(silence_seconds, connect=connect_seconds, pool=None)
    return httpx2.AsyncClient(headers=headers, limits=limits, timeout=timeout, verify=tls)


def used_up(client: "httpx2.AsyncClient") -> bool:
    """Tell whether more came than the reply; the next question would be answered with the rest.

    httpx2 has no public word for it. Where its parts have other names, every question costs a connection.
    """
    try:
        connections = client._transport._pool.connections  # type: ignore[attr-defined]
        rests = [one._connection._h11_state.trailing_data[0] for one in connections if one.is_idle()]
    except AttributeError:
        return True
    return any(rests)
