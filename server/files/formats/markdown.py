"""Markdown: paragraphs, headings, list items, table cells and blocks of HTML are texts; code, formulas, addresses of
links and syntax stay, also the syntax of extensions (task lists, definitions, admonitions). The lines of a paragraph
are joined, as in a renderer."""

import re
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from server.files.formats.base import Budget, FileOptions, FileTooLarge, OpenedFile, decode
from server.files.formats.front_matter import front_matter
from server.files.formats.markdown_blocks import is_directive, kept_lines
from server.files.formats.markdown_containers import without_indents
from server.files.formats.markdown_inline import Paragraph, read_inline
from server.files.formats.markdown_references import (
    Title,
    labels_of_references,
    title_of_directive,
    titles_of_references,
)
from server.files.formats.template_lines import KEPT, without_tag_lines
from server.text.base.words import has_letters
from server.text.markup.markup import Markup, read_markup

BASE_TOKENS, CHARACTERS_PER_TOKEN = 100_000, 4
"""Lines and tokens (beginnings, ends and contents of blocks) that a file may have, plus one for every 4 permitted
characters; each takes 0.5 kB of memory."""
MAX_MISSES = 20
"""Cells that are not found in their row, after which the rest of the row is not searched."""
_TASK = re.compile(r"\[[ xX]\]\s+")
_DEFINITION = re.compile(r"[:~][ \t]+|\*\[[^\[\]\n]{1,100}+\]:[ \t]+")
"""Of a term, and of an abbreviation."""
_FORMULA = re.compile(r"\$\$[^$]*\$\$")
_LINE_END = re.compile(r"\r\n?|\n")
"""As the parser counts lines."""


class _Part(NamedTuple):
    """A part of the file from `start` to `end`, and its texts."""

    start: int
    end: int
    content: Paragraph | Markup | Title


