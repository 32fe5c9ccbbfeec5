"""Around every request: its id, timings, metrics, and the answer when something failed."""

import asyncio
import logging
import re
import time
import uuid
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.api.admission.admitted_request import AdmittedRequest
from server.api.requests.errors import NATIVE, ApiError, Dialect, known_error
from server.api.requests.root_path import route_path
from server.api.serving.server_state import ServerState
from server.telemetry import tracing
from server.telemetry.logs import request_id
from server.telemetry.metrics import REJECTIONS
from server.telemetry.series import NO_MODEL

logger = logging.getLogger("ringmt")

UNMATCHED = "other"
"""The endpoint label of all unknown paths: the number of labels must be bounded."""
CLIENT_GONE = 499
_SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")


class ClientGone(Exception):
    """The client disconnected; no answer can be sent."""


class RequestMiddleware:
    """X-Request-ID and Server-Timing on every answer, requests counted, exceptions turned into answers.

    A route sets `model`, `timings` (stage -> seconds) and `admitted` in the request's state. `AdmittedRequest.release`
    is called at the end of every request, because an answer may be lost between its handler and the socket.
    """

    def __init__(
        self, app: ASGIApp, state: ServerState, logs_access: bool = False, dialects: Mapping[str, Dialect] | None = None
    ) -> None:
        """`dialects`: start of a path -> dialect, for paths that are no route."""
        self.app, self.state, self.metrics, self.logs_access = app, state, state.metrics, logs_access
        self.dialects = dict(dialects or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        record = _Record(scope)
        if record.method == "HEAD":  # answered as GET; the connection leaves out the body
            scope = {**scope, "method": "GET"}
        request_id.set(record.request_id)
        if self.state.tracing is not None:
            record.trace = self.state.tracing.request(Headers(scope=scope), record.started)
        tracing.current.set(record.trace)

        async def counted_send(message: Message) -> None:
            # Counted before the last byte is sent, so that a client that has its answer finds it in /metrics.
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._count(scope, record)
            elif message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in self._dialect(scope).id_headers:
                    headers[name] = record.request_id
            await send(message)

        try:
            await self._answer(scope, receive, record.wrap(counted_send), record)
        finally:
            record.release()
            self._count(scope, record)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, record: "_Record") -> None:
        try:
            await self.app(scope, receive, send)
        except (ClientGone, ClientDisconnect):
            record.status = CLIENT_GONE
        except asyncio.CancelledError:  # the server stops before the request is answered
            if record.status is None:
                stopped = ApiError("not_ready", "the server was stopped")
                await self._dialect(scope).answer(stopped, record.request_id)(scope, receive, send)
            raise
        except Exception as error:
            known = known_error(error)
            if known is None:
                logger.exception("request %s failed", record.request_id)
                known = ApiError("internal", "the server failed; its log has more under this request_id")
            if record.status is not None:
                raise
            if known.kind in REJECTIONS:
                self.metrics.requests_rejected_total.labels(known.kind, record.model).inc()
            await self._dialect(scope).answer(known, record.request_id)(scope, receive, send)

    def _dialect(self, scope: Scope) -> Dialect:
        """The dialect of the route; of an unknown path the dialect of the API that its beginning belongs to."""
        starts = (dialect for start, dialect in self.dialects.items() if route_path(scope).startswith(start))
        dialect: Dialect | None = getattr(scope.get("route"), "dialect", None)
        return dialect or next(starts, NATIVE)

    def _count(self, scope: Scope, record: "_Record") -> None:
        if record.is_counted:
            return
        record.is_counted = True
        route = scope.get("route")
        endpoint = getattr(route, "path", UNMATCHED)
        status = CLIENT_GONE if record.status is None else record.status
        seconds = time.monotonic() - record.started
        self.metrics.requests_total.labels(endpoint, str(status), record.model).inc()
        self.metrics.request_duration_seconds.labels(endpoint, record.model).observe(seconds)
        if record.trace is not None and getattr(route, "is_traced", True):
            record.trace.end(f"{record.method} {endpoint}", record.attributes(endpoint, status), failed=status >= 500)
        if self.logs_access:
            fields = {"method": record.method, "endpoint": endpoint, "status": status, "seconds": round(seconds, 6)}
            logger.info("answered", extra={**fields, "model": record.model or None})


class _Record:
    """A request's id, status, trace and state."""

    def __init__(self, scope: Scope) -> None:
        given = Headers(scope=scope).get("x-request-id", "")
        self.request_id = given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
        self.started = time.monotonic()
        self.method: str = scope["method"]
        self.status: int | None = None
        self.is_counted = False
        self.trace: tracing.Trace | None = None
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = self.request_id
        self.state["is_head"] = self.method == "HEAD"

    def release(self) -> None:
        """Release what the request holds."""
        admitted: AdmittedRequest | None = self.state.get("admitted")
        if admitted is not None:
            admitted.release()

    @property
    def model(self) -> str:
        return str(self.state.get("model", NO_MODEL))

    def attributes(self, endpoint: str, status: int) -> tracing.Attributes:
        """The attributes of the request's trace. Path and query are left out, because they may contain texts."""
        return {
            "http.request.method": self.method,
            "http.route": endpoint,
            "http.response.status_code": status,
            "ringmt.request_id": self.request_id,
            "ringmt.model": self.model,
        }

    def wrap(self, send: Send) -> Send:
        """`send` that adds the headers to the answer's start."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = self.request_id
                headers["Server-Timing"] = self._server_timing()
            await send(message)

        return send_with_headers

    def _server_timing(self) -> str:
        """The header's value; its durations are milliseconds."""
        stages: dict[str, float] = {**self.state.get("timings", {}), "total": time.monotonic() - self.started}
        return ", ".join(f"{stage};dur={1000 * seconds:.3f}" for stage, seconds in stages.items())
