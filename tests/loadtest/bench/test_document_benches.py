"""The benches of stores, listeners and long documents: a short run gives the promised rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadtest.bench import listeners_bench, stores_bench
from loadtest.bench.long_document_bench import Moment, _rate
from loadtest.bench.stores_bench import fill, time_operations
from server.cli import main as cli
from server.stores.memory import MemoryStore


def rows_of(path: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    assert cli.main(["bench", *arguments, "--json", str(path)]) == 0
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return {row["name"]: row for row in rows}


def test_operations_of_stores_are_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores_bench, "OPERATIONS", 4)
    monkeypatch.setattr(stores_bench, "EXPIRED", 2)
    rows = rows_of(tmp_path / "rows.json", "stores", "--sizes", "4,8", "--rounds", "1")
    names = ("create", "claim", "extend a lease", "save", "delete", "list 20", "expire 2 finished")
    for operation in (*names, "expire 2 waiting for another model"):
        for statistic in ("median", "p99"):
            row = rows[f"SQLite, {operation}, {statistic}"]
            assert row["ratio"] == pytest.approx(row["ours"] / row["peer"])


def test_timing_leaves_as_many_documents_as_there_were() -> None:
    store = MemoryStore()
    fill(store, 40)
    times: dict[str, list[float]] = {}
    time_operations(store, times)
    assert store.count() == 40
    assert {len(of_operation) for of_operation in times.values()} == {10, 200}


def test_a_change_reads_the_store_once_for_all_listeners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners_bench, "CHANGES", 5)
    rows = rows_of(tmp_path / "rows.json", "listeners", "--sizes", "1,20")
    assert rows["the store is read for a change"]["ours"] == 1
    assert rows["a change, 20 listeners or 1"]["ours"] > 0


def test_the_end_of_a_long_document_is_compared_with_its_beginning(document_artifact: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join(f"It rains {number}." for number in range(40)), encoding="utf-8")
    arguments = ["--artifact", str(document_artifact), "--text", str(text)]
    assert cli.main(["bench", "long-document", *arguments, "--sizes", "40"]) == 1, "too few batches"


def test_a_rate_is_between_two_moments() -> None:
    moments = [Moment(10, 1.0, 5.0, 0), Moment(20, 1.5, 5.2, 0), Moment(30, 2.0, 9.0, 0)]
    assert _rate(moments, "processor") == pytest.approx(50)
    assert _rate(moments, "seconds") == pytest.approx(200)
