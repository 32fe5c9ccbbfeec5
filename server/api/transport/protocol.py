"""One connection with limits: on the head of a request, because a client that never completes it would hold the
connection for ever, on what is sent beside heads and bodies, on bodies that continue after their answer, and on answers
that are not read. Head and body of an answer are sent together."""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.api.requests.body import DISCARDED_BYTES
from server.api.transport.client_transport import ClientTransport
from server.api.transport.connection_limits import MAX_PIPELINED_BYTES, Connections, Reason
from server.api.transport.read_turns import ReadTurns

HEAD_SECONDS = 10.0
"""Seconds for a request line and headers, and for a new connection to send anything."""
MAX_HEAD_BYTES = 64 * 1024
"""The most bytes of a request line and headers; also of the sizes, extensions and trailers of a chunked body."""
MAX_HEADERS = 256
"""Headers of a request, including trailers."""
FRAMING_PER_BYTE = 8
"""Bytes of framing for each byte of a chunked body, beyond MAX_HEAD_BYTES: chunks may be small."""
MAX_PIPELINED = 32
"""Pipelined requests of one connection that wait for the answers before them."""
LINGER_SECONDS = 5.0
"""Seconds, and DISCARDED_BYTES, for the rest of a body whose request is already answered (too large, or late). If the
connection were closed at once, it would be reset and the answer lost."""
WRITE_SECONDS, SLOWEST_READER = 30.0, 16 * 1024
"""Seconds for a client to read the buffered answer, and bytes for each further second."""
PROBES = (b"/livez", b"/readyz", b"/metrics")
"""Paths that are answered with any number of connections."""


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits of time and size, which uvicorn's own lacks (routes limit the body), and with head
    and body of an answer in one write. `bounds` are those of all connections of a server."""

    bounds: ClassVar[Connections]
    turns: ClassVar[ReadTurns]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_in_head, self._is_over = True, False
        self._messages, self._num_headers = 0, 0
        self._head_bytes, self._parsed_bytes, self._body_bytes, self._framing_bytes = 0, 0, 0, 0
        self._pipelined_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._discarded_bytes = 0

    @classmethod
    def within(cls, bounds: Connections) -> "type[LimitedProtocol]":
        """The class of the connections of one server."""
        return type(cls.__name__, (cls,), {"bounds": bounds, "turns": ReadTurns()})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._writes = ClientTransport(transport, self.loop, self._is_closing)
        super().connection_made(self._writes)
        self._start_head_timer()
        self.bounds.add(self)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        is_lingering = self._linger is not None
        if is_lingering:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > DISCARDED_BYTES:
                self._stop_lingering()
                return
        if is_lingering or not (self._is_in_head or self._is_idle):
            self.turns.received(self._writes, len(data), self.loop)
        message, in_head, body = self._messages, self._is_in_head, self._body_bytes
        super().data_received(data)
        if self.transport.is_closing():
            return
        if message == self._messages:  # otherwise what belongs to the new one is counted as it is parsed
            self._count(len(data), in_head, self._body_bytes - body)
        if is_lingering and not self._is_in_head:
            if self._linger is None and self._is_idle:  # the body has ended: as after any answer
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )
        elif (self._is_in_head or self._is_idle) and self._head_timer is None:
            self._start_head_timer()

    def _count(self, received: int, in_head: bool, body: int) -> None:
        """Bound what is received beside bodies, and may be kept by the parser."""
        if in_head and self._is_in_head:
            self._head_bytes += received
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(b"431 Request Header Fields Too Large", "head")
        elif not in_head:
            self._framing_bytes += received - body
            if self._framing_bytes > MAX_HEAD_BYTES + FRAMING_PER_BYTE * self._body_bytes:
                self._refuse(b"400 Bad Request", "head")

    def on_message_begin(self) -> None:
        if self._is_over:
            return
        self._is_in_head = True
        self._messages += 1
        self._body_bytes = self._framing_bytes = self._num_headers = self._parsed_bytes = 0
        self._head_bytes = 1  # at least
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_over:
            self._parsed(len(url))
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_over:
            self._num_headers += 1
            self._parsed(len(name) + len(value) + 4)
            super().on_header(name, value)

    def _parsed(self, size: int) -> None:
        """Refuse a head that is too large, even if all of it came at once, and a body whose trailers are as large."""
        self._parsed_bytes += size
        if self._parsed_bytes > MAX_HEAD_BYTES or self._num_headers > MAX_HEADERS:
            self._refuse(b"431 Request Header Fields Too Large", "head")

    def on_headers_complete(self) -> None:
        if self._is_over:
            return
        self._is_in_head, self._head_bytes = False, 0
        self._cancel_head_timer()
        self.bounds.is_busy(self)
        if self.bounds.is_full and self.url.partition(b"?")[0] not in PROBES:
            self._refuse(b"503 Service Unavailable\r\nretry-after: 1", "full")
        elif len(self.pipeline) >= MAX_PIPELINED:
            self._end("pipelined")
        else:
            super().on_headers_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Ignores an Upgrade, as HTTP permits; uvicorn would log two lines for each, so that clients could fill the
        log."""

    def on_body(self, body: bytes) -> None:
        if self._is_over:
            return
        self._body_bytes += len(body)
        if self.pipeline:
            self._pipelined_bytes += len(body)
            self.bounds.pipelined_bytes += len(body)
            if self.bounds.pipelined_bytes > MAX_PIPELINED_BYTES:
                self._end("pipelined")
                return
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_over:
            self._cancel_linger()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self._writes.flush()
        is_unfinished = not self.pipeline and self.cycle.more_body  # what is followed by another request is finished
        super().on_response_complete()
        if is_unfinished and not self.transport.is_closing():
            self._discarded_bytes = 0
            self._linger = self.loop.call_later(LINGER_SECONDS, self._stop_lingering)
        if not self.pipeline:
            self._release_pipelined()
            if self._is_idle:
                self.bounds.is_idle(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._writes.is_closing():
            self._cancel_write_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._cancel_head_timer()
        self._cancel_write_timer()
        self._cancel_linger()
        self._release_pipelined()
        self.bounds.remove(self)
        self.turns.remove(self._writes)
        super().connection_lost(exc)

    @property
    def unread_bytes(self) -> int:
        """Bytes of answers that the client has not read."""
        return self._writes.get_write_buffer_size()

    def abort(self) -> None:
        """Close the connection at once; what was not sent is lost."""
        self._is_over = True
        self._writes.abort()

    @property
    def _is_idle(self) -> bool:
        """Whether no request of this connection is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._on_head_timeout)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        self._head_timer = None
        if self._is_idle and not self.transport.is_closing():
            if self._head_bytes:
                self._refuse(b"408 Request Timeout")
            else:
                self.transport.close()

    def _stop_lingering(self) -> None:
        self._cancel_linger()
        self._is_over = True
        self.transport.close()

    def _cancel_linger(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None

    def _is_closing(self) -> None:
        if self.unread_bytes:  # the transport closes when all of it is read
            self._start_write_timer()

    def _start_write_timer(self) -> None:
        if self._write_timer is None:
            seconds = WRITE_SECONDS + self.unread_bytes / SLOWEST_READER
            self._write_timer = self.loop.call_later(seconds, self._end, "unread")
            self.bounds.is_unread(self)

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        self.bounds.is_read(self)

    def _release_pipelined(self) -> None:
        self.bounds.pipelined_bytes -= self._pipelined_bytes
        self._pipelined_bytes = 0

    def _end(self, reason: Reason) -> None:
        self._is_over = True
        self.bounds.close(self, reason)

    def _refuse(self, status: bytes, reason: Reason | None = None) -> None:
        """Close the connection, with an error unless another answer is pending."""
        if self._is_over:
            return
        self._is_over = True
        if reason is not None:
            self.bounds.count(reason)
        if self._is_idle:
            head = b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head)
        self.transport.close()
