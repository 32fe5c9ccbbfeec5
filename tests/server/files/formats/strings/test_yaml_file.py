"""What of a YAML file stays; styles, tags, anchors and languages."""

import contextlib

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile, FileError
from server.files.formats.registry import open_file
from tests.server.files.formats.samples import SAMPLES
from tests.server.files.formats.strings.upper import texts, upper

RAILS = """# A note
en:
  a: Hello # note
  b: "Quoted \\n x"
  c: 'it''s'
  d: &anc Plain text
    goes on
  e: *anc
  f: |
    Lines
      of text

  g: >-
    folded text that
    goes on here

    and more
  h: [one, "two", 3, true, no, 2020-01-01]
  j: :symbol
  i: {x: yes, y: !!str text, z: !ruby/regexp foo}
  ? {complex: key}
  : - item
"""


def test_all_but_values_stays() -> None:
    expected = RAILS.replace("en:\n", "de:\n")
    for before in ("Hello", '"Quoted', "it''s", "one", '"two"', "!!str text", "- item", "    Lines\n      of text"):
        after = before if before.startswith("!!") else before.upper()
        expected = expected.replace(before, after)
    expected = expected.replace("!!str text", "!!str TEXT").replace('"QUOTED \\n x"', '"QUOTED \\n X"')
    expected = expected.replace("Plain text\n    goes on", "PLAIN TEXT GOES ON")
    expected = expected.replace(
        "folded text that\n    goes on here\n\n    and more", "FOLDED TEXT THAT\n    GOES ON HERE\n\n    AND MORE"
    )
    assert upper(RAILS, ".yaml") == expected


def test_windows_line_ends_stay() -> None:
    text = RAILS.replace("\n", "\r\n")
    assert upper(text, ".yaml") == upper(RAILS, ".yaml").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("key", "language", "expected"),
    [("en-GB", "de", "de"), ("'en'", "de", "de"), ('"en"', "no", '"no"'), ("en", "no", "'no'"), ("xx", "de", "xx")],
)
def test_the_only_language_becomes_the_target(key: str, language: str, expected: str) -> None:
    assert upper(f"{key}:\n  a: b\n", ".yaml", language) == f"{expected}:\n  a: B\n"


def test_a_language_among_other_keys_stays() -> None:
    assert upper("de:\n  a: b\nother: c\n", ".yaml", "fr") == "de:\n  a: B\nother: C\n"
    assert upper("en: yes please\n", ".yaml") == "en: YES PLEASE\n"


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ("en:\n  a: b\nde:\n  a: c\n", "several languages"),
        ("just a text", "no mapping"),
        ("a: b\nc: d: e\n", "line 2"),
        ("a: b\n c: d: e\n", "line 2"),
        ("[" * 101 + "]" * 101, "more than 100 deep"),
    ],
)
def test_what_cannot_be_translated_is_refused(text: str, expected_message: str) -> None:
    with pytest.raises(DamagedFile, match=expected_message):
        texts(text, ".yaml")


@pytest.mark.parametrize("header", ["|", "|-", "|+", "|2", ">", ">-", "| # note"])
@pytest.mark.parametrize(
    "translation", ["one\ntwo", " starts with a blank", "\u2028", "a  b\n\n\nc", "\ttab", "x" * 300]
)
def test_blocks_keep_the_line_breaks_at_their_ends(header: str, translation: str) -> None:
    text = f"a: {header}\n  Some text\n  goes on\n\nb: c\n"
    opened = open_file(text.encode(), "a.yaml", "de", 1000)
    before, after = (yaml.safe_load(opened.write([first, "c"]).decode()) for first in (opened.texts[0], translation))
    ending = before["a"][len(before["a"].rstrip("\n")) :]
    assert after == {"a": translation + ending, "b": "c"}


@pytest.mark.parametrize(
    "word", ["yes", "No", "ON", "null", "~", "1.5", "1e3", "0x1F", "2020-01-01", "y", "=", "<<", "a: b"]
)
def test_a_plain_value_stays_a_string(word: str) -> None:
    for text in ("a: Word\n", "a: [Word]\n"):
        written = open_file(text.encode(), "a.yaml", "de", 1000).write([word]).decode()
        assert yaml.safe_load(written) in ({"a": word}, {"a": [word]})


def nodes(text: str) -> list[tuple[type, object, object, str]]:
    """What a parser sees: kinds, anchors, tags and values."""
    return [
        (type(event), getattr(event, "anchor", None), getattr(event, "tag", None), getattr(event, "value", ""))
        for event in yaml.parse(text, Loader=yaml.CSafeLoader)
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*SAMPLES[".yaml"].tokens, "a: |\n  Text\n\n", "b: >\n  Te\n  xt\n"]), max_size=14))
def test_of_any_file_only_values_change(tokens: list[str]) -> None:
    text = "".join(tokens)
    with contextlib.suppress(FileError):
        opened = open_file(text.encode(), "a.yaml", "en", 10_000)
        translations = [f"'{number}': - # \"\n {{" for number in range(len(opened.texts))]
        before, after = nodes(text), nodes(opened.write(translations).decode())
        assert [node[:3] for node in before] == [node[:3] for node in after]
        changed = [(old[3], new[3]) for old, new in zip(before, after, strict=True) if old != new]
        endings = [old[len(old.rstrip("\n")) :] if new.endswith("\n") else "" for old, new in changed]
        assert [new for _, new in changed] == [a + b for a, b in zip(translations, endings, strict=True)]


def test_questions_in_flows_are_quoted() -> None:
    """PyYAML ends a plain value there at every question mark."""
    opened = open_file(b"a: {b: Word, c: More}\n", "a.yaml", "de", 1000)
    written = opened.write(["Wort?", "Mehr? Ja"])
    assert yaml.safe_load(written) == {"a": {"b": "Wort?", "c": "Mehr? Ja"}}
