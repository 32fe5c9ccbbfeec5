"""Measurements are kept, and only good files are read."""

from pathlib import Path

import pytest

from export.compare.rows import CompareError
from export.compare.store import Store


def test_nothing_is_measured_twice_not_even_in_another_run(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    assert Store(path).measure("weights", "speed", lambda: [1.0, 2.0]) == [1.0, 2.0]
    assert Store(path).measure("weights", "speed", lambda: pytest.fail("measured again")) == [1.0, 2.0]
    assert Store(path).get("other weights", "speed") is None
    assert [file.name for file in tmp_path.iterdir()] == ["measured.json"]


def test_without_a_file_a_store_forgets() -> None:
    Store(None).put("weights", "speed", 1.0)
    assert Store(None).get("weights", "speed") is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json", "holds no measurements of ringmt compare: choose another file"),
        ("[1]", "holds no measurements of ringmt compare"),
        ('{"format": 99, "measured": {}}', "has format 99, this version reads 1: delete it"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with pytest.raises(CompareError, match=message):
        Store(tmp_path / "x.json")
