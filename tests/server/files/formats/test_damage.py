"""No bytes make an opener or a writer raise anything but a FileError."""

import encodings.aliases
import io
import zipfile
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile, FileError
from server.files.formats.registry import FORMATS, open_file
from tests.growth import assert_linear
from tests.server.files.formats.files import packed, xliff_of
from tests.server.files.formats.samples import SAMPLES

LIMIT = 20_000
EXAMPLES = 60
STRANGE = (
    b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"&#xd800;", b"\xf3\xb0\x80\x80", b"\xff" * 4, b"]]>",
    b"&#" + b"9" * 5000 + b";", b"<!DOCTYPE x [", b"<?xml version='1.0' encoding='utf-7'?>", b"\r", b"\x85", b"\x0b",
    b"\xe2\x80\xa8", b"\\ud800", b"9" * 5000, b"-->", b"<![CDATA[", b"xmlns:w='relative'", b"PK\x01\x02",
)  # fmt: skip

Edit = tuple[float, int, bytes]
"""Where in a file, how many bytes are removed there, and what is put in their place."""


def edits(suffix: str) -> st.SearchStrategy[list[Edit]]:
    tokens = [token.encode() for token in SAMPLES[suffix].tokens]
    put = st.sampled_from([*STRANGE, *tokens]) | st.binary(max_size=4)
    position = st.floats(0, 1, allow_subnormal=False)  # an ONNX session turns them off in its thread
    return st.lists(st.tuples(position, st.integers(0, 3) | st.integers(0, 10_000), put), max_size=4)


def edited(data: bytes, changes: Sequence[Edit]) -> bytes:
    for place, removed, put in changes:
        start = int(place * len(data))
        data = data[:start] + put + data[start + removed :]
    return data


def check(data: bytes, suffix: str) -> None:
    """Only FileError is raised; what is opened is written, whatever the translations are."""
    try:
        opened = open_file(data, f"a{suffix}", "de", LIMIT)
        opened.write(opened.texts)
        opened.write([f'\x00"<&\ud800\x0b{text[:5]}\n' for text in opened.texts])
    except FileError:
        return


@pytest.mark.parametrize("suffix", SAMPLES)
def test_damaged_files(suffix: str) -> None:
    sample = SAMPLES[suffix]

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(edits(suffix))
    def run(changes: list[Edit]) -> None:
        check(edited(sample.build(sample.ordinary * 3), changes), suffix)

    run()


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".odt", ".xlsx", ".epub"])
def test_archives_of_damaged_parts(suffix: str) -> None:
    sample = SAMPLES[suffix]
    whole = sample.build(sample.ordinary * 3)

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(edits(suffix))
    def run(changes: list[Edit]) -> None:
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            parts = [(name, edited(archive.read(name), changes)) for name in archive.namelist()]
        check(packed(parts, zipfile.ZIP_STORED), suffix)

    run()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(sorted(FORMATS)))
def test_random_bytes(data: bytes, suffix: str) -> None:
    check(data, suffix)


@pytest.mark.parametrize("suffix", SAMPLES)
def test_files_that_break_off(suffix: str) -> None:
    data = SAMPLES[suffix].build(SAMPLES[suffix].ordinary * 3)
    for length in range(0, len(data), max(1, len(data) // 60)):
        check(data[:length], suffix)


CODECS = sorted({
    *encodings.aliases.aliases, *encodings.aliases.aliases.values(), "idna", "punycode", "undefined", "unicode_escape",
    "raw_unicode_escape", "unicode-1-1-utf-8", "x-user-defined", "none", "UTF-16", "utf-8-sig",
})  # fmt: skip


@pytest.mark.parametrize("charset", CODECS)
def test_every_charset(charset: str) -> None:
    check(f'<html><meta charset="{charset}"><p>Text +ADw- \xe9 \x81 xn--a</p>'.encode("latin-1"), ".html")
    declared = f'<?xml version="1.0" encoding="{charset}"?>'.encode()
    check(declared + xliff_of("<trans-unit><source>Text +ADw- </source></trans-unit>"), ".xliff")


@pytest.mark.parametrize("charset", ["utf-7", "cp037", "EBCDIC-US", "utf-32"])
def test_encodings_in_which_tags_cannot_be_counted_are_refused(charset: str) -> None:
    source = "<file><trans-unit><source>A word.</source></trans-unit></file>"
    text = f'<?xml version="1.0" encoding="{charset}"?><xliff>{source}</xliff>'
    with pytest.raises(DamagedFile, match=r"UTF-8|no well-formed XML"):
        open_file(text.encode("cp037" if charset == "EBCDIC-US" else charset), "a.xliff", "de", LIMIT)
    with pytest.raises(DamagedFile, match="save it as UTF-8"):
        open_file(text.encode(), "a.xliff", "de", LIMIT)


@pytest.mark.parametrize("charset", ["punycode", "idna", "windows-1252", "shift_jis", "iso-2022-jp"])
def test_a_page_is_decoded_in_linear_time(charset: str) -> None:
    head = f'<meta charset="{charset}"><p>'.encode()

    def run(text: str) -> None:
        try:
            open_file(head + text.encode("latin-1", errors="replace"), "a.html", "de", 10_000_000)
        except FileError:
            return

    assert_linear(run, ("a", "-", "b-9", "\x81", "\xff", "\x1b$B", "\x1b(B"), ordinary=None)
