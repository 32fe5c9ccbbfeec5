"""Measurements are kept, and only good files are read."""

from pathlib import Path

import pytest

from export.compare.rows import CompareError
from export.compare.store import Store


@pytest.mark.parametrize("name", ["measured.json", "measured.json.gz"])
def test_measurements_persist_between_runs(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    Store(path).put("weights", "speed", [1.0, 2.0])
    assert Store(path).get("weights", "speed") == [1.0, 2.0]
    assert Store(path).get("other weights", "speed") is None
    assert [file.name for file in tmp_path.iterdir()] == [name]
    written = path.read_bytes()
    assert written.startswith(b"\x1f\x8b") == (path.suffix == ".gz")
    Store(path).put("weights", "speed", [1.0, 2.0])
    assert path.read_bytes() == written


def test_without_a_file_a_store_forgets() -> None:
    Store(None).put("weights", "speed", 1.0)
    assert Store(None).get("weights", "speed") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "holds no measurements of ringmt compare: choose another file"),
        ("[1]", "holds no measurements of ringmt compare"),
        ('{"format": 99, "measured": {}}', "has format 99, this version reads 2: delete it"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with pytest.raises(CompareError, match=message):
        Store(tmp_path / "x.json")


def test_a_packed_file_that_is_not_packed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_text("{}", encoding="utf-8")
    with pytest.raises(CompareError, match="holds no measurements"):
        Store(tmp_path / "x.json.gz")