def open_markdown(data: bytes, language: str, budget: Budget, options: FileOptions) -> OpenedFile:
    text, encoding = decode(data)
    front = front_matter(text, with_lines=True)
    encoding.notes.extend(front.notes)
    for source in front.texts:
        budget.spend(source)
    parts: list[_Part] = []
    languages = (options.source_language, language)
    for part in _parts(text, len(front.raw), BASE_TOKENS + budget.max_characters // CHARACTERS_PER_TOKEN, languages):
        parts.append(part)
        for source in part.content.texts:
            budget.spend(source)

    def write(translations: Sequence[str]) -> bytes:
        first = len(front.texts)
        written = [front.write(translations[:first], options.source_language, language)]
        end, remaining = len(front.raw), iter(translations[first:])
        for part in parts:
            translated = [next(remaining) for _ in part.content.texts]
            if isinstance(part.content, Paragraph) and translated == part.content.texts:
                continue
            written += (text[end : part.start], part.content.write(translated))
            end = part.end
        return encoding.encode("".join([*written, text[end:]]))

    texts = [*front.texts, *(source for part in parts for source in part.content.texts)]
    return OpenedFile(texts, write, encoding.notes)


class _Tokens(list[Any]):
    """A list of the parser's tokens with a maximum length. Raises FileTooLarge."""

    def __init__(self, max_length: int) -> None:
        super().__init__()
        self._max_length = max_length

    def append(self, token: Any) -> None:
        if len(self) >= self._max_length:
            raise FileTooLarge(
                f"the file has more than {self._max_length} beginnings and ends of blocks (paragraphs, list items,"
                " cells); split it into smaller files"
            )
        super().append(token)


def _blocks(text: str, max_tokens: int) -> tuple[Sequence[Any], dict[str, Any]]:
    """The parser's tokens of blocks, and its environment, with definitions of links. Inline syntax is not parsed:
    hostile texts would take quadratic time."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

    if text.count("\n") + text.count("\r") - text.count("\r\n") > max_tokens:
        raise FileTooLarge(f"the file has more than {max_tokens} lines; split it into smaller files")
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["inline", "text_join"])
    state = StateCore(text, parser, {})
    state.tokens = _Tokens(max_tokens)
    parser.core.process(state)
    return state.tokens, dict(state.env)


def _parts(text: str, offset: int, max_tokens: int, languages: tuple[str, str]) -> Iterator[_Part]:
    """Inline texts, blocks of HTML and titles from `offset` on, in order. A text that is not found at the lines that
    the parser gives stays untranslated."""
    read = text[:offset] + without_tag_lines(text[offset:])
    starts = [offset, *(end.end() for end in _LINE_END.finditer(read, offset)), len(read) + 1]
    tokens, environment = _blocks(without_indents(read[offset:]), max_tokens)
    titles = [_Part(*placed) for placed in titles_of_references(text, environment, starts)]
    yield from sorted([*titles, *_parts_of(text, read, starts, tokens, environment, languages)], key=itemgetter(0))


def _parts_of(
    text: str,
    read: str,
    starts: Sequence[int],
    tokens: Sequence[Any],
    environment: dict[str, Any],
    languages: tuple[str, str],
) -> Iterator[_Part]:
    """The parts of the parser's tokens. `starts`: where the lines begin that it has read."""
    offset, references = starts[0], labels_of_references(environment)
    cursor, row, misses, kept = offset, offset, 0, kept_lines(_LINE_END.split(text[offset:]))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.map is None or not has_letters(token.content) or _FORMULA.fullmatch(token.content):
            continue
        first, stop = starts[token.map[0]], min(starts[min(token.map[1], len(starts) - 1)], len(text))
        if token.type == "html_block" and token.map[0] in kept:
            continue
        if token.type == "html_block" and read[first:stop].strip() == token.content.strip():
            source, target = languages
            markup = read_markup(text[first:stop], language=target if source else None, source_language=source)
            yield _Part(first, stop, markup)
        row, misses = first, misses if row == first else 0
        if token.type != "inline" or misses > MAX_MISSES:
            continue
        is_cell = before is not None and before.type in ("th_open", "td_open")
        read_lines = (token.content.replace("|", "\\|") if is_cell else token.content).split("\n")
        content = [(line.lstrip(), token.map[0] + number in kept) for number, line in enumerate(read_lines)]
        places, titles = _find_lines(text, content, max(cursor, first), stop)
        misses += not places and not titles
        yield from (_Part(*title) for title in titles)
        for number, (start, end) in enumerate(places):
            box = None if number else _TASK.match(text, start, end)  # a task's "[ ]"
            begin = box.end() if box else start
            yield _Part(begin, end, read_inline(" ".join(map(str.strip, _LINE_END.split(text[begin:end]))), references))
            cursor = end


def _find_lines(
    text: str, content: Sequence[tuple[str, bool]], start: int, stop: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int, Title]]]:
    """(start, end) of the content's lines between `start` and `stop`, but for those that are kept. Consecutive lines
    are one place, unless there is a hard line break or the syntax of a quote, list or definition between them. No place
    when a line is not found. Also the titles of directives."""
    places: list[tuple[int, int]] = []
    titles: list[tuple[int, int, Title]] = []
    is_joined = False
    for line, is_kept in content:
        if line and not line.strip(KEPT):
            is_joined = False
            continue
        position = text.find(line, start, stop) if line else -1
        if position < 0:
            return [], []
        end = position + len(line)
        if is_kept or is_directive(line):
            title = None if is_kept else title_of_directive(line)
            titles += [(position, end, title)] if title else []
            is_joined, start = False, end
            continue
        if definition := _DEFINITION.match(line):
            is_joined, position, line = False, position + definition.end(), line[definition.end() :]
        bare = len(line.rstrip().removesuffix("\\"))
        is_hard = line.endswith(("\\", "  ")) or text[end : end + 2] == "  "
        if is_joined and not text[places[-1][1] : position].strip(" \t\r\n"):
            places[-1] = (places[-1][0], position + bare)
        else:
            places.append((position, position + bare))
        is_joined, start = not is_hard, end
    return places, titles
