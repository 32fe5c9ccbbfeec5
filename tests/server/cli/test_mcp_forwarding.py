"""`ringmt mcp --url` without its process: the SDK's client, the forwarding server, and a real server behind it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import anyio
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from server.cli.mcp_forwarding import Forwarding, client_of_url
from server.runtime.setting_fields import SettingsError
from tests.api_keys import new_key
from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, ready, settings_for, until

Result = TypeVar("Result")
KEY, LINE = new_key("client", ["translate"])
LONG = " ".join(f"{SENTENCES[number % 8][:-1]} {number}." for number in range(400))


@pytest.fixture(scope="module")
def server(tiny_artifact: Path) -> Iterator[RunningServer]:
    with ready(settings_for(tiny_artifact, api_keys=LINE)) as server:
        yield server


def forwarded(url: str, key: str | None, use: Callable[[Client], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with client_of_url(url, key) as http, Client(Forwarding(http).server()) as client:
            return await use(client)

    return asyncio.run(run())


def error_of(url: str, key: str | None) -> str:
    """The error of a tool, which is the error of the list of tools, too."""

    async def use(client: Client) -> types.CallToolResult:
        with pytest.raises(MCPError) as raised:
            await client.list_tools()
        result = await client.call_tool("list_languages", {})
        assert [content.text for content in result.content if content.type == "text"] == [raised.value.error.message]
        return result

    result = forwarded(url, key, use)
    assert result.is_error
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("end", ["", "/", "/mcp"])
def test_tools_are_those_of_the_server(server: RunningServer, end: str) -> None:
    async def use(client: Client) -> object:
        listed = await client.list_tools()
        assert "Served: de." in listed.tools[0].input_schema["properties"]["target"]["description"]
        with pytest.raises(MCPError, match="did you mean 'translate'"):
            await client.call_tool("transalte", {})
        return (
            await client.call_tool("translate", {"text": "Yes.", "target": "de", "source": "en"})
        ).structured_content

    answered = forwarded(server.url + end, KEY, use)
    with server.client() as http:
        body = {"text": "Yes.", "source": "en", "target": "de"}
        native = http.post("/v1/translate", json=body, headers={"X-API-Key": KEY}).json()["translations"][0]
    assert answered == {
        "translations": [{"text": native["text"], "source": "en", "alternatives": [], "flags": native["flags"]}]
    }


def test_a_call_that_the_client_cancels_ends_at_the_server(server: RunningServer) -> None:
    async def use(client: Client) -> None:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "translate", {"text": LONG, "target": "de", "source": "en"})
                await asyncio.to_thread(until, lambda: server.sentences > 0, "it is translated")
                scope.cancel()
        await asyncio.to_thread(until, lambda: server.sentences == 0, "its sentences are cancelled")

    forwarded(server.url, KEY, use)


def test_errors_say_what_to_do(server: RunningServer) -> None:
    assert "this key is not known here" in error_of(server.url, "wrong")
    assert "a key is needed here" in error_of(server.url, None)
    assert "is `ringmt serve` running there?" in error_of("http://127.0.0.1:1", None)
    assert "pip install 'ringmt[mcp]'" in error_of(f"{server.url}/elsewhere", KEY)


def test_models_that_cannot_be_loaded_are_an_error_of_the_tools(server: RunningServer) -> None:
    async def ready() -> None:
        raise ValueError("the artifact is damaged")

    async def use() -> types.CallToolResult:
        async with client_of_url(server.url, KEY) as http, Client(Forwarding(http, ready).server()) as client:
            return await client.call_tool("list_languages", {})

    result = asyncio.run(use())
    assert result.is_error
    assert "the artifact is damaged" in str(result.content)


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://127.0.0.1", "http://"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(SettingsError, match="--url"):
        client_of_url(url, None)
