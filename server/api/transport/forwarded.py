"""Scheme, host and path prefix of requests as the headers of a proxy give them, from trusted addresses only.

uvicorn's own middleware knows neither host nor prefix, and takes IPv4 addresses on an IPv6 socket for others.
"""

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.api.requests.root_path import published

EVERYBODY = "*"
KNOWN_PEERS = 1024
"""Addresses of which it is remembered whether they are trusted."""
_PREFIX = re.compile(r"(?:/[\w.~!$&'()*+,;=:@%-]{1,100}){1,10}", re.ASCII)
_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Proxies:
    """The path prefix under which proxies publish the server, and the addresses of trusted proxies."""

    def __init__(self, root_path: str, addresses: str) -> None:
        """`addresses`, or networks, with commas between them, or `*`. Raises ValueError."""
        self.root_path = root_path.rstrip("/")
        if self.root_path and not _PREFIX.fullmatch(self.root_path):
            raise ValueError(f"'{root_path}' is no path prefix like /mt")
        names = [name.strip() for name in addresses.split(",") if name.strip()]
        self._is_everybody = EVERYBODY in names
        self._networks: Sequence[Network] = [ipaddress.ip_network(name) for name in names if name != EVERYBODY]
        self.are_trusted = lru_cache(KNOWN_PEERS)(self._are_trusted)
        """Whether the peer at this address, None for a Unix socket, is a trusted proxy."""

    def _are_trusted(self, host: str | None) -> bool:
        if self._is_everybody:
            return True
        try:
            address = ipaddress.ip_address(host or "")
        except ValueError:
            return False
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return any((mapped or address) in network for network in self._networks)


class ForwardedRequests:
    """Sets the scheme, host and `root_path` of requests as clients know them, and puts the prefix before the paths of
    the header Location. Paths may come with the prefix or without: a proxy may remove it."""

    def __init__(self, app: ASGIApp, proxies: Proxies) -> None:
        self.app, self._proxies = app, proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = {**scope, "root_path": self._proxies.root_path or scope.get("root_path", "")}
        client = scope.get("client")
        if self._proxies.are_trusted(client[0] if client else None):
            _apply(scope, Headers(scope=scope))
        root_path, path = scope["root_path"], scope["path"]
        if root_path and not path.startswith(f"{root_path}/"):
            scope["path"] = root_path + path

        async def send_published(message: Message) -> None:
            if root_path and message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                location = headers.get("location", "")
                if location.startswith("/"):
                    headers["location"] = published(scope, location)
            await send(message)

        await self.app(scope, receive, send_published)


def _apply(scope: Scope, headers: Headers) -> None:
    """Change `scope` by the headers of a trusted proxy; values that cannot be are ignored."""
    scheme, host = (_first(headers, f"x-forwarded-{name}") for name in ("proto", "host"))
    if scheme.lower() in ("http", "https"):
        scope["scheme"] = scheme.lower()
    if _HOST.fullmatch(host):
        others = [pair for pair in scope["headers"] if pair[0] != b"host"]
        scope["headers"] = [*others, (b"host", host.encode("ascii"))]
    prefix = _first(headers, "x-forwarded-prefix").rstrip("/")
    if _PREFIX.fullmatch(prefix):
        scope["root_path"] = prefix


def _first(headers: Headers, name: str) -> str:
    """The first of the values that several proxies added: the one that the client's proxy gave."""
    return headers.get(name, "").partition(",")[0].strip()
