"""Every format: nothing translated is the file itself, and real readers find translations in their places."""

import csv
import html
import io
import itertools
import json
import zipfile
from pathlib import Path
from typing import Any, Literal

import docx
import pptx
import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from server.files.formats.base import DamagedFile, FileError, FileTooLarge, NoText, UnsupportedFile
from server.files.formats.registry import FORMATS, open_file, suffix_of, translated_name
from server.text.base.placeholders import is_placeholder
from server.text.markup.character_references import unescape
from tests.server.files.formats.files import xliff_of
from tests.server.files.formats.small import CSV, JSON, LIMIT, SRT, VTT, XLIFF, XLIFF2, shout, texts, translated


@pytest.mark.parametrize(("text", "name"), [(SRT, "a.srt"), (VTT, "a.vtt"), (CSV, "a.csv"), (JSON, "a.json")])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_nothing_translated_is_the_file_itself(text: str, name: str, mark: bytes) -> None:
    data = mark + text.encode()
    assert translated(data, name, str) == data


def test_text_is_the_text() -> None:
    data = b"\xff\xfe" + "Hello.\r\n\r\nYou \u00e9.".encode("utf-16-le")
    assert texts(data, "a.TXT") == ["Hello.\r\n\r\nYou \u00e9."]
    assert translated(data, "a.txt", str) == data


def test_subtitles() -> None:
    assert texts(SRT.encode(), "a.srt") == ["Hello big world, it goes on.", "- Who?\n- Me."]
    subtitles = pysubs2.SSAFile.from_string(translated(SRT.encode(), "a.srt").decode(), "srt")
    assert [(cue.start, cue.plaintext) for cue in subtitles] == [
        (1000, "HELLO BIG WORLD,\nIT GOES ON."),
        (3000, "- WHO?\n- ME."),
    ]
    written = translated(VTT.encode(), "a.vtt").decode()
    assert written == VTT.replace("Hello &amp; bye", "HELLO &amp; BYE")
    crlf = SRT.replace("\n", "\r\n").encode()
    assert translated(crlf, "a.srt").decode() == translated(SRT.encode(), "a.srt").decode().replace("\n", "\r\n")


def test_references_of_any_length_are_read() -> None:
    cue = f"WEBVTT\n\n00:01.000 --> 00:02.000\n&#{'0' * 5000}65; &#{'9' * 5000}; &#{'9' * 99}; &#66; &#67 &amp;\n"
    assert texts(cue.encode(), "a.vtt") == ["A \ufffd \ufffd B C &"]
    page = f"<p title='a&#{'9' * 5000};'>a &#{'0' * 5000}66; &#{'9' * 5000};</p>"
    for name in ("a.html", "a.md"):
        assert texts(page.encode(), name) == ["a B \ufffd", "a\ufffd"]


@pytest.mark.parametrize("digits", ["", "0", "00065", "0" * 120 + "65", "8364", "1114111", "1114112", "9" * 200])
def test_references_are_read_as_by_html(digits: str) -> None:
    for text in (f"a &#{digits}; b", f"&#{digits}", f"&amp;#{digits};", f"&#x{digits};"):
        assert unescape(text) == html.unescape(text)


def test_references_of_zeros_alone_are_read() -> None:
    assert unescape(f"&#{'0' * 5000};") == html.unescape("&#0;")


def test_xliff() -> None:
    root = etree.fromstring(translated(XLIFF.encode(), "a.xlf"))
    targets = {unit.get("id"): unit.find("{*}target") for unit in root.iter("{*}trans-unit")}
    assert (
        etree.tostring(targets["1"])
        .decode()
        .split(">", 1)[1]
        .startswith('HELLO <g id="1">BIG</g> <x id="2"/>WORLD</target>')
    )
    assert targets["2"].text == "Fertig"
    assert targets["3"] is None
    assert root.find("{*}file").get("target-language") == "de"
    second = etree.fromstring(translated(XLIFF2.encode(), "a.xliff"))
    assert second.get("trgLang") == "de"
    assert b'HELLO <pc id="1">BIG</pc> WORLD' in etree.tostring(second)


TRANSLATE_VALUES = (None, "yes", "no")


def test_a_unit_inherits_the_nearest_translate_attribute() -> None:
    """All combinations of the attribute of two nested groups and a unit."""

    def attr(value: str | None) -> str:
        return "" if value is None else f' translate="{value}"'

    body, expected = "", []
    for number, around in enumerate(itertools.product(TRANSLATE_VALUES, TRANSLATE_VALUES, TRANSLATE_VALUES)):
        outer, inner, unit = around
        body += (
            f"<group{attr(outer)}><group{attr(inner)}><trans-unit{attr(unit)}><source>text {number}</source>"
            f"</trans-unit></group></group>"
        )
        if next((value for value in reversed(around) if value is not None), "yes") == "yes":
            expected.append(f"text {number}")
    assert texts(xliff_of(body), "a.xlf") == expected
    assert len(expected) == 14


