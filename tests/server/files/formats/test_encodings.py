"""Encodings that files declare, that are certain, and that are not."""

import codecs
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile, decode
from server.files.formats.content import suffix_by_content
from server.files.formats.registry import FORMATS, open_file
from tests.growth import assert_linear
from tests.server.files.formats.samples import SAMPLES

SENTENCES = Path("tests/sample/tatoeba.de").read_text(encoding="utf-8").splitlines()[:400]
NOT_ASCII = [line for line in SENTENCES if not line.isascii()]
TEXTS = [suffix for suffix in SAMPLES if not SAMPLES[suffix].build("a").startswith(b"PK")]
GERMAN = "Schöne Grüße aus München, es ist heiß.\nDas Mädchen läuft über die Straße.\n"
BUILT = {
    ".txt": GERMAN, ".md": GERMAN, ".html": f"<p>{GERMAN}</p>", ".csv": GERMAN, ".tsv": GERMAN.replace(",", "\t"),
    ".srt": f"1\n00:00:01,000 --> 00:00:02,000\n{GERMAN}", ".vtt": f"WEBVTT\n\n00:01.000 --> 00:02.000\n{GERMAN}",
    ".po": 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Schöne Grüße aus München, es ist heiß"\nmsgstr ""\n',
    ".json": '{"a": "Schöne Grüße aus München, es ist heiß"}',
    ".xliff": "<xliff version='2.0' trgLang='de'><file><segment state='translated'><source>Schöne Grüße aus München, es"
    " ist heiß</source><target/></segment></file></xliff>",
    ".yaml": "a: Schöne Grüße aus München, es ist heiß\n", ".ftl": "a = Schöne Grüße aus München, es ist heiß\n",
    ".sbv": f"0:00:01.000,0:00:02.000\n{GERMAN}",
    ".jsonl": '{"a": "Schöne Grüße aus München, es ist heiß"}\n{"a": "Ja"}\n',
    ".ass": "[Script Info]\n[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,"
    "Schöne Grüße aus München, es ist heiß\n",
    ".arb": '{"@@locale": "de", "a": "Schöne Grüße aus München, es ist heiß"}',
    ".strings": '"a" = "Schöne Grüße aus München, es ist heiß";\n',
    ".xcstrings": '{"sourceLanguage": "en", "strings": {"Schöne Grüße aus München, es ist heiß": {}}}',
}  # fmt: skip
"""Files that declare nothing."""
DECIDED = {".properties", ".resx", ".ts", ".xml", ".tmx", ".tbx", ".eml", ".pdf"}
"""Formats that say in which encoding files are that declare nothing: ISO-8859-1, UTF-8 (XML), ASCII."""


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NOT_ASCII), st.lists(st.sampled_from(SENTENCES), min_size=6, max_size=20))
def test_german_of_windows_is_read_or_refused(first: str, others: list[str]) -> None:
    """Never as something else."""
    whole = "\n".join([first, *others])
    try:
        data = whole.encode("cp1252")
    except UnicodeEncodeError:
        return
    try:
        text, encoding = decode(data)
    except DamagedFile:
        return
    assert text == whole
    assert encoding.encode(text) == data


def test_nearly_all_german_of_windows_is_read() -> None:
    whole = ["\n".join(NOT_ASCII[at : at + 8]).encode("cp1252", "ignore") for at in range(0, 80, 8)]
    names = [decode(data)[1].name for data in whole if not data.isascii()]
    assert names == ["cp1252"] * len(names)


@pytest.mark.parametrize("charset", ["mac_roman", "cp850", "cp437"])
def test_german_of_other_systems_is_not_taken_for_that_of_windows(charset: str) -> None:
    for at in range(0, 80, 8):
        whole = "\n".join(NOT_ASCII[at : at + 8]).encode(charset, "ignore").decode(charset)
        try:
            text, _ = decode(whole.encode(charset))
        except DamagedFile:
            continue
        assert text == whole


def test_every_text_format_has_a_file() -> None:
    assert set(BUILT) | DECIDED == {suffix for suffix in TEXTS if suffix in FORMATS}
    assert not set(BUILT) & DECIDED


