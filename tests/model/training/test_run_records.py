"""Runs without weights: a line each, whatever the order in which they came."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.config import ConfigError
from model.training.run_records import CURVES, RUNS, RunRecord, find_records, put_record, read_records, remove_record

NAMES = st.text("ab-1,\"'é", min_size=1, max_size=4)
VALUES = st.dictionaries(
    st.text("xy", min_size=1, max_size=2),
    st.integers() | st.floats(allow_nan=False, allow_subnormal=False) | st.text('a\u2028\n"ß', max_size=3),
    max_size=3,
)
CURVE = st.lists(
    st.dictionaries(
        st.sampled_from(["step", "nll dev", "nll, test"]), st.sampled_from(["1", "1.5", 'a,"b']), min_size=1
    ),
    max_size=2,
)
RECORDS = st.builds(RunRecord, NAMES, VALUES, st.none() | VALUES, st.none() | VALUES, CURVE)


def lines(folder: Path) -> dict[str, set[str]]:
    """The lines of both files, without the head of the curves."""
    results = {name: (folder / name).read_text(encoding="utf-8").splitlines() for name in (RUNS, CURVES)}
    return {RUNS: set(results[RUNS]), CURVES: set(results[CURVES][1:])}


@settings(deadline=None, max_examples=50)
@given(records=st.lists(RECORDS, min_size=1, max_size=5, unique_by=lambda record: record.name), data=st.data())
def test_a_stored_run_is_found_and_changes_no_other_lines(
    records: list[RunRecord], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("page")
    *others, last = data.draw(st.permutations(records))
    for record in others:
        put_record(folder, record)
    put_record(folder, RunRecord(last.name, {"older": 1}, None, None, [{"step": "1"}]))
    before = lines(folder)
    put_record(folder, last)
    assert read_records(folder) == {record.name: record for record in records}
    assert [path.name for path in find_records(folder)] == sorted(record.name for record in records)
    names = [json.loads(line)["row"] for line in (folder / RUNS).read_text(encoding="utf-8").splitlines()]
    assert names == sorted(names)
    remove_record(folder, last.name)
    assert read_records(folder) == {record.name: record for record in others}
    for file, kept in lines(folder).items():
        assert kept <= before[file]


def test_a_run_again_leaves_the_same_bytes(tmp_path: Path) -> None:
    for name in ("b", "a"):
        put_record(tmp_path, RunRecord(name, {"seconds": 1.5}, {"d": 1}, None, [{"step": "1", f"nll {name}": "2.0"}]))
    before = {name: (tmp_path / name).read_bytes() for name in (RUNS, CURVES)}
    put_record(tmp_path, read_records(tmp_path)["a"])
    assert {name: (tmp_path / name).read_bytes() for name in (RUNS, CURVES)} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [CURVES, RUNS]
    remove_record(tmp_path, "none")
    assert {name: (tmp_path / name).read_bytes() for name in (RUNS, CURVES)} == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"runs\.jsonl, line 2 is not JSON: "),
        ("[]", r"runs\.jsonl, line 2 must be a JSON object, not list"),
        ('{"row": "b"}', r"runs\.jsonl, line 2 lacks 'row' or 'training'"),
        ('{"row": "b", "training": {}, "confg": {}}', r"'confg' in .*runs\.jsonl, line 2: did you mean 'config'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str, message: str, tmp_path: Path) -> None:
    put_record(tmp_path, RunRecord("a", {}, None, None, []))
    with (tmp_path / RUNS).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(ConfigError, match=message):
        find_records(tmp_path)


def test_a_summary_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/training.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run/training\.json is not JSON: "):
        find_records(tmp_path)
