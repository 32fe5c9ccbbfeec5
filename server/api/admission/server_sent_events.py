"""Server-sent events: an answer in parts, as browsers read them."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from fastapi import Response
from pydantic import BaseModel
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from server.api.admission.disconnect import cancel_on_disconnect
from server.api.requests.deadline import run_until
from server.api.requests.errors import NATIVE, ApiError, Dialect, known_error
from server.api.requests.json_response import json_of

logger = logging.getLogger("ringmt")

MEDIA_TYPE = "text/event-stream"
KEEPALIVE_COMMENT = b": still here\n\n"
"""A comment, because some clients and proxies close silent connections."""
READING_SECONDS = 5.0
"""Seconds after its deadline that a stream waits for a client that does not read."""
AT_ONCE = 16
"""Events that are sent before the event loop runs other requests."""
Events = AsyncGenerator[bytes, None]


def event(name: str, data: BaseModel, event_id: str | None = None) -> bytes:
    """One event; its data is JSON on one line, without what is None. A client that connects again sends the last
    `event_id` that it received as `Last-Event-ID`."""
    first = b"" if event_id is None else b"id: %s\n" % event_id.encode()
    return b"".join((first, b"event: ", name.encode(), b"\ndata: ", json_of(data, exclude_none=True), b"\n\n"))


def described(meaning: str, *names: str) -> dict[str, object]:
    """The entry of the media type in a route's OpenAPI; its schema is that of one event, whose data is JSON."""
    fields = {"event": {"type": "string", "enum": [*names, "error"]}, "data": {"type": "string"}}
    schema = {"type": "object", "description": meaning, "properties": fields, "required": list(fields)}
    return {MEDIA_TYPE: {"schema": schema}}


def error_event(error: ApiError, request_id: str) -> bytes:
    """The event of an error in the form of errors of /v1."""
    return b"event: error\n" + error_data(NATIVE, error, request_id)


def error_data(dialect: Dialect, error: ApiError, request_id: str) -> bytes:
    """An event without a name, whose data is the error in the form of an API."""
    written = bytes(dialect.answer(error, request_id).body)
    return b"data: " + json.dumps(json.loads(written)).encode() + b"\n\n"


class EventStream(Response):
    """Sends events until they end, the deadline (a time.monotonic() value) passes, or the client disconnects, which
    cancels the work. An error is sent as the last event."""

    media_type = MEDIA_TYPE

    def __init__(
        self, events: Events, deadline: float, write_error: Callable[[ApiError, str], bytes] = error_event
    ) -> None:
        """`AdmittedRequest.release` ends the work that makes the events, even if no event was read. `write_error`: the
        event of an error and the request's id."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events, self._deadline, self._write_error = events, deadline, write_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with aclosing(self._events):
            deadline = self._deadline + READING_SECONDS
            await cancel_on_disconnect(request, lambda: run_until(deadline, self._send(request, send)))

    async def _send(self, request: Request, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if request.state.is_head:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        try:
            sent = 0
            async for event_bytes in self._events:
                await send({"type": "http.response.body", "body": event_bytes, "more_body": True})
                sent += 1
                if sent % AT_ONCE == 0:  # neither reading nor sending an event need have suspended this task
                    await asyncio.sleep(0)
        except Exception as error:
            known = known_error(error)
            if known is None:
                logger.exception("request %s failed", request.state.request_id)
                known = ApiError("internal", "the server failed; its log has more under this request_id")
            last = self._write_error(known, request.state.request_id)
            await send({"type": "http.response.body", "body": last, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class FileStream(EventStream):
    """Sends the parts of a file as `EventStream` sends events. After an error the connection is closed, so that no
    client takes the beginning of a file for all of it."""

    def __init__(self, parts: Events, deadline: float, media_type: str, headers: Mapping[str, str]) -> None:
        super().__init__(parts, deadline, _raised)
        self.headers["Content-Type"] = media_type
        self.headers.update(headers)


def _raised(error: ApiError, request_id: str) -> bytes:
    try:
        raise error
    finally:
        del error  # its traceback has this frame
