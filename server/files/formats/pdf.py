"""PDF files: their text becomes an HTML page of headings, paragraphs and lists. A PDF file cannot be written again: it
has places of letters and no text that could become longer."""

import html
from collections.abc import Iterator, Sequence

from server.files.formats.base import Budget, OpenedFile
from server.files.formats.pdf_text.lines import Lines, read_lines
from server.files.formats.pdf_text.paragraphs import Paragraph, paragraphs_of
from server.text.base.placeholders import PLACEHOLDER, without_placeholders


def open_pdf(data: bytes, language: str, budget: Budget) -> OpenedFile:
    lines = read_lines(data)
    paragraphs = paragraphs_of(lines.lines)
    texts = [without_placeholders(paragraph.text) for paragraph in paragraphs]
    for text in texts:
        budget.spend(text)

    def write(translations: Sequence[str]) -> bytes:
        if len(translations) != len(texts):
            raise ValueError(f"{len(translations)} translations of {len(texts)} texts")
        plain = [PLACEHOLDER.sub("", text).replace("\x00", "") for text in translations]
        return "".join(_page(paragraphs, plain, language)).encode("utf-8", errors="replace")

    return OpenedFile(texts, write, list(_notes(lines)))


def _notes(lines: Lines) -> Iterator[str]:
    yield "the text of the PDF file is in an HTML page: its layout and its pictures are not"
    if lines.num_left_out:
        yield f"{lines.num_left_out} running titles and page numbers were left out"
    if lines.num_empty_pages:
        yield f"{lines.num_empty_pages} pages have no text: they are empty or pictures"


def _page(paragraphs: Sequence[Paragraph], texts: Sequence[str], language: str) -> Iterator[str]:
    title = next((text for paragraph, text in zip(paragraphs, texts, strict=True) if paragraph.level), "")
    yield f'<!DOCTYPE html>\n<html lang="{html.escape(language)}">\n<head>\n<meta charset="utf-8">\n'
    yield f"<title>{html.escape(title)}</title>\n</head>\n<body>\n"
    is_in_list = False
    for paragraph, text in zip(paragraphs, texts, strict=True):
        if paragraph.is_item != is_in_list:
            is_in_list = paragraph.is_item
            yield "<ul>\n" if is_in_list else "</ul>\n"
        name = "li" if is_in_list else f"h{paragraph.level}" if paragraph.level else "p"
        yield f"<{name}>{html.escape(text, quote=False)}</{name}>\n"
    yield ("</ul>\n" if is_in_list else "") + "</body>\n</html>\n"
