"""Requests for a file that another process of this server has: that process answers them.

The id of a file begins with the slot of its process."""

import asyncio
import contextlib
import json
import re
from collections import deque
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.api.requests.root_path import route_path
from server.runtime.processes.peers import Link, PeerGone, Peers

SUBJECT = "request"
_FILE = re.compile(r"/(?:v1/files|v2/document|download_file)/([0-9A-Fa-f]{2})[^/]*(?:/result)?")
_MORE, _LAST = b"1", b"0"
"""The first byte of a frame that has a part of a body."""
_PART = 2**20
"""Bytes of such a part, at most."""
_PASSED_ON = ("http_version", "method", "scheme", "path", "root_path")


class PeerRequests:
    """Passes requests on to the process that has their file, and answers those that others pass on."""

    def __init__(self, app: ASGIApp, peers: Peers) -> None:
        self.app, self._peers = app, peers
        self._application: Any = None
        peers.handlers[SUBJECT] = self._answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._application = scope["app"]
        slot = self._slot_of(scope)
        if slot is None:
            await self.app(scope, receive, send)
            return
        passing = _PassedOn(scope, receive, send)
        with contextlib.suppress(PeerGone):
            async with self._peers.link(slot, SUBJECT) as link:
                if await passing.over(link):
                    return
        await self.app(scope, passing.receive_again, send)  # its process has ended, and the file with it: there is none

    def _slot_of(self, scope: Scope) -> int | None:
        """The other process that has the file of a request; None for other requests."""
        if scope["type"] != "http":
            return None
        match = _FILE.fullmatch(route_path(scope))
        slot = self._peers.slot if match is None else int(match[1], 16)
        return slot if slot in self._peers.others else None

    async def _answer(self, link: Link) -> None:
        head = await link.read()
        if head is None:
            return
        scope = {**_scope(json.loads(head)), "app": self._application}
        reading: asyncio.Queue[Message] = asyncio.Queue(1)

        async def read() -> None:
            while (frame := await link.read()) is not None:
                await reading.put({"type": "http.request", "body": frame[1:], "more_body": frame[:1] == _MORE})
            await reading.put({"type": "http.disconnect"})

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in message["headers"]]
                await link.write(json.dumps([message["status"], headers]).encode())
            else:
                body = message.get("body", b"")
                while len(body) > _PART:
                    await link.write(_MORE + body[:_PART])
                    body = body[_PART:]
                await link.write(_flag(message) + body)

        task = asyncio.create_task(read())
        try:
            await self.app(scope, reading.get, send)
        finally:
            task.cancel()


class _PassedOn:
    """One request that another process answers."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._received: deque[Message] = deque()
        """The body until now; its size is bounded by that of what the other process reads before it answers."""

    async def over(self, link: Link) -> bool:
        """Whether the other process answered. A client that hangs up ends the link, and with it the request there.
        Raises PeerGone before anything was answered, and ConnectionError later."""
        await link.write(json.dumps(_head(self._scope)).encode())
        uploading = asyncio.create_task(self._upload(link))
        try:
            start = await link.read()
            if start is None:
                return False
            self._received.clear()
            await self._answer(link, start)
            return True
        finally:
            uploading.cancel()

    async def _upload(self, link: Link) -> None:
        while True:
            message = await self._receive()
            self._received.append(message)
            if message["type"] == "http.disconnect":
                link.close()
                return
            with contextlib.suppress(PeerGone):
                await link.write(_flag(message) + message.get("body", b""))

    async def _answer(self, link: Link, start: bytes) -> None:
        status, headers = json.loads(start)
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})
        more = True
        while more:
            frame = await link.read()
            if frame is None:
                raise ConnectionError("another process of this server ended within its answer")
            more = frame[:1] == _MORE
            await self._send({"type": "http.response.body", "body": frame[1:], "more_body": more})

    async def receive_again(self) -> Message:
        """The request from its beginning."""
        return self._received.popleft() if self._received else await self._receive()


def _flag(message: Message) -> bytes:
    return _MORE if message.get("more_body") else _LAST


def _head(scope: Scope) -> dict[str, Any]:
    return {
        **{name: scope.get(name, "") for name in _PASSED_ON},
        "raw_path": (scope.get("raw_path") or b"").decode("latin-1"),
        "query_string": scope["query_string"].decode("latin-1"),
        "client": scope.get("client"),
        "server": scope.get("server"),
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]],
    }


def _scope(head: dict[str, Any]) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": head["http_version"],
        "method": head["method"],
        "scheme": head["scheme"],
        "path": head["path"],
        "root_path": head["root_path"],
        "raw_path": head["raw_path"].encode("latin-1"),
        "query_string": head["query_string"].encode("latin-1"),
        "client": tuple(head["client"]) if head["client"] else None,
        "server": tuple(head["server"]) if head["server"] else None,
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head["headers"]],
        "state": {},
    }
