"""`/mcp` is admitted as other routes are, and needs no session."""

import asyncio
import importlib.util
import json
import sys
from collections.abc import Iterator

import anyio
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from server.api.mcp import route
from server.api.mcp.errors import REFUSED
from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, until
from tests.server.api.mcp.conftest import CALL, ERAS, JSON, Locked, call, post, text_of, translating, with_client

LONG = " ".join(f"{SENTENCES[number % 8][:-1]} {number}." for number in range(400))
"""A text that takes seconds: all sentences differ."""
HANDSHAKE = {
    "jsonrpc": "2.0", "id": "first", "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}},
}  # fmt: skip


def test_a_session_at_one_server_goes_on_at_another(server: RunningServer, locked: Locked) -> None:
    began = post(server, HANDSHAKE)
    assert began.json()["result"]["protocolVersion"] == "2025-06-18"
    assert "mcp-session-id" not in began.headers
    key = {"Authorization": f"Bearer {locked.key}"}
    assert post(locked.server, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **key).status_code == 202
    answer = post(locked.server, translating("Yes."), **key)
    assert answer.json()["result"]["structuredContent"]["translations"][0]["text"]
    with server.client() as http:
        for method in ("GET", "DELETE"):
            refused = http.request(method, "/mcp", headers={"Accept": "text/event-stream"})
            assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("era", ERAS)
def test_a_key_is_needed_where_there_are_keys(locked: Locked, era: str) -> None:
    right = {"Authorization": f"Bearer {locked.key}"}
    assert not with_client(locked.server, lambda client: client.call_tool("list_languages", {}), era, **right).is_error
    for headers in ({}, {"Authorization": "Bearer no-such-key"}):
        with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match="key is"), flatten_subgroups=True):
            with_client(locked.server, Client.list_tools, era, **headers)


def test_keys_have_scopes_and_limits(locked: Locked) -> None:
    refused = post(locked.server, translating("Yes."))
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert refused.json()["error"]["data"]["request_id"] == refused.headers["X-Request-ID"]
    forbidden = post(locked.server, translating("Yes."), Authorization=f"Bearer {locked.reader}")
    assert (forbidden.status_code, forbidden.json()["error"]["code"]) == (403, REFUSED)
    slow = {"X-API-Key": locked.slow}
    assert post(locked.server, translating("Yes."), **slow).status_code == 200
    limited = post(locked.server, translating("Yes."), **slow)
    assert (limited.status_code, limited.json()["error"]["data"]["type"]) == (429, "overloaded")
    assert f"after {limited.headers['Retry-After']} seconds" in limited.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[" * 3000, 400),
        (b"[" + b"1," * 100_001 + b"1]", 413),
        (b'"' + b"a" * 4_194_304 + b'"', 413),
        (b"[]", 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}', 200),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "no"}}', 200),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800"}}', 400),
    ],
)
def test_bodies_that_are_no_requests(server: RunningServer, body: bytes, status: int) -> None:
    with server.client() as http:
        answer = http.post("/mcp", content=body, headers=JSON | {"Content-Type": "application/json"})
        assert answer.status_code == status, answer.text
        assert answer.json()["error"]["message"]
        plain = http.post("/mcp", content=body, headers=JSON | {"Content-Type": "text/plain"})
        assert plain.status_code == 415


@pytest.fixture(scope="module")
def http(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([1.5, "", "tools/call", "a" * 200]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["_meta", "name", "id"]), inner),
    max_leaves=6,
)
METHODS = ("initialize", "ping", "tools/list", "tools/call", "server/discover", "subscriptions/listen")


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    method=st.sampled_from(METHODS) | JSON_VALUES,
    params=st.fixed_dictionaries(
        {}, optional={"name": st.just("translate") | JSON_VALUES, "arguments": JSON_VALUES, "_meta": JSON_VALUES}
    )
    | JSON_VALUES,
    number=st.integers() | st.sampled_from(["a", None, 1.5]),
    version=st.sampled_from(["2025-11-25", "2026-07-28", "2024-11-05", "1", ""]),
)
def test_odd_messages_are_answered(
    http: httpx.Client, method: object, params: object, number: object, version: str
) -> None:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    headers = JSON | {"Content-Type": "application/json", "MCP-Protocol-Version": version}
    answer = http.post("/mcp", content=json.dumps(message), headers=headers)
    assert answer.status_code < 500, answer.text
    if answer.status_code not in (202, 406):  # a notification; a stream, which the client does not accept
        assert {"result", "error"} & set(answer.json())