def test_spans_with_translate_no_stay_as_they_are() -> None:
    unit = '<source>Hello <g id="1" translate="no">Keep Me</g> and <mrk translate="yes">me</mrk></source>'
    data = xliff_of(f"<trans-unit>{unit}</trans-unit>")
    assert texts(data, "a.xlf") == ["Hello  and me"]
    target = etree.fromstring(translated(data, "a.xlf")).find(".//{*}target")
    assert "".join(target.itertext()) == "HELLO Keep Me AND ME"


@pytest.mark.parametrize("count", range(1, 7))
@pytest.mark.parametrize("form", ["a.srt", "a.vtt"])
def test_a_cue_keeps_its_number_of_lines(count: int, form: str) -> None:
    """Of about the same length, and fewer where the translation has too few words."""
    lines = "\n".join(["some text"] * count)
    data = f"WEBVTT\n\n00:00:01,000 --> 00:00:02,000\n{lines}\n".encode()
    for words in (1, 2, 3, 12, 31):
        text = " ".join(["word"] * words)
        written = translated(data, form, lambda _, text=text: text).decode()  # type: ignore[misc]
        cue = written.split("02,000\n")[1].rstrip("\n").split("\n")
        assert " ".join(cue) == text
        assert len(cue) == min(count, words)
        assert max(map(len, cue)) - min(map(len, cue)) <= len("word ") + 1


cells = st.text(st.sampled_from("ab .,;|\t\"'!"), max_size=9)


@settings(deadline=None)
@given(
    delimiter=st.sampled_from(",;\t|"),
    columns=st.integers(2, 5),
    rows=st.lists(st.lists(cells, min_size=5, max_size=5), max_size=6),
    all_quoted=st.booleans(),
)
def test_the_delimiter_is_found_whatever_cells_hold(
    delimiter: str, columns: int, rows: list[list[str]], all_quoted: bool
) -> None:
    """Cells in quotation marks may have any; others may have other delimiters, as long as one line has its own only."""
    table = [[f"head{number}" for number in range(columns)], *(row[:columns] for row in rows)]
    table.append(["two words"] * columns)  # without which cells with points may be a column of keys
    if all_quoted:
        table[0] = [f"head{number} ,,,;;;\t\t\t|||" for number in range(columns)]
    packed = io.StringIO()
    quoting: Literal[0, 1] = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    csv.writer(packed, delimiter=delimiter, lineterminator="\n", quoting=quoting).writerows(table)
    data = packed.getvalue().encode()
    assert texts(data, "a.csv") == [cell for row in table for cell in row if any(map(str.isalpha, cell))]
    written = list(csv.reader(io.StringIO(translated(data, "a.csv").decode()), delimiter=delimiter))
    assert written == [[cell.upper() for cell in row] for row in table]


def test_tables() -> None:
    rows = list(csv.reader(io.StringIO(translated(CSV.encode(), "a.csv").decode()), delimiter=";"))
    assert rows == [["id", "text"], ["1", 'HELLO; "YOU"'], ["2", "PLAIN WORDS"], ["3", ""]]
    commas = translated(CSV.encode(), "a.csv", lambda text: text + '; "x"').decode()
    assert list(csv.reader(io.StringIO(commas), delimiter=";"))[2][1] == 'plain words; "x"'


def test_json() -> None:
    written = json.loads(translated(JSON.encode(), "a.json"))
    assert written == {"key": 'HELLO \u00c9 "YOU"', "n": [1, True, "TWO", ""]}


def test_long_numbers_of_json_are_not_parsed() -> None:
    data = b'{"n": ' + b"9" * 100_000 + b', "f": 0.' + b"1" * 100_000 + b', "t": "text"}'
    assert translated(data, "a.json") == data.replace(b'"text"', b'"TEXT"')


def word_file() -> bytes:
    document = docx.Document()
    document.add_heading("A title", 1)
    paragraph = document.add_paragraph("The ")
    paragraph.add_run("big").bold = True
    paragraph.add_run(" dog")
    paragraph.add_run(" ran.")
    paragraph.add_run().add_break()
    paragraph.add_run("A new line\twith a tab.")
    document.add_table(1, 2).cell(0, 1).text = "In a cell"
    document.sections[0].header.paragraphs[0].text = "The header"
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()


def slides() -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "A title"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    paragraph.add_run().text = "The "
    run = paragraph.add_run()
    run.text, run.font.bold = "big", True
    paragraph.add_run().text = " dog"
    slide.notes_slide.notes_text_frame.text = "A note"
    packed = io.BytesIO()
    presentation.save(packed)
    return packed.getvalue()


