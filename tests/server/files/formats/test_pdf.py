"""The text of a PDF file comes back as a page, in its order, with its headings and whole words."""

import io
import random
import re
import zlib
from collections.abc import Callable

import pytest
from pypdf import PdfReader, PdfWriter

from server.files.formats.base import DamagedFile, OpenedFile
from server.files.formats.pdf_text.lines import Line
from server.files.formats.pdf_text.paragraphs import paragraphs_of
from server.files.formats.registry import open_file, translated_name
from tests.growth import Shape, assert_linear, check_growth
from tests.server.files.formats.files import pdf_of

BODY = (
    "The train to Hamburg leaves in ten minutes, and we walk home in the",
    "rain, while nobody minds how late it is.",
)


def opened(data: bytes) -> OpenedFile:
    return open_file(data, "a.pdf", "de", 100_000)


def drawn(*lines: tuple[float, float, str]) -> str:
    """Lines at heights from the bottom, with letters of a size, and their texts."""
    escaped = ((size, y, re.sub(r"([()\\])", r"\\\1", text)) for y, size, text in lines)
    return "".join(f"/F1 {size} Tf 1 0 0 1 50 {y} Tm ({text}) Tj\n" for size, y, text in escaped)


def page(number: int, *lines: str) -> str:
    """A page with a running title, lines, and its number."""
    texts = [(600 - 14 * place, 12, line) for place, line in enumerate(lines)]
    return drawn((780, 9, "The harbour news"), *texts, (20, 9, f"Page {number}"))


def test_headings_paragraphs_and_lists() -> None:
    text = drawn(
        (700, 24, "The harbour"), (660, 12, BODY[0]), (646, 12, BODY[1]), (620, 12, "A second para-"),
        (606, 12, "graph."), (580, 16, "Below"), (560, 12, "- One"), (546, 12, "- Two & <three>"),
    )  # fmt: skip
    file = opened(pdf_of(text))
    assert file.texts == ["The harbour", " ".join(BODY), "A second paragraph.", "Below", "One", "Two & <three>"]
    written = file.write([text.upper() for text in file.texts]).decode()
    assert '<html lang="de">' in written
    assert "<h1>THE HARBOUR</h1>\n<p>THE TRAIN" in written
    assert "<h2>BELOW</h2>\n<ul>\n<li>ONE</li>\n<li>TWO &amp; &lt;THREE&gt;</li>\n</ul>\n</body>" in written
    assert "HTML page" in file.notes[0]


def test_running_titles_and_page_numbers_are_left_out() -> None:
    lines = [f"Only page {number} has this line." for number in range(4)]
    file = opened(pdf_of(*(page(number, line) for number, line in enumerate(lines))))
    assert file.texts == lines
    assert any(note.startswith("8 running titles") for note in file.notes)


def titled(*titles: tuple[float, float, str]) -> OpenedFile:
    """A file of a page for each title, with its height and its size, above the same text."""
    lines = ((600, 12, BODY[0]), (586, 12, BODY[1]))
    return opened(pdf_of(*(drawn(title, *lines) for title in titles)))


@pytest.mark.parametrize(
    "titles",
    [
        ((780, 12, "The harbour news"), (780, 12, "The harbour news")),
        ((780, 12, "Bridges of wood 12"), (780, 12, "Bridges of stone 13")),
        ((780, 12, "7 | Bridges of wood"), (781, 12, "8 | Bridges of stone")),
        ((780, 12, "The news"), (780, 12, "Bridges 2"), (780, 12, "The news"), (780, 12, "Ferries 4")),
        ((20, 12, "wood \xb7 12"), (20, 12, "stone \xb7 13")),
    ],
)
def test_titles_of_two_pages_are_left_out(titles: tuple[tuple[float, float, str], ...]) -> None:
    assert titled(*titles).texts == [" ".join(BODY)] * len(titles)


@pytest.mark.parametrize(
    "titles",
    [
        ((780, 12, "The harbour news"), (760, 12, "The harbour news")),
        ((780, 12, "Bridges of wood 12"), (780, 12, "Bridges of stone 14")),
        ((780, 16, "Bridges"), (780, 16, "Bridges")),
        ((780, 16, "Chapter 1"), (780, 16, "Chapter 2")),
        ((780, 12, "12 people came."), (780, 12, "13 people came.")),
        ((700, 12, "The harbour news"), (700, 12, "The harbour news")),
    ],
)
def test_what_is_no_title_stays(titles: tuple[tuple[float, float, str], ...]) -> None:
    texts = titled(*titles).texts
    assert all(title in texts for _, _, title in titles)


def test_sentences_go_on_on_the_next_page() -> None:
    assert opened(pdf_of(drawn((300, 12, "We walk")), drawn((600, 12, "home.")))).texts == ["We walk home."]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (("Straßen-", "bahn"), "Straßenbahn"),
        (("Nord-", "und Südsee"), "Nord- und Südsee"),
        (("a well-known and well-", "known word"), "a well-known and well-known word"),
        (("Karl-", "Heinz"), "Karl- Heinz"),
        (("1990-", "1995"), "1990- 1995"),
    ],
)
def test_words_are_joined_at_hyphens(lines: tuple[str, str], text: str) -> None:
    read = [Line(0, line, 50, 600 - 14 * place, 12, False, 0.5) for place, line in enumerate(lines)]
    assert [paragraph.text for paragraph in paragraphs_of(read)] == [text]


@pytest.mark.parametrize("seed", range(20))
def test_no_line_is_lost(seed: int) -> None:
    """Whatever the places and sizes of the lines, all their words are in the texts, in their order."""
    chance = random.Random(seed)
    words = [f"word{number}x" for number in range(60)]
    rest, pages = list(words), []
    while rest:
        lines = []
        for _ in range(chance.randint(1, 9)):
            count = chance.randint(1, 6)
            text, rest = " ".join(rest[:count]) + chance.choice(("", ".", " -")), rest[count:]
            if text.strip(". -"):
                lines.append((chance.uniform(100, 700), chance.choice((9, 12, 12, 24)), text))
        pages.append(drawn(*lines) if lines else drawn((300, 12, "end")))
    assert re.findall(r"word\d+x", " ".join(opened(pdf_of(*pages)).texts)) == words


def encrypted() -> bytes:
    writer, file = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_of("(Yes) Tj")))), io.BytesIO()
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(file)
    return file.getvalue()


def bomb() -> bytes:
    """A page whose content is a thousand times as large as the file."""
    packed = zlib.compress(b" " * 200_000_000, 9)
    stream = b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(packed), packed)
    return re.sub(rb"<</Length \d+>>stream\n.*?\nendstream", lambda match: stream, pdf_of("(Yes) Tj"), flags=re.DOTALL)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pdf_of(""), "OCR"),
        (encrypted, "encrypted"),
        (lambda: b"%PDF-1.7 nothing", "no PDF file, or damaged"),
        (bomb, "damaged|OCR"),
    ],
)
def test_what_is_refused(make: Callable[[], bytes], message: str) -> None:
    with pytest.raises(DamagedFile, match=message):
        opened(make())


def test_the_name_says_that_it_is_a_page() -> None:
    assert translated_name("report.PDF", "de") == "report.de.html"


def test_a_line_of_any_words_is_read_in_linear_time() -> None:
    """Letters that are drawn beside each other are one word."""

    def read(text: str) -> None:
        paragraphs_of([Line(0, text or "a", 50, 700, 12, False, 0.5)])

    assert_linear(read, ("a", "a-", "-", "a ", ".", "1"), count=8, ordinary=None)
    check_growth(read, Shape(("a",), "repeated"), most=64_000)
