"""Markdown: paragraphs, headings, list items, table cells and blocks of HTML are texts; code, formulas, addresses of
links and syntax stay, also the syntax of extensions (task lists, definitions, admonitions). The lines of a paragraph
are joined, as in a renderer."""

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from server.files.formats.base import Budget, FileOptions, FileTooLarge, OpenedFile, decode
from server.files.formats.front_matter import front_matter
from server.files.formats.markdown_blocks import is_directive, kept_lines
from server.files.formats.markdown_labels import Label, labels_of, with_labels
from server.files.formats.template_lines import KEPT, without_tag_lines
from server.text.base.placeholders import PlaceholderText
from server.text.base.words import has_letters
from server.text.markup.markup import Markup, read_markup
from server.text.spans.table import TEMPLATE, add_template

BASE_TOKENS, CHARACTERS_PER_TOKEN = 100_000, 4
"""Lines and tokens (beginnings, ends and contents of blocks) that a file may have, plus one for every 4 permitted
characters; each takes 0.5 kB of memory."""
MAX_MISSES = 20
"""Cells that are not found in their row, after which the rest of the row is not searched."""
_LONGEST_CODE = 2000
_TASK = re.compile(r"\[[ xX]\]\s+")
_DEFINITION = re.compile(r"[:~][ \t]+|\*\[[^\[\]\n]{1,100}+\]:[ \t]+")
"""Of a term, and of an abbreviation."""
_FORMULA = re.compile(r"\$\$[^$]*\$\$")
_INLINE = re.compile(
    r"(?P<ticks>`++)"  # code
    r"|(?P<lone>!\[[^\[\]\n]{0,500}+\]\((?:data:[^()\s]*+|[^()\n]{0,1000}+)\)"  # an image
    r"|\\[!-/:-@\[-`{-~]"  # an escaped character
    r"|\${2}[^$]{1,1000}\${2}|(?<![\w$])\$(?=[^\s$])[^$\n]{1,300}(?<=\S)\$(?![\w$])"  # a formula
    r"|<[A-Za-z!/][^<>]{0,1000}+>"  # HTML, an address
    r"|\[\^[^\[\]\n]{1,100}+\])"  # a footnote
    rf"|(?P<template>{TEMPLATE.pattern})"
    r"|(?P<link>\[)(?=[^\[\]]{1,1000}+\](?:\([^()\n]{0,1000}+\)|\[[^\]\n]{0,200}+\]))"
    r"|(?P<unlink>\](?:\([^()\n]{0,1000}+\)|\[[^\]\n]{0,200}+\]))"
    r"|(?P<emphasis>\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~|==)",
    re.DOTALL,
)


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph, or a part of one; `labels` of its images and links by their placeholders."""

    placeholder_text: PlaceholderText
    labels: dict[str, list[Label]] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        return [self.placeholder_text.text, *(label.text for labels in self.labels.values() for label in labels)]

    def write(self, translations: Sequence[str]) -> str:
        translation, *others = translations
        raw = dict(self.placeholder_text.raw)
        for placeholder, labels in self.labels.items():
            own, others = others[: len(labels)], others[len(labels) :]
            raw[placeholder] = with_labels(raw[placeholder], labels, own)
        return replace(self.placeholder_text, raw=raw).render(translation, str)


_LINE_END = re.compile(r"\r\n?|\n")
"""As the parser counts lines."""


class _Part(NamedTuple):
    """A part of the file from `start` to `end`, and its texts."""

    start: int
    end: int
    content: _Paragraph | Markup


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


def _blocks(text: str, max_tokens: int) -> Sequence[Any]:
    """The parser's tokens of blocks. Inline syntax is not parsed: hostile texts would take quadratic time."""
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

    if text.count("\n") + text.count("\r") - text.count("\r\n") > max_tokens:
        raise FileTooLarge(f"the file has more than {max_tokens} lines; split it into smaller files")
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["inline", "text_join"])
    state = StateCore(text, parser, {})
    state.tokens = _Tokens(max_tokens)
    parser.core.process(state)
    return state.tokens


