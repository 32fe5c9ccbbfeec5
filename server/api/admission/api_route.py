"""The steps of every request except probes: readiness, deadline, key, body, handler."""

import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Literal, Self, cast

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.convertors import register_url_convertor

from server.api.admission.admitted_request import AdmittedRequest
from server.api.admission.authentication import authenticate, check_document, presented_key, timeout_of
from server.api.admission.disconnect import cancel_on_disconnect
from server.api.admission.server_sent_events import EventStream
from server.api.requests.body import (
    BodyLimit,
    ReadRequest,
    check_encoding,
    check_json,
    fields_of,
    parse,
    parsed_apart,
    read_body,
)
from server.api.requests.body_budget import EVERYBODY, BodyReservation
from server.api.requests.body_key import key_in
from server.api.requests.deadline import run_until
from server.api.requests.errors import NATIVE, ApiError, Dialect
from server.api.requests.forms import MULTIPART, media_type
from server.api.requests.path_values import BoundedInteger
from server.api.requests.validation_errors import first_error, invalid_field, validated
from server.api.serving.file_jobs import ASYNCHRONOUS
from server.api.serving.server_state import ServerState
from server.engine.request import DeadlineExceeded
from server.keys.key import owner_of
from server.keys.record import Scope
from server.runtime.nearest_name import nearest
from server.scheduling import caller
from server.settings import Settings

Handle = Callable[[Request], Coroutine[Any, Any, Response]]
Access = Scope | Literal["any key", "public"]
"""Who may use a route: keys of a scope, every key, or everybody, with keys as without."""
FILE_TIMED_OUT = f"the file was not translated within the server's request_timeout, or the request's; {ASYNCHRONOUS}"

register_url_convertor("int", BoundedInteger())


class ApiRoute(APIRoute):
    """A route of /v1. Other APIs derive routes with their dialect of errors and their kinds of bodies.

    `reads_forms`: fields may also be sent as a form, or in the query when there is no body. `key_field`: the parameter
    of the query, or field of the body, that may contain the key."""

    access: ClassVar[Access]
    """Without a default: `requiring` returns a class that has it."""
    dialect: ClassVar[Dialect] = NATIVE
    reads_forms: ClassVar[bool] = False
    is_work: ClassVar[bool] = True
    """Whether a request counts for the concurrency of its key."""
    key_field: ClassVar[str | None] = None

    @classmethod
    def requiring(cls, access: Scope | Literal["any key"]) -> type[Self]:
        """The class of routes that need a key of this scope, on a server with keys."""
        return cast(type[Self], type(cls.__name__, (cls,), {"access": access}))

    def __init__(self, path: str, *args: Any, **details: Any) -> None:
        if not hasattr(type(self), "access"):
            raise TypeError(f"{path}: a route says who may use it: route_class={type(self).__name__}.requiring(SCOPE)")
        super().__init__(path, *args, **details)

    @property
    def scope(self) -> Scope | None:
        """The scope that a key needs here; None for any key."""
        return None if self.access == "any key" or self.access == "public" else self.access

    def get_route_handler(self) -> Handle:
        handle = super().get_route_handler()

        async def admitted(request: Request) -> Response:
            state: ServerState = request.app.state.server
            state.check_ready()
            deadline = time.monotonic() + timeout_of(request, self.longest(state.settings))
            presented, body = self.presented(request), None
            is_file = self.takes_file and media_type(request.headers.get("content-type", "")) == MULTIPART
            limit = _body_limit(state.settings, is_file)
            budget = state.file_budget if is_file else state.body_budget
            held = budget.begin(None if state.keys.is_required else EVERYBODY)
            try:
                if presented is None and state.keys.is_required and self.body_may_have_key(request):
                    body = await run_until(deadline, read_body(request, held, limit))
                    kind = request.headers.get("content-type", "")
                    presented = await parsed_apart(body, key_in, body, kind, str(self.key_field))
                key = authenticate(
                    request, state.keys, self.scope, presented, state.settings.open_admin == "on", self.is_work
                )
            except BaseException:
                held.release()
                raise
            admitted = AdmittedRequest(request, state, deadline, key, held)
            if key is not None and self.is_work:
                admitted.on_release(key.release)
            request.state.admitted = admitted
            caller.current.set(caller.Caller(owner_of(key)))
            response: Response | None = None
            try:
                if key is not None:
                    held.belongs_to(key.name)
                if "document_id" in request.path_params:
                    await run_until(admitted.deadline, check_document(request, key, state.documents))
                read = await run_until(admitted.deadline, self._read(request, held, limit, body))
                body = None  # only the parsed request is kept
                response = await cancel_on_disconnect(request, lambda: run_until(admitted.deadline, handle(read)))
                return response
            except RequestValidationError as error:
                raise self.invalid(error) from None
            except DeadlineExceeded:
                if self.takes_file:
                    raise ApiError("deadline_exceeded", FILE_TIMED_OUT) from None
                raise
            finally:
                if response is None:
                    admitted.refund()
                if not isinstance(response, EventStream):  # it is still being sent: RequestMiddleware releases it
                    admitted.release()

        return admitted

    def presented(self, request: Request) -> str | None:
        """The key in the request's headers or query; None without one."""
        key = presented_key(request)
        return request.query_params.get(self.key_field) if key is None and self.key_field else key

    def longest(self, settings: Settings) -> float:
        """Seconds that a request may take."""
        return settings.request_timeout

    def body_may_have_key(self, request: Request) -> bool:
        """Whether the body must be read to find the key."""
        return self.key_field is not None and self.body_field is not None

    async def _read(self, request: Request, held: BodyReservation, limit: BodyLimit, body: bytearray | None) -> Request:
        """The request with its body, read up to its limit and parsed; `body` if it has been read. Raises ApiError:
        400, 413, 415, 422 or 429."""
        self.check_query(request)
        if self.body_field is None:
            return request
        if self.takes_file or self.reads_forms:
            check_encoding(request)
        else:
            check_json(request)
        if body is None:
            body = await read_body(request, held, limit)
        return await parsed_apart(body, self._parsed, request, body)

    def _parsed(self, request: Request, body: bytearray) -> Request:
        """The request with its body as the route takes it. Raises ApiError: 400, 413, 415 or 422."""
        if self.takes_file:
            return ReadRequest.of_form(request, body)
        fields = fields_of(request, body) if self.reads_forms else parse(body)
        return ReadRequest.of_value(request, self.validated(fields))

    def validated(self, fields: object) -> object:
        """The body as its model, which FastAPI takes as it is. Raises ApiError (422), RequestValidationError."""
        model = self.body_model
        return fields if model is None else validated(model, fields)

    @property
    def takes_file(self) -> bool:
        """Whether the body is a form that FastAPI reads."""
        return self.body_field is not None and isinstance(self.body_field.field_info, Form)

    def check_query(self, request: Request) -> None:
        """Raise ApiError (422) for a parameter that the route does not know."""
        known = [parameter.alias for parameter in self.dependant.query_params]
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


def _body_limit(settings: Settings, is_file: bool) -> BodyLimit:
    if is_file:
        return BodyLimit.of_file(settings.max_file_bytes)
    return BodyLimit.of_fields(settings.max_body_bytes)


class ProbeRoute(APIRoute):
    """A route that is answered whatever the server's state is, to everybody."""

    access: ClassVar[Access] = "public"
    dialect: ClassVar[Dialect] = NATIVE
    is_traced: ClassVar[bool] = False