@pytest.mark.parametrize("suffix", BUILT)
def test_every_text_format_says_how_it_was_read(suffix: str) -> None:
    data = BUILT[suffix].encode("cp1252")
    opened = open_file(data, f"a{suffix}", "de", 10_000)
    assert opened.texts[0].startswith("Schöne Grüße")
    assert [note.partition(":")[0] for note in opened.notes][:1] == [
        "read as Windows-1252, which the file does not declare"
    ]
    written = opened.write(opened.texts).decode("cp1252")
    assert "Grüße" in written


@pytest.mark.parametrize("suffix", BUILT)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("bom", [True, False])
def test_utf_16_is_read_with_its_mark_and_without(suffix: str, encoding: str, bom: bool) -> None:
    mark = (codecs.BOM_UTF16_LE if encoding == "utf-16-le" else codecs.BOM_UTF16_BE) * bom
    data = mark + BUILT[suffix].encode(encoding)
    if suffix not in (".md", ".csv", ".tsv", ".xliff", ".yaml", ".ftl"):
        assert suffix_by_content(data) == suffix
    opened = open_file(data, f"a{suffix}", "de", 10_000)
    assert bool(opened.notes) != bom
    written = opened.write([text + "\u010d" for text in opened.texts])
    assert written.startswith(mark)
    assert "\u010d" in written.decode(encoding) or "\\u010d" in written.decode(encoding)


@pytest.mark.parametrize("suffix", [".txt", ".md", ".csv", ".srt", ".yaml", ".ftl", ".strings"])
def test_characters_that_the_encoding_lacks_make_it_utf_8(suffix: str) -> None:
    opened = open_file(BUILT[suffix].encode("cp1252"), f"a{suffix}", "de", 10_000)
    written = opened.write([text + "\u010d" for text in opened.texts])
    assert written.startswith(codecs.BOM_UTF8)
    assert "\u010d" in written.decode("utf-8-sig")
    assert opened.notes[-1] == "written as UTF-8: Windows-1252 has no U+010D"


def test_characters_that_the_encoding_lacks_are_written_as_references_and_escapes() -> None:
    for suffix, reference in ((".html", "&#269;"), (".xliff", "&#269;"), (".json", "\\u010d")):
        opened = open_file(BUILT[suffix].encode("cp1252"), f"a{suffix}", "de", 10_000)
        assert reference.encode() in opened.write([text + "\u010d" for text in opened.texts])


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1252", "ISO-8859-15", "koi8-r", "utf-8"])
def test_a_page_is_read_in_the_encoding_that_it_declares(declared: str) -> None:
    word = "Привет" if declared == "koi8-r" else "Café"
    for head in (f"<meta charset={declared}>", f'<?xml version="1.0" encoding="{declared}"?>'):
        data = f"{head}<p>{word}</p>".encode(declared)
        opened = open_file(data, "a.html", "de", 1000)
        assert (list(opened.texts), opened.notes) == ([word], [])
        assert opened.write(opened.texts) == data


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"caf\xe9 \x81\x8d", "a.txt", r"no UTF-8 text \(byte 3\), and it is not certain"),
        (b"\xef\xbb\xbfcaf\xe9", "a.txt", r"no UTF-8 text \(byte 6\)"),
        (b"<meta charset=utf-8><p>caf\xe9", "a.html", r"no UTF-8 text, which it declares \(byte 26\)"),
        (b"abc\x00def", "a.txt", r"zero bytes \(byte 3\)"),
        (bytes(range(256)) * 4, "a.txt", "zero bytes"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 256)), "a.txt", "not certain"),
    ],
)
def test_what_cannot_be_read_says_why_and_where(data: bytes, name: str, message: str) -> None:
    with pytest.raises(DamagedFile, match=message):
        open_file(data, name, "de", 1000)


def test_encodings_are_found_in_linear_time() -> None:
    def run(text: str) -> None:
        for data in (text.encode("latin-1"), text.encode("utf-16-le")):
            try:
                decode(data)
            except DamagedFile:
                continue

    assert_linear(run, ("\xe4", "\xdf ", "a", "\n", "\xe9t\xe9 ", "\x00", "\x81", "\xa4\xa2"), count=12, ordinary=None)
