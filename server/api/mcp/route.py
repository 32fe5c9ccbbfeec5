"""`POST /mcp`: MCP over streamable HTTP, without sessions.

A request has all that its answer needs, so that any of several servers behind a balancer can answer it, and a server
that stops or starts again loses no session. Clients that open sessions get none, as the protocol allows; `GET` and
`DELETE`, which belong to sessions, get 405. A client cancels a call by closing its connection.
"""

import importlib.util
import json
import re
from types import ModuleType
from typing import ClassVar
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.mcp.errors import MCP
from server.api.requests.body import BodyLimit, ReadRequest, check_json, parse, parsed_apart, read_body
from server.api.requests.body_budget import BodyReservation
from server.api.requests.errors import ADMISSION, BODY, ApiError, Dialect, documented
from server.runtime.dedicated_thread import in_dedicated_thread

PATH = "/mcp"
PACKAGE = "mcp"
ANSWER_SECONDS = 1.0
"""By which a request may last longer than the call of a tool, so that a passed deadline is an error of the tool."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_exchange: ModuleType | None = None


class McpRoute(ApiRoute):
    """The body is JSON-RPC, which the SDK reads; here it is only limited."""

    dialect: ClassVar[Dialect] = MCP

    def check_query(self, request: Request) -> None:
        """Some clients name a version or a session."""

    async def _read(self, request: Request, held: BodyReservation, limit: BodyLimit, body: bytearray | None) -> Request:
        check_json(request)
        body = await read_body(request, held, limit)
        await parsed_apart(body, check_message, body)
        admitted: AdmittedRequest = request.state.admitted
        admitted.deadline += ANSWER_SECONDS
        return ReadRequest.of_bytes(request, bytes(body))


router = APIRouter(tags=["translation"], route_class=McpRoute.requiring("translate"), include_in_schema=False)


@router.post(PATH, responses=documented(*ADMISSION, *BODY, dialect=MCP))
async def mcp(request: Request, admitted: Admitted) -> Response:
    check_origin(request.headers.get("origin"), admitted.key is not None)
    exchange = await _loaded()
    answer: Response = await exchange.answer(request)
    return answer


def check_message(body: bytearray) -> None:
    """Raise ApiError: 400 for what is no JSON or has half a character, which answers could not repeat, 413 for too many
    values."""
    parsed = parse(body)
    if _SURROGATE.search(body):
        try:
            json.dumps(parsed, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ApiError("malformed", "the body must be valid Unicode: it has a lone surrogate") from None


async def _loaded() -> ModuleType:
    """The module that imports the SDK, imported at the first request: it takes a second."""
    global _exchange
    if _exchange is None:
        _exchange = await in_dedicated_thread(importlib.import_module, "server.api.mcp.exchange")
    return _exchange


def check_origin(origin: str | None, has_key: bool) -> None:
    """Raise ApiError (403) for a request of a web page that is not of this machine, unless it has a key: a page of
    another site may reach a server in the user's network under a name of its own (DNS rebinding)."""
    if origin is None or has_key:
        return
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        host = None
    if host not in LOOPBACK:
        raise ApiError("forbidden", "pages of other origins need an API key here: start the server with --api-keys")


def routers() -> tuple[APIRouter, ...]:
    """The router; none without the SDK."""
    return (router,) if importlib.util.find_spec(PACKAGE) else ()
