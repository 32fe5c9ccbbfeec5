"""How errors are written: as JSON-RPC where the request was refused, as the result of a tool where its call failed."""

import logging
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from server.api.requests.errors import TABLE, ApiError, ErrorType, known_error, printable

logger = logging.getLogger("ringmt")

PARSE_ERROR, INVALID_PARAMS = -32700, -32602
REFUSED = -32050
"""The code of all other errors: one of those that JSON-RPC leaves to servers, and that clients give no meaning."""
CODES: Mapping[ErrorType, int] = {"malformed": PARSE_ERROR, "invalid_value": INVALID_PARAMS}


class ErrorData(BaseModel):
    type: ErrorType
    request_id: str


class RpcErrorDetails(BaseModel):
    code: int
    message: str
    data: ErrorData


class RpcError(BaseModel):
    """JSON-RPC 2.0, section 5.1. The id is null: clients take it as the answer to the request that they sent."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: None = None
    error: RpcErrorDetails


class McpErrors:
    """Errors of requests that reach no tool. They have the status of the table, too."""

    model = RpcError
    id_headers: tuple[str, ...] = ()

    def status(self, kind: ErrorType) -> int:
        return TABLE[kind].status

    def answer(self, error: ApiError, request_id: str) -> Response:
        data = ErrorData(type=error.kind, request_id=request_id)
        details = RpcErrorDetails(code=CODES.get(error.kind, REFUSED), message=advice_of(error), data=data)
        return JSONResponse(RpcError(error=details).model_dump(), self.status(error.kind), error.headers)


MCP = McpErrors()


def failure_of(error: Exception, request_id: str) -> ApiError:
    """The error of a tool's call; a fault of the server is logged."""
    known = known_error(error)
    if known is None:
        logger.error("request %s failed", request_id, exc_info=error)
        known = ApiError("internal", f"the server failed; its log has more under the request id {request_id}")
    return known


def advice_of(error: ApiError) -> str:
    """What is wrong and what to do, in one text."""
    wait = error.headers.get("Retry-After")
    return printable(error.message) + (f" (after {wait} seconds)" if wait else "")
