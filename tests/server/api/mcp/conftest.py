"""The SDK's own client, at real servers."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.api_keys import new_key
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for

Result = TypeVar("Result")
ERAS = ("auto", "legacy")
"""What the client speaks: the newest version of the protocol, or the one before it, which begins with a handshake."""

JSON = {"Accept": "application/json", "MCP-Protocol-Version": "2025-11-25"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


def with_client(
    server: RunningServer, use: Callable[[Client], Awaitable[Result]], era: str = "auto", **headers: str
) -> Result:
    """The result of `use`, with a client that has connected to `/mcp`."""

    async def run() -> Result:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=PATIENCE, verify=False) as http,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=era) as client,
        ):
            return await use(client)

    return asyncio.run(run())


def call(server: RunningServer, name: str, **arguments: Any) -> types.CallToolResult:
    return with_client(server, lambda client: client.call_tool(name, arguments))


def post(server: RunningServer, message: object, **headers: str) -> httpx.Response:
    return _shared().post(f"{server.url}/mcp", json=message, headers=JSON | headers)


@functools.cache
def _shared() -> httpx.Client:
    """One client for all: a new one reads certificates."""
    return httpx.Client(timeout=PATIENCE)


@pytest.fixture(scope="package", autouse=True)
def _closed() -> Iterator[None]:
    yield
    _shared().close()
    _shared.cache_clear()


def translating(text: object, **arguments: object) -> dict[str, Any]:
    call = {"name": "translate", "arguments": {"text": text, "source": "en", "target": "de", **arguments}}
    return CALL | {"params": call}


def text_of(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@dataclass(frozen=True)
class Locked:
    """A server with keys: one that translates, one that may not, one that may send one request in 1,000 seconds."""

    server: RunningServer
    key: str
    reader: str
    slow: str


@pytest.fixture(scope="package")
def locked(tiny_artifact: Path) -> Iterator[Locked]:
    (key, line), (reader, other), (slow, third) = (
        new_key("client", ["translate"]),
        new_key("reader", ["documents"]),
        new_key("slow", ["translate"]),
    )
    keys = "\n".join((line, other, f"{third} rate=0.001"))
    with ready(settings_for(tiny_artifact, api_keys=keys)) as server:
        yield Locked(server, key, reader, slow)
