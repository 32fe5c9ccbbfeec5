"""Headers and footers of an Excel sheet's pages: words are texts, codes stay."""

import html
import re
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.page_headers import header_texts
from tests.growth import assert_linear
from tests.server.files.formats.sheets import sheet, workbook
from tests.server.files.formats.test_spreadsheet import translated

LONGEST = 255


def header(raw: str, name: str = "oddHeader") -> bytearray:
    return bytearray(f'<sheet xmlns:x="y"><x:{name}>{escape(raw)}</x:{name}></sheet>'.encode())


def shown(data: bytearray) -> list[str]:
    """The texts, with [] in place of codes."""
    return ["".join(char if ord(char) < 0xF0000 else "[]" for char in text.text) for text in header_texts(data)]


def written(raw: str, translate: dict[str, str]) -> str:
    """The header after words were replaced."""
    data, end, parts = header(raw), 0, list[bytes]()
    for text in header_texts(data):
        translation = text.text
        for word, other in translate.items():
            translation = translation.replace(word, other)
        parts.append(bytes(data[end : text.start]))
        parts += (
            piece if isinstance(piece, bytes) else bytes(data[slice(*piece)]) for piece in text.written(translation)
        )
        end = text.end
    whole = b"".join([*parts, bytes(data[end:])]).decode()
    return html.unescape(whole[whole.index("Header>") + 7 : whole.rindex("</x:")])


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        ("&LSales report&CPage &P of &N&R&D", ["[]Sales report", "[]Page [] of []"]),
        ('&C&"Arial,Bold"&12&K01+000Draft', ["[][][][]Draft"]),
        ("Research && development", ["Research & development"]),
        ("&L&F&C&A&R&G", []),
        ("&L&&P&RYes", ["[]&P", "[]Yes"]),
        ("&LOne\ntwo", ["[]One\ntwo"]),
    ],
)
def test_words_are_read_and_codes_are_not(raw: str, texts: list[str]) -> None:
    assert shown(header(raw)) == texts


def test_translations_stand_between_the_codes() -> None:
    assert written("&LSales & more&CPage &P", {"Sales": "Verkauf & Einkauf"}) == "&LVerkauf && Einkauf && more&CPage &P"
    assert written("&C&12Year", {"Year": "2024"}) == "&C&12 2024"
    assert written("&LYes", {"Yes": "J" * 300}) == "&LYes"


PIECES = st.lists(
    st.sampled_from(
        ["&L", "&C", "&R", "&P", "&12", '&"Arial,Bold"', "&K00FF00", "&&", "&B", "word ", "\u00dc ", "5", "<"]
    )
)


@given(PIECES.map("".join))
def test_what_is_translated_into_itself_stays(raw: str) -> None:
    assert re.sub("(?<=[0-9]) ", "", written(raw, {})) == re.sub("(?<=[0-9]) ", "", raw)


@given(PIECES.map("".join), st.text("xyz&<5 ", min_size=1, max_size=200))
def test_no_header_becomes_too_long(raw: str, translation: str) -> None:
    after = written(raw, {"word": translation})
    assert len(after) <= max(LONGEST, len(raw) + 3)


def test_headers_stand_in_the_order_of_their_bytes_among_other_texts() -> None:
    body = (
        "<x:c t='inlineStr'><x:is><x:t>Cell</x:t></x:is></x:c>"
        "<x:headerFooter><x:oddHeader>&amp;LTop</x:oddHeader><x:oddFooter>End</x:oddFooter></x:headerFooter>"
    )
    after = translated(workbook({"xl/worksheets/sheet1.xml": sheet(body)}), str.upper)["xl/worksheets/sheet1.xml"]
    assert b">CELL<" in after
    assert b">&amp;LTOP<" in after
    assert b">END<" in after


def test_headers_are_read_in_linear_time() -> None:
    def read(text: str) -> None:
        list(header_texts(bytearray(f"<oddHeader>{text}</oddHeader>".encode())))

    assert_linear(read, ("&amp;", "&amp;&quot;", '&amp;"', "&amp;L", "a", "<oddHeader>", "&"), count=12, ordinary=None)