def test_word() -> None:
    data = word_file()
    assert set(texts(data, "a.docx")) == {
        "A title",
        "The big dog ran.\nA new line\twith a tab.",
        "In a cell",
        "The header",
    }

    def turned(text: str) -> str:
        """The bold word first."""
        parts = text.partition("\n")[0]
        placeholders = [part for part in parts if is_placeholder(part)]
        return f"{placeholders[0]}GROSS{placeholders[1]} der Hund\nneu\tTab." if placeholders else shout(text)

    document = docx.Document(io.BytesIO(translated(data, "a.docx", turned)))
    paragraph = document.paragraphs[1]
    assert document.paragraphs[0].text == "A TITLE"
    assert document.paragraphs[0].style is not None
    assert document.paragraphs[0].style.name == "Heading 1"
    assert paragraph.text == "GROSS der Hund\nneu\tTab."
    assert [run.text for run in paragraph.runs if run.bold] == ["GROSS"]
    assert document.tables[0].cell(0, 1).text == "IN A CELL"
    assert document.sections[0].header.paragraphs[0].text == "THE HEADER"


def test_slides() -> None:
    data = slides()
    assert texts(data, "a.pptx") == ["A note", "A title", "The big dog"]
    slide = pptx.Presentation(io.BytesIO(translated(data, "a.pptx"))).slides[0]
    assert slide.shapes.title.text == "A TITLE"
    assert [(run.text, run.font.bold) for run in slide.placeholders[1].text_frame.paragraphs[0].runs] == [
        ("THE ", None),
        ("BIG", True),
        (" DOG", None),
    ]
    assert slide.notes_slide.notes_text_frame.text == "A NOTE"


def bomb() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(300):
            part.write(bytes(2**20))
    return packed.getvalue()


def entities() -> bytes:
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE x [<!ENTITY e0 "x">{lines}]><xliff><source>&e11;</source></xliff>'.encode()


@pytest.mark.parametrize(
    ("data", "name", "error", "message"),
    [
        (word_file()[:-300], "a.docx", DamagedFile, "broken off"),
        (b"PK\x03\x04 no archive", "a.docx", DamagedFile, "no Word file"),
        (slides(), "a.docx", DamagedFile, "no word/document.xml"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.pptx", DamagedFile, "encrypted or older"),
        (b"<xliff><source>", "a.xliff", DamagedFile, "no well-formed XML"),
        (b"<html></html>", "a.xliff", DamagedFile, "its root is <html>"),
        (b'{"a": ', "a.json", DamagedFile, "no JSON"),
        (b"[" * 100_000, "a.json", DamagedFile, "no JSON"),
        (b"no subtitles", "a.srt", DamagedFile, "no subtitles"),
        (b"1\n", "a.vtt", DamagedFile, "WEBVTT"),
        (b"no catalogue\n", "a.po", DamagedFile, "no gettext catalogue: line 1 "),
        (b'msgid "a"\nmsgid "b"\n', "a.po", DamagedFile, "before line 2 a msgstr is missing"),
        (b'msgstr "a"\n', "a.po", DamagedFile, "line 1 has a msgstr without its msgid"),
        (b'msgid "a"\n# c\n"b"\nmsgstr ""', "a.po", DamagedFile, "line 3 belongs to no"),
        (b'msgid "a"\n', "a.po", DamagedFile, "its last message has no msgstr"),
        (b"caf\x81\x8d", "a.txt", DamagedFile, "save it as UTF-8"),
        (b"\x00\x01", "a.txt", DamagedFile, "zero bytes"),
        (b"x", "a.exe", UnsupportedFile, "files that end in .exe"),
        (b"x" * (LIMIT + 1), "a.txt", FileTooLarge, "at most 1000000"),
    ],
)
def test_errors_of_bad_files_have_the_reason(data: bytes, name: str, error: type[FileError], message: str) -> None:
    with pytest.raises(error, match=message):
        open_file(data, name, "de", LIMIT)


FEW = 16_000
MANY = 1000 + FEW // 16 + 1
"""One text more than a file may have."""


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"a,b\n" * (MANY // 2 + 1), "a.csv"),
        (b"[" + b'"a",' * MANY + b'"a"]', "a.json"),
        (b"00:00:01,000 --> 00:00:02,000\na\n\n" * MANY, "a.srt"),
        (b"WEBVTT\n\n" + b"00:01.000 --> 00:02.000\n1\n\n" * MANY, "a.vtt"),
        (b"a\n\n" * MANY, "a.md"),
        (b"<p>a" * MANY, "a.html"),
        (b'msgid "a"\nmsgstr ""\n\n' * MANY, "a.po"),
        (b"<xliff>" + b"<segment><source>a</source></segment>" * MANY + b"</xliff>", "a.xliff"),
    ],
)
def test_very_many_short_texts_are_refused(data: bytes, name: str) -> None:
    with pytest.raises(FileTooLarge, match=r"too many .*at most 2000 are taken.*split it"):
        open_file(data, name, "de", FEW)


