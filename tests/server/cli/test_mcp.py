"""`ringmt mcp` as a process: the SDK's own client starts it, as desktop clients do."""

import asyncio
import json
import os
import sys
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from server.cli.main import main
from tests.api_keys import new_key
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE
from tests.server.processes import ROOT

LONG = " ".join(f"{SENTENCES[number % 8][:-1]} {number}." for number in range(2000))
"""A text that takes many seconds."""


def test_a_client_starts_it_and_ends_it(tiny_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the environment are for clients over HTTP. The process ends by itself when its input ends."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", PATIENCE)
    command = f'{{ "$@"; echo $? > {tmp_path}/status; }} | tee {tmp_path}/wire'
    ringmt = [sys.executable, "-m", "server.cli", "mcp", "--models", str(tiny_artifact)]
    engine = ["--precision", "fp32", "--num-workers", "1", "--slots", "2"]
    keys = {"RINGMT_API_KEYS": new_key("client", ["translate"])[1]}
    process = StdioServerParameters(
        command="sh", args=["-c", command, "sh", *ringmt, *engine], env={**os.environ, **keys}, cwd=ROOT
    )

    async def use() -> None:
        with open(tmp_path / "errors", "w", encoding="utf-8") as errors:
            async with Client(stdio_client(process, errlog=errors)) as client:
                assert len((await client.list_tools()).tools) == 4
                result = await client.call_tool("translate", {"text": "Yes.", "target": "de", "source": "en"})
                assert result.structured_content["translations"][0]["text"]
                refused = await client.call_tool("translate", {"text": "Yes.", "target": "xx"})
                assert refused.is_error
                with anyio.move_on_after(0.5) as scope:
                    await client.call_tool("translate", {"text": LONG, "target": "de", "source": "en"})
                assert scope.cancelled_caught
                after = await client.call_tool("translate", {"text": SENTENCES[1], "target": "de", "source": "en"})
                assert not after.is_error

    asyncio.run(use())
    assert (tmp_path / "status").read_text() == "0\n"
    assert (tmp_path / "errors").read_text() == ""
    lines = (tmp_path / "wire").read_text().splitlines()
    assert len(lines) >= 5
    assert {json.loads(line)["jsonrpc"] for line in lines} == {"2.0"}


@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        (["--key-file", "key"], "--key-file is for the server of --url"),
        (["--url", "http://127.0.0.1:1", "--slots", "2"], "--slots is for models in this process"),
        (["--url", "127.0.0.1:8000"], "such as http://127.0.0.1:8000"),
        (["--url", "http://127.0.0.1:1", "--key-file", "no-such-file"], "no-such-file"),
        (["--models", "no-such-folder"], "no-such-folder"),
    ],
)
def test_wrong_usage(flags: list[str], advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", *flags]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert advice in printed.err


def test_without_the_sdk_it_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, types.__name__.partition("_")[0], None)
    assert main(["mcp"]) == 1
    assert "pip install 'ringmt[mcp]'" in capsys.readouterr().err
