"""Text files, which are translated like the text of a request. The lines of a paragraph that an editor has broken are
one text, and are broken again at the same width."""

import re
from collections.abc import Iterator, Sequence

from server.files.formats.base import Budget, OpenedFile, decode
from server.files.formats.mail.paragraphs import Flow, Paragraph, read_paragraphs
from server.files.formats.text_columns import with_columns
from server.text.base.words import has_letters

_FEWEST_LINES = 3
"""Of a broken paragraph: two lines may have their lengths by chance."""
_BLOCK = re.compile(r"(?:[^\r\n]++(?:\r\n|[\r\n]|\Z))++")
"""Lines without an empty one between them."""
_CANDIDATE = re.compile(r"(?<![^\r\n])[^\r\n]{30,80}(?:\r\n|[\r\n])[^\r\n]{30,80}(?:\r\n|[\r\n])[^\r\n]")
_END = re.compile(r"[.!?:;\u2026][\"'\u201d\u2019)]*+\s*\Z")
_COLUMNS = re.compile(r"\S {3,}\S")


def open_text(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encoding = decode(data)
    parts = list(_parts(text))
    texts = [part if isinstance(part, str) else part.text for part in parts]
    is_text = [len(parts) == 1 or has_letters(each) for each in texts]
    offered = [each for each, is_offered in zip(texts, is_text, strict=True) if is_offered]

    def write(translations: Sequence[str]) -> bytes:
        if len(translations) != len(offered):
            raise ValueError(f"{len(translations)} translations of {len(offered)} texts")
        remaining = iter(translations)
        written = []
        for part, is_offered in zip(parts, is_text, strict=True):
            translation = next(remaining) if is_offered else None
            if isinstance(part, str):
                written.append(part if translation is None else with_columns(part, translation))
            else:
                written.append(part.written(part.text if translation is None else translation, Flow()))
        return encoding.encode("".join(written))

    return OpenedFile(offered, write, encoding.notes)


def _parts(text: str) -> Iterator[str | Paragraph]:
    """The broken paragraphs, and what is between them; one part if there are none."""
    end = done = 0
    for block in _BLOCK.finditer(text):
        if not _CANDIDATE.search(block[0]):
            continue
        end = block.start()
        for part in read_paragraphs(block[0], Flow()):
            start = end
            end += len(part) if isinstance(part, str) else sum(len(line.raw) for line in part.lines)
            if isinstance(part, str) or not _is_broken(part):
                continue
            if start > done:
                yield text[done:start]
            yield part
            done = end
    if done < len(text) or not text:
        yield text[done:]


def _is_broken(paragraph: Paragraph) -> bool:
    """Whether an editor has broken its lines, most of them inside of a sentence."""
    *lines, _ = paragraph.lines
    if not paragraph.width or len(lines) + 1 < _FEWEST_LINES:
        return False
    num_ends = sum(_END.search(line.text) is not None for line in lines)
    return 2 * num_ends < len(lines) and not any(_COLUMNS.search(line.text) for line in paragraph.lines)
