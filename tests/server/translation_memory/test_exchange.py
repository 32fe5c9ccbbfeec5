"""Files of translation memories, as they are written here and by other programs."""

import codecs
import contextlib
import csv
import io
from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from server.translation_memory import exchange
from server.translation_memory.entries import MOST_CHARS, RefusedPair, checked, decoded, encoded
from server.translation_memory.exchange import (
    MAX_LINE_CHARS,
    TMX_END,
    FileFormat,
    MalformedFile,
    as_utf8,
    read_pairs,
    tmx_beginning,
    tmx_units,
)
from server.translation_memory.pairs import Pair
from tests.growth import assert_linear_count, thread_seconds

LANG = "{http://www.w3.org/XML/1998/namespace}lang"
PARTS = st.sampled_from(
    ["a", "B", " ", "  ", "\n", "\t", "&", "<", "]]>", "\u00e9", "\U0001f600", '"', "'", ",", ";", "\u00a0", "\r"]
)
SIDES = st.lists(PARTS, min_size=1, max_size=6).map(lambda parts: "".join(parts).strip()).filter(bool)
PAIRS = st.lists(st.builds(Pair, SIDES, SIDES), max_size=5)


def tmx(pairs: list[Pair]) -> bytes:
    return "".join([tmx_beginning("en", "1"), *tmx_units(pairs, "en", "de"), TMX_END]).encode()


@given(PAIRS)
def test_a_written_memory_is_read_here_and_elsewhere(pairs: list[Pair]) -> None:
    written = tmx(pairs)
    assert read_pairs(written, "tmx", "en", "de").pairs == pairs
    assert read_pairs(written, "tmx", "de", "en").pairs == [Pair(pair.target, pair.source) for pair in pairs]
    variants = [(unit.get(LANG), unit.findtext("seg")) for unit in etree.fromstring(written).iter("tuv")]
    assert variants == [side for pair in pairs for side in (("en", pair.source), ("de", pair.target))]


