"""Every format of strings: what other programs write is read, what is written they read, and all else stays."""

import contextlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import FileError, NoText
from server.files.formats.registry import FORMATS, open_file, suffix_of
from tests.server.files.formats.samples import SAMPLES
from tests.server.files.formats.strings.kinds import KINDS, Kind

LIMIT = 100_000
TOKENS = [
    *"aB '\"\\<>&@#?!:=-{}[]|%`~,.*;$/", "\n", "\n\n", "\t", "  ", ": ", " #", "\u2028", "\x85", "\u00e9", "\U0001f600",
    "]]>", "&amp;", "\\n", "\\u0041", "</value>", "{0}", "no", "- ", "1", "//", "/*", "''", "{ $x }", "\u00a0",
]  # fmt: skip
hostile = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=8).map("".join)
"""Translations that no file may be broken by."""
words = st.lists(
    st.sampled_from(["a", "be", " ", '"', "\\", "<", "&", "@", "#", ":", "\u00e9", "\U0001f600"]), max_size=8
)
sources = words.map(lambda parts: " ".join(f"W{''.join(parts)}d".split()))


def is_subsequence(part: bytes, whole: bytes) -> bool:
    rest = iter(whole)
    return all(byte in rest for byte in part)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_values_are_read_and_written_as_other_programs_do(kind: Kind) -> None:
    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.tuples(sources, hostile), min_size=1, max_size=4))
    def run(pairs: list[tuple[str, str]]) -> None:
        strings = {f"key{number}": source for number, (source, _) in enumerate(pairs)}
        data = kind.make(strings)
        opened = open_file(data, f"a{kind.suffix}", "de", LIMIT)
        assert list(opened.texts) == list(strings.values())
        same = opened.write(opened.texts)
        assert is_subsequence(data, same) if kind.is_added else same == data
        assert kind.read(same) == strings
        written = opened.write([translation for _, translation in pairs])
        expected = {key: translation for key, (_, translation) in zip(strings, pairs, strict=True)}
        assert kind.read(written) == expected
        again: Sequence[str] = ()
        with contextlib.suppress(NoText):
            again = open_file(written, f"a{kind.suffix}", "de", LIMIT).texts
        assert len(again) <= sum(not kind.is_added or not translation.strip() for _, translation in pairs)

    run()


NAMELESS = {name: kind for name, kind in KINDS.items() if not name.endswith(("flow", "16-le", "16-be"))}
"""Without a name, JSON may be YAML, and UTF-16 needs its byte order mark."""


@pytest.mark.parametrize("kind", NAMELESS.values(), ids=NAMELESS)
@pytest.mark.parametrize("value", ["Word", 'Where is the "station"?', "A: b & c = d # e", "- It's <b>fine</b>."])
def test_a_file_without_a_name_has_its_format(kind: Kind, value: str) -> None:
    keys = ("key1", "with-argument") if kind.suffix == ".ftl" else ("a.key", "a.key2")
    data = kind.make({keys[0]: value, keys[1]: f"{value} {{ $n }}"})
    assert FORMATS[suffix_of("blob", data)].opener == FORMATS[kind.suffix].opener


@pytest.mark.parametrize("suffix", [".properties", ".yaml", ".arb", ".strings", ".ftl", ".resx", ".xml"])
def test_nothing_translated_is_the_file_itself(suffix: str) -> None:
    """Of files made of what a parser knows, in any order; the target is the language that the samples have."""
    sample = SAMPLES[suffix]

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.sampled_from([*sample.tokens, sample.ordinary]), max_size=12).map("".join))
    def run(text: str) -> None:
        data = sample.build(text)
        with contextlib.suppress(FileError):
            opened = open_file(data, f"a{suffix}", "en", LIMIT)
            assert opened.write(opened.texts) == data

    run()