def _parts(text: str, offset: int, max_tokens: int, languages: tuple[str, str]) -> Iterator[_Part]:
    """Inline texts and blocks of HTML from `offset` on. A text that is not found at the lines that the parser gives
    stays untranslated."""
    read = text[:offset] + without_tag_lines(text[offset:])
    starts = [offset, *(end.end() for end in _LINE_END.finditer(read, offset)), len(read) + 1]
    cursor, row, misses, kept = offset, offset, 0, kept_lines(_LINE_END.split(text[offset:]))
    for token in _blocks(read[offset:], max_tokens):
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
        content = [
            (line.lstrip(), token.map[0] + number in kept) for number, line in enumerate(token.content.split("\n"))
        ]
        places = _find_lines(text, content, max(cursor, first), stop)
        misses += not places
        for number, (start, end) in enumerate(places):
            box = None if number else _TASK.match(text, start, end)  # a task's "[ ]"
            begin = box.end() if box else start
            yield _Part(begin, end, _read(" ".join(map(str.strip, _LINE_END.split(text[begin:end])))))
            cursor = end


def _find_lines(text: str, content: Sequence[tuple[str, bool]], start: int, stop: int) -> list[tuple[int, int]]:
    """(start, end) of the content's lines between `start` and `stop`, but for those that are kept. Consecutive lines
    are one place, unless there is a hard line break or the syntax of a quote, list or definition between them. Empty
    when a line is not found."""
    places: list[tuple[int, int]] = []
    is_joined = False
    for line, is_kept in content:
        if line and not line.strip(KEPT):
            is_joined = False
            continue
        position = text.find(line, start, stop) if line else -1
        if position < 0:
            return []
        end = position + len(line)
        if is_kept or is_directive(line):
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
    return places


def _read(content: str) -> _Paragraph:
    placeholder_text, end = PlaceholderText(), 0
    code, labels = _CodeSpans(content), dict[str, list[Label]]()
    while match := _INLINE.search(content, end):
        placeholder_text.add_text(content[end : match.start()])
        end = match.end()
        if match["ticks"]:
            start, end = code.after(*match.span())
            placeholder_text.add_text(content[match.start() : start])
            if end > start:
                placeholder_text.add_standalone(content[start:end])
        elif match["lone"]:
            placeholder_text.add_standalone(match[0])
            if match[0].startswith("!") and (found := list(labels_of(match[0]))):
                labels[placeholder_text.parts[-1]] = found
        elif match["template"]:
            add_template(placeholder_text, match[0])
        elif match["link"]:
            placeholder_text.open("link", match[0])
        elif match["unlink"]:
            placeholder_text.close("link", match[0])
            if found := list(labels_of(match[0])):
                labels[placeholder_text.parts[-1]] = found
        else:
            _emphasis(placeholder_text, match, content)
    placeholder_text.add_text(content[end:])
    return _Paragraph(placeholder_text, labels)


class _CodeSpans:
    """Code spans: each ends at the next run of backticks of the same length."""

    def __init__(self, content: str) -> None:
        self._runs: dict[int, list[int]] = {}  # length -> starts
        for run in re.finditer("`+", content):
            self._runs.setdefault(len(run[0]), []).append(run.start())

    def after(self, start: int, end: int) -> tuple[int, int]:
        """(start, end) of the code span, backticks included, that begins in the run of backticks from `start` to `end`.
        If no run has the same length, the span begins with fewer of them. (end, end) without a span."""
        for length in range(end - start, 0, -1):
            starts = self._runs.get(length, ())
            index = bisect.bisect_left(starts, end)
            if index < len(starts) and 0 < starts[index] - end <= _LONGEST_CODE:
                return end - length, starts[index] + length
        return end, end


def _emphasis(placeholder_text: PlaceholderText, match: re.Match[str], content: str) -> None:
    """Emphasis opens before a word and closes after one; elsewhere its characters are text."""
    before, after = content[match.start() - 1 : match.start()], content[match.end() : match.end() + 1]
    if before.strip() and placeholder_text.has_open(match[0]):
        placeholder_text.close(match[0], match[0])
    elif after.strip():
        placeholder_text.open(match[0], match[0])
    else:
        placeholder_text.add_text(match[0])
