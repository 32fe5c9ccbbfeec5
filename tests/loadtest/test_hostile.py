"""Small versions of all hostile inputs, sent to a server with a tiny model: no 5xx, no growth of memory, no silence
of the server. `make hostile` sends the full sizes."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from loadtest.hostile import prober, serving
from loadtest.hostile.__main__ import QUICK, main
from loadtest.hostile.attempt import CLOSED, CUT_OFF, Answers, Attempt, HostileInput
from loadtest.hostile.inputs import INPUTS
from loadtest.hostile.serving import Server
from loadtest.hostile.table import table
from loadtest.hostile.trial import MIB, Row, run_attempt

PATIENCE = 60.0
MOST_GROWTH = 64 * MIB
MOST_MEMORY = 2048 * MIB
SMALL = ("--num-workers", "1", "--slots", "4", "--precision", "fp32", "--shortlist", "off", "--log-level", "error")
LIMITS = ("--max-text-chars", "20000", "--max-total-chars", "20000")
REFUSED_FOR_NOW = {"429", "503"}
"""Documented: overloaded, not ready."""


def small_server(artifact: Path, keyed: bool) -> Server:
    command = [sys.executable, "-m", "server.cli", "serve", "--models", str(artifact), *SMALL, *LIMITS]
    return Server(command, keyed)


@pytest.fixture(scope="module", autouse=True)
def _little_else_is_asked() -> Iterator[None]:
    """Else the warm-up of a server and the probes are most of the work."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prober, "LIVE_EVERY", 0.03)
        patch.setattr(prober, "SENTENCE_EVERY", 0.1)
        patch.setattr(serving, "WARM", serving.WARM[:2_000])
        yield


@pytest.fixture(scope="module")
def servers(tiny_artifact: Path) -> Iterator[dict[bool, Server]]:
    """A server without keys and a server that requires keys, started on demand."""
    started = Started(tiny_artifact)
    yield started
    for server in started.values():
        server.end()


class Started(dict[bool, Server]):
    def __init__(self, artifact: Path) -> None:
        self._artifact = artifact

    def __missing__(self, keyed: bool) -> Server:
        self[keyed] = small_server(self._artifact, keyed)
        return self[keyed]


@pytest.mark.parametrize("case", INPUTS, ids=lambda case: case.name.replace(" ", "-"))
def test_a_hostile_input_is_answered_and_costs_nobody_else(servers: dict[bool, Server], case: HostileInput) -> None:
    row = run_attempt(case, servers[case.keyed], PATIENCE, QUICK, MOST_MEMORY)
    if row.unwell not in ("", "memory kept"):
        servers.pop(case.keyed).end()
    assert row.unwell in ("", "memory kept"), row
    faults = [status for status in row.statuses if status.startswith("5") and status not in REFUSED_FOR_NOW]
    assert not faults, row
    assert CLOSED not in row.statuses, row
    assert row.growth < MOST_GROWTH, row
    assert row.live_answers > 0, row
    assert row.dead_answers == 0, row


def test_names_are_of_one_input_each() -> None:
    names = [case.name for case in INPUTS]
    assert len(names) == len(set(names))
    assert all(case.description.endswith(".") for case in INPUTS)


def test_a_stopped_server_is_reported_as_silent(servers: dict[bool, Server]) -> None:
    """The row has the time of silence and says that the server was killed."""
    server = servers[False]

    def stop(address: object, seconds: float) -> Answers:
        os.kill(server.pid, signal.SIGSTOP)
        return Answers.of(CUT_OFF)

    try:
        row = run_attempt(
            HostileInput("stop", "It stops.", lambda share: Attempt(1, stop)), server, 1, 1.0, MOST_MEMORY
        )
    finally:
        servers.pop(False).end()
    assert row.unwell == "silent: killed"
    assert row.worst_live > 4
    assert "silent: killed" in table([row])


def row_of(status: str, seconds: float, name: str = "a") -> Row:
    return Row(name, "A.", False, 2000, {status: 1}, "", seconds, MIB, 0, 0, 0.5, 1, 0, 1.0, 0.1, 0, "")


def test_a_table_compares_with_earlier_rows() -> None:
    lines = table([row_of("422", 0.5)], [row_of(CUT_OFF, 10.0)]).splitlines()
    assert lines[2] == "| a | 2 kB | cut off → 422 | 10.00 → 0.50 | 1 MiB | 500 ms | x1.0 |"
    assert lines[2].count("|") == lines[0].count("|") == lines[1].count("|")


def test_the_command_writes_rows_and_compares_them(
    tiny_artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It writes what another run of it can read."""
    name = "10,000 unknown fields"
    once = ["--quick", "--only", "unknown fields", "--models", str(tiny_artifact)]
    before, rows = tmp_path / "before.json", tmp_path / "rows.json"
    before.write_text(json.dumps([asdict(row_of("400", 77.0, name))]), encoding="utf-8")
    assert main([*once, "--json", str(rows), "--before", str(before)]) == 0
    [row] = json.loads(rows.read_text(encoding="utf-8"))
    assert row["statuses"] == {"422": 1}
    assert f"| {name} | " in (shown := capsys.readouterr().out)
    assert "| 400 → 422 | 77.00 → " in shown
    assert table([Row(**row)]).splitlines()[2].startswith(f"| {name} | ")
