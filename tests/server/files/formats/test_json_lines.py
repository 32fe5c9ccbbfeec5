"""JSON Lines: every line as a JSON file."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile, FileOptions
from server.files.formats.registry import open_file

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


def translated(data: bytes, name: str, keys: str = "") -> bytes:
    opened = open_file(data, name, "de", 10**6, FileOptions(keys=keys))
    return opened.write([f"{text}!" for text in opened.texts])


@given(
    st.lists(VALUES, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n", "\n\n"]), st.sampled_from(["", "a,*.b"])
)
def test_each_line_is_as_a_file(values: list[Any], newline: str, keys: str) -> None:
    lines = [json.dumps({"a": "Yes.", "x": value}) for value in values]
    data = newline.join(lines) + newline
    alone = [translated(line.encode(), "a.json", keys).decode() for line in lines]
    assert translated(data.encode(), "a.jsonl", keys).decode() == newline.join(alone) + newline
    opened = open_file(data.encode(), "a.ndjson", "de", 10**6)
    assert opened.write(opened.texts) == data.encode()


def test_a_line_that_is_no_json_is_named() -> None:
    with pytest.raises(DamagedFile, match="line 3 is no JSON"):
        open_file(b'{"a": "Yes"}\n\n{"a": }\n', "a.jsonl", "de", 10_000)
