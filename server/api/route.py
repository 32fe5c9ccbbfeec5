"""The steps that every request goes through, except for probes: readiness, deadline, key, body, handler, metrics."""

import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import BaseModel

from server.api.access import let_in, presented_key, seconds_for
from server.api.body import ReadRequest, read_body, read_fields, read_json
from server.api.deadline import before
from server.api.disconnect import unless_disconnected
from server.api.errors import NATIVE, ApiError, Dialect
from server.api.event_stream import EventStream
from server.api.invalid import first_error, invalid_field
from server.api.keys import Scope, owner_of
from server.api.state import ServerState
from server.api.visit import Visit
from server.engine import caller
from server.settings import nearest

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


class DoorRoute(APIRoute):
    """A route of /v1. Other APIs derive routes with a dialect for errors, and with what they read.

    `reads_forms`: fields may also come as a form, or in the query when there is no body."""

    dialect: ClassVar[Dialect] = NATIVE
    reads_forms: ClassVar[bool] = False
    is_work: ClassVar[bool] = True
    """Whether a request counts for the concurrency of its key."""

    def get_route_handler(self) -> Handle:
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            state: ServerState = request.app.state.server
            state.check_ready()
            deadline = time.monotonic() + seconds_for(request, state.settings.request_timeout)
            presented = await before(deadline, self.presented(request, state)) if state.keys.keys else None
            key = let_in(request, state.keys, self.scope, presented, state.settings.open_admin == "on", self.is_work)
            visit = Visit(request, state, deadline, key)
            if key is not None and self.is_work:
                visit.when_over(key.leave)
            request.state.visit = visit
            caller.current.set(caller.Caller(owner_of(key)))
            response: Response | None = None
            try:
                read = await before(visit.deadline, self._read(request, state.settings.max_body_bytes))
                response = await unless_disconnected(request, before(visit.deadline, handle(read)))
                return response
            except RequestValidationError as error:
                raise self.invalid(error) from None
            finally:
                if not isinstance(response, EventStream):  # its work has only begun: RequestMiddleware ends it
                    visit.leave()

        return admitted

    async def presented(self, request: Request, state: ServerState) -> str | None:
        """The key that the request has, None without one."""
        return presented_key(request)

    async def _read(self, request: Request, limit: int) -> Request:
        """The request with its body, read up to `limit` bytes and parsed. Raises ApiError: 400, 413, 415 or 422."""
        self.check_query(request)
        if self.body_field is None:
            return request
        if self.takes_file:
            return ReadRequest.of_form(request, await read_body(request, limit))
        if self.reads_forms:
            return ReadRequest.of_value(request, await read_fields(request, limit))
        return ReadRequest.of_value(request, await read_json(request, limit))

    @property
    def scope(self) -> Scope | None:
        """The scope that a key needs here; None for any key."""
        scopes: dict[str, Scope] = {
            "translation": "translate",
            "LibreTranslate": "translate",
            "DeepL": "translate",
            "documents": "documents",
            "administration": "admin",
        }
        return next((scopes[str(tag)] for tag in self.tags if str(tag) in scopes), None)

    @property
    def takes_file(self) -> bool:
        """Whether the body is a form that FastAPI reads."""
        return self.body_field is not None and isinstance(self.body_field.field_info, Form)

    def check_query(self, request: Request) -> None:
        """Raise ApiError (422) for a parameter that the route does not know."""
        known = [one.alias for one in self.dependant.query_params]
        for given in request.query_params:
            if given not in known:
                hint = nearest(given, known) if known else "this path takes none"
                raise ApiError("invalid_value", f"unknown parameter '{given}': {hint}", given)

    def invalid(self, error: RequestValidationError) -> ApiError:
        """The answer for invalid fields: the first unknown one, else the first."""
        return invalid_field(first_error(error), self.body_model)

    @property
    def body_model(self) -> type[BaseModel] | None:
        annotation = None if self.body_field is None else self.body_field.field_info.annotation
        return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


class ProbeRoute(APIRoute):
    """A route that is answered whatever the server's state is."""

    dialect: ClassVar[Dialect] = NATIVE
    is_traced: ClassVar[bool] = False
