"""One HTTP request through the official SDK, which speaks every version of the protocol. The only import of the SDK in
the server; it is imported at the first request."""

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any

import mcp_types as types
from fastapi import Request, Response
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from server.api.admission.admitted_request import AdmittedRequest
from server.api.mcp.errors import advice_of, failure_of
from server.api.mcp.instructions import INSTRUCTIONS
from server.api.mcp.route import ANSWER_SECONDS
from server.api.mcp.tools import TOOLS, Tool
from server.api.requests.deadline import run_until
from server.api.requests.errors import printable
from server.api.requests.json_response import json_of
from server.runtime.nearest_name import nearest
from server.runtime.offload import offload_above
from server.telemetry.metrics import REJECTIONS, package_version
from server.telemetry.series import NO_MODEL

logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its messages have parts of requests, and ours say what failed

UNLIMITED = 2**62
"""Bytes of a body: the route has limited it."""
Context = ServerRequestContext[Any, Request]


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    admitted = _admitted(context)
    return types.ListToolsResult(tools=[_described(tool, admitted) for tool in TOOLS.values()])


async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """A failure is a result, which the language model reads. Raises MCPError for an unknown tool."""
    admitted, tool = _admitted(context), TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, printable(f"unknown tool '{params.name}': {nearest(params.name, TOOLS)}"))
    admitted.deadline -= ANSWER_SECONDS
    try:
        result = await run_until(admitted.deadline, tool.run(params.arguments or {}, admitted))
    except Exception as error:
        return _failed(error, admitted)
    return await offload_above(_size(params), _succeeded, result)


def _admitted(context: Context) -> AdmittedRequest:
    assert context.request is not None
    admitted: AdmittedRequest = context.request.state.admitted
    return admitted


def _described(tool: Tool[Any], admitted: AdmittedRequest) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(admitted.state.settings, admitted.state.routes),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )


def _size(params: types.CallToolRequestParams) -> int:
    """Characters of the arguments, roughly."""
    return sum(len(str(value)) for value in (params.arguments or {}).values())


def _succeeded(result: BaseModel) -> types.CallToolResult:
    """The result as JSON and, for clients that know no structured content, as a text of the same JSON."""
    text = json_of(result).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=result.model_dump(mode="json")
    )


def _failed(error: Exception, admitted: AdmittedRequest) -> types.CallToolResult:
    """The result of a failed call, which the key is not charged for, as for other errors."""
    admitted.refund()
    state = admitted.request.state
    known = failure_of(error, state.request_id)
    if known.kind in REJECTIONS:
        model = getattr(state, "model", NO_MODEL)
        admitted.state.metrics.requests_rejected_total.labels(known.kind, model).inc()
    return types.CallToolResult(content=[types.TextContent(type="text", text=advice_of(known))], is_error=True)


def _server() -> Server[Any]:
    server: Server[Any] = Server(
        "ringmt",
        version=package_version(),
        title="RingMT",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: None,  # no argument is sent as a header, too: else each call lists the tools
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # traces are ours, and have no texts
    return server


SERVER = _server()


async def answer(request: Request) -> Response:
    """The SDK's answer to an admitted request, whose body has been read. Nothing of it outlives this call, also if it
    is cancelled."""
    exchange = _Exchange(await request.body())
    # JSON instead of an event stream: an answer is one message.
    manager = StreamableHTTPSessionManager(SERVER, json_response=True, stateless=True, max_request_body_size=UNLIMITED)
    async with manager.run():
        await manager.handle_request(request.scope, exchange.receive, exchange.send)
    return exchange.response()


class _Exchange:
    """The two sides of an ASGI application: it gets a body and no disconnection, and its messages become a response."""

    def __init__(self, body: bytes) -> None:
        self._unread: bytes | None = body
        self._status = 500
        self._headers: dict[str, str] = {}
        self._written = b""

    async def receive(self) -> MutableMapping[str, Any]:
        if self._unread is None:  # the route watches the connection
            await asyncio.Event().wait()
        body, self._unread = self._unread, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
        else:
            self._written += message.get("body", b"")

    def response(self) -> Response:
        return Response(self._written, self._status, self._headers)
