"""Keys of JSON that a client chooses."""

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.base import FileError, FileOptions
from server.files.formats.registry import open_file
from tests.growth import assert_linear

SHOP = {
    "title": "A shop",
    "pages": [{"title": "One", "text": "Come in", "url": "http"}, {"title": "Two", "tags": ["new", "old"]}],
    "menu.open": "Open",
    "menu": {"close": "Close", "title": {"long": "A menu"}},
}


def chosen(data: object, keys: str) -> list[str]:
    return list(open_file(json.dumps(data).encode(), "a.json", "de", 100_000, FileOptions(keys=keys)).texts)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("title", ["A shop", "One", "Two", "A menu"]),
        ("menu.open", ["Open"]),
        ("menu.*", ["Open", "Close", "A menu"]),
        ("pages.*.title", ["One", "Two"]),
        ("pages.title,pages.1.tags", ["One", "Two", "new", "old"]),
        ("pages.0", ["One", "Come in", "http"]),
        ("**.t*t*", ["A shop", "One", "Come in", "Two", "A menu"]),
        ("!url,!menu", ["A shop", "One", "Come in", "Two", "new", "old"]),
        ("pages,!tags,!u*l", ["One", "Come in", "Two"]),
        ("menu.title.long", ["A menu"]),
        (" title , !pages", ["A shop", "A menu"]),
    ],
)
def test_keys(keys: str, expected: list[str]) -> None:
    assert chosen(SHOP, keys) == expected


def paths(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield ".".join(path), value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))


NAMES = st.text(st.sampled_from("ab"), min_size=1, max_size=3)
VALUES = st.recursive(st.just("Yes"), lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


@given(OBJECTS, st.lists(st.one_of(NAMES, st.sampled_from(["*", "**", "a*", "*b", "a*b"])), min_size=2, max_size=4))
def test_a_path_chooses_as_its_regular_expression(value: dict[str, object], parts: list[str]) -> None:
    """Of the paths joined with points; everything inside is chosen too."""
    expression = "".join("(?:[^.]+[.])*" if part == "**" else part.replace("*", "[^.]*") + "[.]" for part in parts)
    expected = [text for path, text in paths(value) if re.match(expression, path + ".")]
    if expected:
        assert chosen({"x": "1", **value}, ".".join(parts)) == expected


def test_too_many_paths_are_refused() -> None:
    with pytest.raises(FileError, match="keys: at most"):
        chosen(SHOP, ",".join("abcdefghijklmnopqrstuvwxyz"[n % 26] for n in range(60)))


def test_messages_of_an_extension_are_translated_and_nothing_beside_them() -> None:
    messages = {
        "name": {"message": "Hello", "description": "the window"},
        "who": {"message": "To $X$", "placeholders": {"x": {"content": "$1", "example": "Bob"}}},
    }
    assert chosen(messages, "") == ["Hello", "To $X$"]
    assert chosen({"a": {"message": "Hello", "text": "there"}}, "") == ["Hello", "there"]


def test_choosing_takes_linear_time() -> None:
    keys = FileOptions(keys="**.a*a*b,**.**.a,a.*.b,!x*x")

    def run(text: str) -> None:
        data = json.dumps({"k": [text, {text: text}, {"a." * len(text): "yes"}]}).encode()
        open_file(data, "a.json", "de", 10_000_000, keys)

    assert_linear(run, ("a", "b", "x", ".", "a.", "ab"))