def test_a_lone_surrogate_is_named_and_a_pair_is_a_character(server: RunningServer) -> None:
    headers = JSON | {"Content-Type": "application/json"}
    with server.client() as http:
        refused = http.post("/mcp", content=json.dumps(translating("half \ud83d")), headers=headers)
        taken = http.post("/mcp", content=json.dumps(translating("A smile \U0001f600.")), headers=headers)
    assert refused.status_code == 400
    assert "lone surrogate" in refused.json()["error"]["message"]
    assert "\U0001f600" in taken.json()["result"]["content"][0]["text"]


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_work_of_a_client_that_goes_away_ends(server: RunningServer, version: str) -> None:
    async def go() -> None:
        meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
        message = translating(LONG)
        message["params"]["_meta"] = meta
        names = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "translate"}
        async with httpx.AsyncClient(base_url=server.url) as http:
            request = asyncio.create_task(http.post("/mcp", json=message, headers=JSON | names))
            await asyncio.to_thread(until, lambda: server.sentences > 0, "it is translated")
            request.cancel()

    def cancelled() -> float:
        stages = ("waiting", "running")
        return sum(server.metric("requests_cancelled_total", stage=stage, model="tiny") for stage in stages)

    before = cancelled()
    asyncio.run(go())
    until(lambda: server.sentences == 0, "no sentence is left")
    until(lambda: cancelled() > before, "its sentences are cancelled")


def test_a_call_that_the_client_cancels_ends(server: RunningServer) -> None:
    async def use(client: Client) -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "translate", {"text": LONG, "target": "de", "source": "en"})
                await asyncio.to_thread(until, lambda: server.sentences > 0, "it is translated")
                scope.cancel()
        await asyncio.to_thread(until, lambda: server.sentences == 0, "its sentences are cancelled")
        return not (await client.call_tool("list_languages", {})).is_error

    assert with_client(server, use)


@pytest.mark.parametrize("name", ["translate", "translate_document"])
def test_the_deadline_is_an_error_of_the_tool(server: RunningServer, name: str) -> None:
    arguments, before = {"text": LONG, "source": "en", "target": "de"}, server.state.usage.used("")
    answer = post(server, CALL | {"params": {"name": name, "arguments": arguments}}, **{"X-Request-Timeout": "0.3"})
    assert answer.status_code == 200
    assert answer.json()["result"]["isError"] is True
    assert "did not finish" in answer.json()["result"]["content"][0]["text"]
    assert server.state.usage.used("") == before, "what failed is not counted"


def test_a_document_that_takes_too_long_is_refused_early(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.api.serving.file_jobs.SURE_SECONDS", 0.0)
    monkeypatch.setattr("server.api.serving.file_jobs.SLACK", 0.0)
    monkeypatch.setattr("server.documents.batches.BATCH_PIECES", 20)
    result = call(server, "translate_document", text=LONG, target="de", source="en")
    assert result.is_error
    assert "translate it in several parts" in text_of(result)


def test_refusals_are_errors_of_the_tool_and_counted(server: RunningServer) -> None:
    counts = []
    for _ in range(3):  # the first may begin the series
        answer = post(server, translating("a" * 20_001))
        assert answer.json()["result"]["isError"] is True
        counts.append(server.metric("requests_rejected_total", reason="too_large", model=""))
    assert counts == [counts[0], counts[0] + 1, counts[0] + 2]


def test_pages_of_other_origins_need_a_key(server: RunningServer, locked: Locked) -> None:
    for origin in ("http://localhost:6274", "http://127.0.0.1", "http://[::1]:80"):
        assert post(server, translating("Yes."), Origin=origin).status_code == 200
    for origin in ("http://rebound.example", "null", "http://localhost.example", "http://[::1"):
        assert post(server, translating("Yes."), Origin=origin).status_code == 403
    key = {"Authorization": f"Bearer {locked.key}"}
    assert post(locked.server, translating("Yes."), Origin="http://other.example", **key).status_code == 200


def test_without_the_sdk_there_is_no_route(monkeypatch: pytest.MonkeyPatch) -> None:
    assert route.routers() == (route.router,)
    monkeypatch.setitem(sys.modules, route.PACKAGE, None)
    assert importlib.util.find_spec(route.PACKAGE) is None
    assert route.routers() == ()
