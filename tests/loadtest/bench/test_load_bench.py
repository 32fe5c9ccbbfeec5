"""The comparison under load: both servers really answer, and figures are counted as they should be."""

import math
from pathlib import Path

import pytest

from export.commands import EXAMPLES, lines
from loadtest.bench.load_bench import TIMEOUT, LoadPlan, levels, load_rows, median_level, rows_of
from loadtest.bench.load_figure import draw_load
from loadtest.open_loop import Level
from tests.models import lively_model, tiny_config, write_artifact


def level(rate: float, p95: float, failed: int = 0) -> Level:
    return Level(rate, 10, 10 - failed, 0, failed, rate, p95 / 2, p95, 2 * p95)


def test_both_servers_answer_the_same_requests(tmp_path: Path) -> None:
    artifact = write_artifact(lively_model(tiny_config(max_length=256)), tmp_path, graphs=(("onnx", "int8"),))
    plan = LoadPlan(rates=(4,), seconds=1.0, rounds=1)
    rows = load_rows(tmp_path / "tiny-checkpoint", artifact, list(lines(EXAMPLES)), plan)
    results = {row.name: row for row in rows}
    throughput = results["4 requests/s: throughput"]
    assert throughput.ours > 0
    assert throughput.peer is not None
    assert throughput.peer > 0
    assert not any("given up" in name for name in results)
    assert rows[-1].name == "highest rate with p95 below 0.5 s"
    draw_load(rows, tmp_path / "load.png")
    assert (tmp_path / "load.png").stat().st_size > 1000


def test_servers_alternate_and_get_the_same_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    offered_loads: list[tuple[str, float, int]] = []

    async def offered(base: str, rate: float, seconds: float, seed: int, **more: object) -> Level:
        offered_loads.append((base, rate, seed))
        return level(rate, 0.1 * rate if base == "ours" else 0.2 * rate)

    monkeypatch.setattr("loadtest.bench.load_bench.offer", offered)
    measured = levels(["ours", "peer"], ["Yes."], LoadPlan(rates=(1, 2, 4, 8, 16), seconds=1, rounds=3))
    counted = offered_loads[2:]  # the first of each only warms up
    assert {seed for *_, seed in offered_loads[:2]} == {0}
    assert [base for base, *_ in counted[:6]] == ["ours", "peer", "peer", "ours", "ours", "peer"]
    by_round = [counted[start : start + 2] for start in range(0, len(counted), 2)]
    assert all(first[1:] == second[1:] and first[0] != second[0] for first, second in by_round)
    assert [len({seed for _, rate, seed in counted if rate == offered_rate}) for offered_rate in (1, 2, 4, 8, 16)] == [
        3,
        3,
        3,
        3,
        0,
    ]
    assert [[level.rate for level in server] for server in measured] == [
        [1, 2, 4, 8]
    ] * 2  # at 8 neither is fast enough


def test_rounds_become_one_level() -> None:
    nobody = Level(5, 10, 0, 0, 10, 0.0, math.nan, math.nan, math.nan)
    combined = median_level([level(5, 0.1), level(5, 0.3), nobody])
    assert (combined.sent, combined.answered, combined.failed) == (30, 20, 10)
    assert combined.p95 == 0.3
    assert median_level([nobody]).p95 == TIMEOUT


def test_the_rate_that_is_held_closes_the_table() -> None:
    ours = [level(5, 0.1), level(10, 0.2), level(20, 0.4), level(40, 3.0)]
    peer = [level(5, 0.1), level(10, 0.9), level(20, 2.0), level(40, 9.0, failed=2)]
    rows = rows_of([ours, peer])
    assert (rows[-1].ours, rows[-1].peer, rows[-1].ratio) == (20, 5, 4.0)
    [lost] = [row for row in rows if "given up" in row.name]
    assert (lost.name, lost.ours, lost.peer, lost.ratio) == ("40 requests/s: refused or given up", 0, 2, 0.0)


def test_a_figure_needs_rows(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_load([], tmp_path / "none.png")
