"""The listening sockets of a server with several processes."""

import socket

ANY_IPV6 = "::"
"""Every interface, over IPv6 and over IPv4 as well; asyncio's own socket for it takes no connections over IPv4."""


def listen(host: str, port: int, backlog: int) -> list[socket.socket]:
    """A listening socket for each address of `host`, as asyncio makes them, and one socket for both kinds of addresses
    where the host is `::`. Raises OSError that names the address."""
    if host == ANY_IPV6 and socket.has_dualstack_ipv6():
        return [_bound(socket.AF_INET6, (host, port), backlog, is_dual=True)]
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    addresses = list(dict.fromkeys((family, address[:2]) for family, _, _, _, address in found))
    sockets: list[socket.socket] = []
    try:
        for family, address in addresses:
            chosen = sockets[0].getsockname()[1] if sockets and not port else port  # all have the same free port
            sockets.append(_bound(family, (str(address[0]), chosen), backlog))
    except OSError:
        for opened in sockets:
            opened.close()
        raise
    return sockets


def _bound(family: int, address: tuple[str, int], backlog: int, is_dual: bool = False) -> socket.socket:
    try:
        listening = socket.create_server(
            address, family=family, backlog=backlog, dualstack_ipv6=is_dual, reuse_port=False
        )
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {address[0]} port {address[1]}: {error.strerror}") from None
    listening.setblocking(False)
    return listening