@given(
    PAIRS,
    st.sampled_from([("csv", ","), ("tsv", "\t")]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_tables_of_other_programs(
    pairs: list[Pair], written: tuple[FileFormat, str], has_languages: bool, encoding: str
) -> None:
    file = io.StringIO(newline="")
    lines = csv.writer(file, delimiter=written[1])
    lines.writerows([pair.source, pair.target, *(("EN-gb", "de") if has_languages else ())] for pair in pairs)
    assert read_pairs(file.getvalue().encode(encoding), written[0], "en", "de").pairs == pairs


def test_languages_are_of_a_script_without_a_region() -> None:
    variants = {"en-US": "Bread", "zh-TW": "\u9eb5\u5305", "zh-Hans": "\u9762\u5305", "pt_BR": "P\u00e3o"}
    units = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in variants.items())
    data = f'<tmx version="1.4"><header/><body><tu>{units}</tu></body></tmx>'.encode()
    for target, text in (("zh-hant", "\u9eb5\u5305"), ("zh", "\u9762\u5305"), ("pt", "P\u00e3o")):
        assert read_pairs(data, "tmx", "en", target).pairs == [Pair("Bread", text)]
    assert read_pairs(b"Bread,x,en-GB,zh_TW", "csv", "en", "zh-hant").pairs == [Pair("Bread", "x")]
    with pytest.raises(MalformedFile, match="en, zh-hant"):
        read_pairs(b"Bread,x,en,zh-CN", "csv", "en", "zh-hant")


@given(PAIRS)
def test_entries_are_kept_as_they_are(pairs: list[Pair]) -> None:
    for pair in pairs:
        body = encoded(pair, "import", 12.5)
        assert body.isascii()
        entry = decoded("id", 3, body)
        assert (entry.pair, entry.number, entry.origin, entry.created) == (pair, 3, "import", 12.5)


def test_what_cannot_be_kept_is_counted() -> None:
    """By few reasons, whatever the sizes."""
    long = "".join(f"{'a' * (MOST_CHARS + number)},b\n" for number in (1, 2))
    text = f"a,b\n , x\n{long}c\x01,d\n,\n\ne,f\n"
    read = read_pairs(text.encode(), "csv", "en", "de")
    assert read.pairs == [Pair("a", "b"), Pair("e", "f")]
    assert read.refused == {
        "its source is empty": 1,
        f"its source has too many characters, at most {MOST_CHARS} are kept": 2,
        "its source has a control character or half a surrogate pair": 1,
    }


def test_a_file_has_a_limited_number_of_pairs() -> None:
    """Of the shortest pairs a file that a server takes has millions, which take far more memory than the file."""
    assert len(read_pairs(b"a,b\n" * 5 + b",\n", "csv", "en", "de", 5).pairs) == 5
    with pytest.raises(MalformedFile, match="more than 4 pairs"):
        read_pairs(b"a,b\n" * 5, "csv", "en", "de", 4)


@pytest.mark.parametrize(
    ("source", "target"), [("", "x"), ("x", " \n"), ("x", "\x07"), ("\ud800", "x"), ("x" * 4001, "x")]
)
def test_refused_pairs(source: str, target: str) -> None:
    with pytest.raises(RefusedPair):
        checked(source, target)


@pytest.mark.parametrize(
    ("data", "written", "expected_message"),
    [
        (b"<tmx>", "tmx", "the file is no TMX: they are no well-formed XML"),
        (b"<tbx/>", "tmx", "the root is <tbx>, not <tmx>"),
        (b"<!DOCTYPE tmx [<!ENTITY e 'x'>]><tmx>&e;</tmx>", "tmx", "an entity of their own: &e;"),
        (
            b"<!DOCTYPE tmx SYSTEM 'http://x/tmx.dtd'><tmx><tu><tuv xml:lang='en'><seg>&e;</seg></tuv></tu></tmx>",
            "tmx",
            "&e;",
        ),
        (b"a,b,c\n", "csv", "line 1 of the file must be a source and its translation"),
        (b"a,b\nc,d,fr,de\n", "csv", "line 2 of the file"),
        (b'"a,b\n', "csv", "the file is no CSV: unexpected end of data"),
        (b"\xe4,b\n", "csv", "no UTF-8 at byte 0"),
        (b"a," + b"x" * MAX_LINE_CHARS, "tsv", "a line of the file has"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, written: FileFormat, expected_message: str) -> None:
    with pytest.raises(MalformedFile, match=expected_message):
        read_pairs(data, written, "en", "de")


@given(
    st.text(max_size=30), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]), st.binary(max_size=3), st.integers(1, 9)
)
def test_a_file_is_decoded_in_parts_as_in_one(text: str, encoding: str, end: bytes, part_bytes: int) -> None:
    """Its slow reference decodes it at once."""
    data = text.encode(encoding) + end
    codec = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    with patch.object(exchange, "PART_BYTES", part_bytes):
        try:
            expected = data.decode(codec)
        except UnicodeDecodeError as error:
            at = error.start + (3 if data.startswith(codecs.BOM_UTF8) else 0)
            with pytest.raises(MalformedFile, match=rf"at byte {at}\b"):
                as_utf8(data)
        else:
            assert as_utf8(data).decode() == expected


@pytest.mark.parametrize(
    "unit",
    [
        "<tu><tuv xml:lang='en'><seg>a</seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>",
        "<tu>",
        "<tuv xml:lang='en'><seg>x</seg></tuv>",
        "<seg>",
        "&amp;",
    ],
)
def test_files_of_any_shape_are_read_in_time_of_their_length(unit: str) -> None:
    check_time(lambda times: "<tmx>" + unit * times + "</tmx>", 250)


@pytest.mark.parametrize(
    ("begin", "end"), [("<tmx a='", "'/>"), ("<tmx><!--", "--></tmx>"), ("<tmx><seg>", "</seg></tmx>")]
)
def test_long_tokens_are_read_in_time_of_their_length(begin: str, end: str) -> None:
    check_time(lambda times: begin + "x" * times + end, 2**14)


def check_time(written: Callable[[int], str], few: int) -> None:
    def seconds(times: int) -> float:
        data = written(times).encode()

        def read() -> None:
            with contextlib.suppress(MalformedFile):
                read_pairs(data, "tmx", "en", "de")

        return thread_seconds(read)

    assert_linear_count(seconds, few, 256)
