"""Characters and breaks that stand as elements inside of words and of sentences: read as text, written where the
translation has them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.registry import open_file
from tests.server.files.formats.files import docx_of
from tests.server.files.formats.odf_documents import opendocument
from tests.server.files.formats.small import LIMIT, texts
from tests.server.files.formats.test_office import parts_of

HYPHEN = "<w:noBreakHyphen/>"
JOINS = (HYPHEN, "</w:t>" + HYPHEN + "<w:t>", f"</w:t></w:r><w:r>{HYPHEN}</w:r><w:r><w:t>",
         f'</w:t></w:r><w:ins w:id="1"><w:r>{HYPHEN}</w:r></w:ins><w:r><w:t>')  # fmt: skip
_WORDS = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=4)


def word_of(letters: list[str], joins: list[str]) -> str:
    """A run of a word whose parts are joined by elements."""
    inside = "".join(part for pair in zip(letters, [*joins, ""], strict=True) for part in pair)
    return f"<w:r><w:t>{inside}</w:t></w:r>"


def document(data: bytes) -> str:
    return parts_of(data)["word/document.xml"].decode()


def seen(part: str) -> str:
    """The text with the hyphens that stand as elements."""
    body = part[part.index("<w:body>") :]
    return re.sub(r"<[^>]*>", "", body.replace(HYPHEN, "\u2011"))


@given(st.lists(_WORDS, min_size=1, max_size=5), st.data())
def test_words_with_hyphens_that_are_elements_are_read_and_written_as_words(
    words: list[list[str]], data: st.DataObject
) -> None:
    chosen = [data.draw(st.lists(st.sampled_from(JOINS[1:]), min_size=len(w) - 1, max_size=len(w) - 1)) for w in words]
    body = '<w:r><w:t xml:space="preserve"> </w:t></w:r>'.join(map(word_of, words, chosen))
    file = docx_of(f"<w:p>{body}</w:p>")
    whole = " ".join("\u2011".join(word) for word in words)
    assert texts(file, "a.docx") == [whole]
    opened = open_file(file, "a.docx", "de", LIMIT)
    assert opened.write(opened.texts) == file
    assert seen(document(opened.write([opened.texts[0].upper()]))) == whole.upper()
    if "\u2011" in whole:
        plain = document(opened.write([opened.texts[0].upper().replace("\u2011", "-")]))
        assert seen(plain) == whole.upper(), "models write plain hyphens"
        without = document(opened.write([opened.texts[0].upper().replace("\u2011", "")]))
        assert seen(without) == whole.upper().replace("\u2011", ""), "a translation without a hyphen has none"


@pytest.mark.parametrize(
    ("element", "read"),
    [
        ("<w:softHyphen/>", "naive"),
        ('<w:sym w:font="Calibri" w:char="00EF"/>', "na\u00efive"),
        ("<w:tab/>", "na\tive"),
        ("<w:ptab/>", "na\tive"),
        ("<w:cr/>", "na ive"),
        ('<w:br w:type="page"/>', "na\nive"),
    ],
)
def test_elements_inside_of_a_word(element: str, read: str) -> None:
    file = docx_of(f"<w:p><w:r><w:t>We are na</w:t>{element}<w:t>ive again.</w:t></w:r></w:p>")
    assert texts(file, "a.docx") == [f"We are {read} again."]
    opened = open_file(file, "a.docx", "de", LIMIT)
    after = document(opened.write([opened.texts[0].replace("again", "anew")]))
    assert after.count(element) == 1


def test_signs_of_fonts_of_signs_stay_signs() -> None:
    for sign in ('<w:sym w:font="Wingdings" w:char="0041"/>', '<w:sym w:font="Calibri" w:char="F041"/>'):
        file = docx_of(f"<w:p><w:r><w:t>One </w:t>{sign}<w:t> two</w:t></w:r></w:p>")
        opened = open_file(file, "a.docx", "de", LIMIT)
        assert "A" not in opened.texts[0]
        assert sign in document(opened.write(["EINS"]))


def test_a_line_break_alone_in_an_element_is_a_line_break() -> None:
    """Word writes one that was added under tracking so, LibreOffice each one in a presentation."""
    run, broken = "<w:r><w:t>{}</w:t></w:r>", '<w:ins w:id="1"><w:r><w:br/></w:r></w:ins>'
    span, line = "<text:span>{}</text:span>", "<text:span><text:line-break/></text:span>"
    for lines in (("The old", "harbour is far."), ("Our shop.", "We are open."), ("One.", "Two.", "Three.")):
        sizes = []
        for piece, mark, write in (
            (run, broken, docx_of),
            (span, line, opendocument),
            ("{}", "<text:line-break/>", opendocument),
        ):
            inside = mark.join(map(piece.format, lines))
            file = write(f"<w:p>{inside}</w:p>" if write is docx_of else f"<text:p>{inside}</text:p>")
            name = "a.docx" if write is docx_of else "a.odt"
            sizes.append(texts(file, name)[0])
            opened = open_file(file, name, "de", LIMIT)
            written = [text.upper() if text == opened.texts[0] else text for text in opened.texts]
            after = parts_of(opened.write(written))["word/document.xml" if write is docx_of else "content.xml"].decode()
            shown = re.sub(
                r"<[^>]*>", "", after[after.index("<w:p>" if write is docx_of else "<text:p>") :].replace(mark, "|")
            )
            assert [part.strip() for part in shown.split("|")] == [part.upper() for part in lines]
        assert len(set(sizes)) == 1, "every format reads the lines alike"
