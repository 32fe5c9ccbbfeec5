"""An MCP server over standard input and output that forwards every call to `/mcp` of an application or of a URL.

The SDK speaks the protocol with the client; the application has the tools, their schemas and the limits. A call that
the client cancels ends its HTTP request, and with it the work.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from starlette.types import ASGIApp

from server.api.mcp.instructions import INSTRUCTIONS
from server.runtime.setting_fields import SettingsError
from server.telemetry.metrics import package_version

logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its messages have parts of requests

PATH = "/mcp"
TIMEOUT = httpx2.Timeout(10, read=600)
"""Seconds to connect and to send; servers answer within their own request_timeout, after which the connection counts as
dead."""
HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": LATEST_HANDSHAKE_VERSION}
Context = ServerRequestContext[Any, Any]


def client_of_url(url: str, key: str | None) -> httpx2.AsyncClient:
    """A client of the server at this URL, with or without `/mcp` at its end. Raises SettingsError."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise SettingsError(f"--url must be the address of a server, such as http://127.0.0.1:8000, not '{url}'")
    base = url.rstrip("/").removesuffix(PATH)
    headers = HEADERS if key is None else HEADERS | {"Authorization": f"Bearer {key}"}
    return httpx2.AsyncClient(base_url=base, headers=headers, timeout=TIMEOUT)


def client_of_app(app: ASGIApp) -> httpx2.AsyncClient:
    """A client of an application in this process."""
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://ringmt", headers=HEADERS, timeout=None
    )


class Forwarding:
    """Forwards the requests of clients; errors of the server or of the connection are results that say what to do."""

    def __init__(self, client: httpx2.AsyncClient, ready: Callable[[], Awaitable[None]] | None = None) -> None:
        """`ready` is awaited before each request; it raises ValueError if there can be none."""
        self._client, self._ready = client, ready

    def server(self) -> Server[Any]:
        """The SDK's server."""
        server: Server[Any] = Server(
            "ringmt",
            version=package_version(),
            title="RingMT",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        server.middleware.clear()
        return server

    async def serve(self) -> None:
        """Serve one client on standard input and output, until it closes them."""
        server = self.server()
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(await self._result("tools/list", {}))

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        call = {"name": params.name, "arguments": params.arguments or {}}
        try:
            return types.CallToolResult.model_validate(await self._result("tools/call", call))
        except MCPError as error:
            if error.error.code == types.INVALID_PARAMS:  # no such tool
                raise
            text = types.TextContent(type="text", text=error.error.message)
            return types.CallToolResult(content=[text], is_error=True)

    async def _result(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a JSON-RPC request. Raises MCPError."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        where = str(self._client.base_url).rstrip("/")
        try:
            if self._ready is not None:
                await self._ready()
            response = await self._client.post(PATH, json=request)
        except ValueError as error:
            raise _failed(str(error)) from None
        except httpx2.HTTPError as error:
            problem = str(error) or type(error).__name__
            raise _failed(f"{where} does not answer ({problem}): is `ringmt serve` running there?") from None
        try:
            answer = response.json()
            if "result" in answer:
                return answer["result"]
            raise MCPError.from_error_data(types.ErrorData.model_validate(answer["error"]))
        except (ValueError, KeyError, TypeError):
            pass
        advice = "it must be a RingMT server with `pip install 'ringmt[mcp]'`"
        raise _failed(f"{where}{PATH} does not speak MCP (status {response.status_code}): {advice}")


def _failed(message: str) -> MCPError:
    return MCPError(types.INTERNAL_ERROR, message)