def test_a_thousand_texts_are_taken_however_few_characters_are() -> None:
    assert len(open_file(b"a,b\n" * 500, "a.csv", "de", 1000).texts) == 1000


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"- 1\n" * 110_000, "a.md"),
        (b"1\n\n" * 110_000, "a.md"),
        (b"> > > > > > - 1\n\n" * 20_000, "a.md"),
        (b"<b>" * 120_000, "a.html"),
        (b"<xliff>" + b"<x a='' b=''/>" * 200_000 + b"</xliff>", "a.xliff"),
    ],
)
def test_more_syntax_than_belongs_to_so_few_characters_is_refused(data: bytes, name: str) -> None:
    with pytest.raises(FileTooLarge, match=r"more than .*split it into smaller files"):
        open_file(data, name, "de", FEW)


def test_bombs_are_not_unpacked() -> None:
    with pytest.raises(FileTooLarge, match="unpacked"):
        open_file(bomb(), "a.docx", "de", LIMIT)
    with pytest.raises(DamagedFile, match="declares entities"):
        open_file(entities(), "a.xliff", "de", LIMIT)


def test_a_password_is_reported() -> None:
    data = bytearray(word_file())
    place = data.index(b"PK\x01\x02")
    while place >= 0:
        data[place + 8] |= 1
        place = data.find(b"PK\x01\x02", place + 1)
    with pytest.raises(DamagedFile, match=r"without a? ?password|broken off"):
        open_file(bytes(data), "a.docx", "de", LIMIT)


EMPTY = {
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), "no Word file"),
    **dict.fromkeys((".pptx", ".pptm", ".potx", ".ppsx"), "no PowerPoint file"),
    **dict.fromkeys((".odt", ".odp", ".ods", ".odg", ".ott", ".otp", ".ots"), "no OpenDocument file"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx"), "no Excel file"),
    ".epub": "no EPUB file", ".eml": "no mail", ".pdf": "no PDF file", ".idml": "no InDesign file",
    ".json": "no JSON", ".vtt": "no WEBVTT at its start",
    **dict.fromkeys((".xliff", ".xlf", ".resx", ".ts", ".xml", ".tmx", ".tbx"), "the file is empty"),
    ".arb": "no JSON", ".xcstrings": "no JSON",
}  # fmt: skip
"""What an empty file is told to be, by its format, if more is said than that it has no text."""
NOTHING = {
    ".csv": b"1,2\n3,4\n", ".tsv": b"1\t2\n", ".txt": b"12:30\n", ".md": b"```\ncode\n```\n", ".json": b'{"a": 1}',
    ".html": b"<p>1</p><pre>code</pre>", ".srt": b"1\n00:00:01,000 --> 00:00:02,000\n...\n", ".vtt": b"WEBVTT\n",
    ".po": b'msgid ""\nmsgstr "Language: \\n"\n', ".xliff": b"<xliff version='2.0'/>",
}  # fmt: skip
"""Files without text."""


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_an_empty_file_of_every_format_is_refused(suffix: str) -> None:
    with pytest.raises(FileError, match=EMPTY.get(suffix, f"no text was found in a{suffix}")):
        open_file(b"", f"a{suffix}", "de", LIMIT)


@pytest.mark.parametrize("suffix", NOTHING)
def test_a_file_without_text_is_refused(suffix: str) -> None:
    with pytest.raises(NoText, match=f"no text was found in a{suffix}: "):
        open_file(NOTHING[suffix], f"a{suffix}", "de", LIMIT)


def test_the_page_of_formats_has_every_format() -> None:
    page = (Path(__file__).parents[4] / "server/files/FORMATS.md").read_text(encoding="utf-8")
    assert [suffix for suffix in FORMATS if f"{suffix}`" not in page] == []


def test_names() -> None:
    assert translated_name("report.docx", "de") == "report.de.docx"
    sniffed: list[tuple[Any, str]] = [
        (word_file(), ".docx"), (slides(), ".pptx"), (VTT.encode(), ".vtt"), (XLIFF.encode(), ".xliff"),
        (b"<!DOCTYPE html><p>", ".html"), (b"Hello", ".txt"),
    ]  # fmt: skip
    assert [suffix_of("file", data) for data, _ in sniffed] == [suffix for _, suffix in sniffed]
