"""Fluent (.ftl): the patterns of messages and of their attributes are texts, and so is each variant of a selector.

Placeables stay as they are, in the translation. Comments, terms (names of products, and their grammar) and attributes
that are keys or styles are not translated.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fluent.syntax import FluentParser, ast

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.files.formats.spans import Span, opened
from server.text.base.placeholders import PlaceholderText, nested, split_at_placeholders
from server.text.base.words import has_letters

_NO_TEXTS = frozenset({"accesskey", "commandkey", "key", "keycode", "style"})
"""Attributes of messages that no reader sees as text."""
_SHOWN_TERMS = 10
_WRAPPED = re.compile(r"(?<=[\w,])\n(?=[a-z])")
"""A line break inside of a sentence."""
_LITERAL = re.compile(r"[{}]|\r")
_INDENT = re.compile(r"[ ]*+")


def open_ftl(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encoding = decode(data)
    terms: list[str] = []
    file = opened(text, encoding.encode, _patterns(text, terms), budget, encoding.notes)
    if terms:
        shown = ", ".join(terms[:_SHOWN_TERMS]) + (", ..." if len(terms) > _SHOWN_TERMS else "")
        encoding.notes.append(f"the terms of the file were not translated ({len(terms)}): {shown}")
    return file


def _patterns(text: str, terms: list[str]) -> Iterator[Span]:
    """The texts; `terms` gets the names of the terms. Raises DamagedFile."""
    try:
        resource = FluentParser(with_spans=True).parse(text)
    except RecursionError:
        raise DamagedFile("the file has placeables too deep inside each other") from None
    for entry in resource.body:
        if isinstance(entry, ast.Junk):
            line = text.count("\n", 0, _place(entry.annotations[0])[0]) + 1
            raise DamagedFile(f"the file is no Fluent file: line {line}: {entry.annotations[0].message}")
        if isinstance(entry, ast.Term):
            terms.append(f"-{entry.id.name}")
        if isinstance(entry, ast.Message):
            shown = [attribute for attribute in entry.attributes if attribute.id.name not in _NO_TEXTS]
            for pattern in (entry.value, *(attribute.value for attribute in shown)):
                if pattern is not None and (span := _span(text, pattern)) is not None:
                    yield span


def _span(text: str, pattern: ast.Pattern) -> Span | None:
    read = _Pattern.of(text, pattern)
    texts = tuple(read.texts())
    return Span(read.start, read.end, texts, lambda translations: read.write(iter(translations))) if texts else None


@dataclass
class _Selector:
    """A placeable with variants, whose patterns are written anew."""

    start: int
    end: int
    variants: list["_Pattern"]


@dataclass
class _Pattern:
    """A pattern of a file `text`, with placeholders for its placeables."""

    text: str
    start: int
    end: int
    placeholder_text: PlaceholderText = field(default_factory=PlaceholderText)
    selectors: dict[str, _Selector] = field(default_factory=dict)
    """By placeholder."""

    @classmethod
    def of(cls, text: str, pattern: ast.Pattern) -> "_Pattern":
        read = cls(text, *_place(pattern))
        for element in pattern.elements:
            if isinstance(element, ast.TextElement):
                read.placeholder_text.add_text(_WRAPPED.sub(" ", element.value))
                continue
            start, end = _place(element)
            read.placeholder_text.add_standalone(text[start:end])
            if (select := _select_of(element)) is not None:
                variants = [cls.of(text, variant.value) for variant in select.variants]
                read.selectors[read.placeholder_text.parts[-1]] = _Selector(start, end, variants)
        return read

    def texts(self) -> Iterator[str]:
        """Its text, unless that has no letters, and those of its variants."""
        if has_letters(self.placeholder_text.text):
            yield self.placeholder_text.text
        for selector in self.selectors.values():
            for variant in selector.variants:
                yield from variant.texts()

    def write(self, translations: Iterator[str]) -> str:
        """With the next of `translations`, as many as it has texts."""
        source = self.placeholder_text.text
        own = next(translations) if has_letters(source) else source
        written = {
            placeholder: self._with_parts(selector.start, selector.end, selector.variants, translations)
            for placeholder, selector in self.selectors.items()
        }
        if own == source:
            places = [(selector.start, selector.end) for selector in self.selectors.values()]
            return _spliced(self.text, self.start, self.end, places, list(written.values()))
        raw = {**self.placeholder_text.raw, **written}
        parts = nested(split_at_placeholders(own))
        return self._joined([(raw.get(part), part) for part in parts])

    def _with_parts(self, start: int, end: int, patterns: Sequence["_Pattern"], translations: Iterator[str]) -> str:
        written = [pattern.write(translations) for pattern in patterns]
        return _spliced(self.text, start, end, [(pattern.start, pattern.end) for pattern in patterns], written)

    def _joined(self, parts: Sequence[tuple[str | None, str]]) -> str:
        """The pattern of placeables (first of a pair) and texts (second)."""
        line = self.text.rfind("\n", 0, self.start) + 1
        is_block = 0 < line == self.start  # the pattern begins with the blanks of its first line
        indent = _indent_of(self.text, line) + ("" if is_block else "    ")
        newline = "\r\n" if self.text.endswith("\r\n", 0, line) else "\n"
        made: list[str] = [indent] if is_block else []
        at_start = True
        for number, (raw, part) in enumerate(parts):
            made.append(
                raw if raw is not None else _escaped(part, at_start, number == len(parts) - 1, newline + indent)
            )
            at_start = False
        return "".join(made) if parts else '{""}'


def _place(node: ast.SyntaxNode) -> tuple[int, int]:
    span = node.span
    if span is None:
        raise ValueError("the parser gave no spans")
    return span.start, span.end


def _select_of(placeable: ast.Placeable) -> ast.SelectExpression | None:
    expression = placeable.expression
    while isinstance(expression, ast.Placeable):
        expression = expression.expression
    return expression if isinstance(expression, ast.SelectExpression) else None


def _indent_of(text: str, start: int) -> str:
    match = _INDENT.match(text, start)
    return "" if match is None else match[0]


def _spliced(text: str, start: int, end: int, places: Sequence[tuple[int, int]], contents: Sequence[str]) -> str:
    """`text` from `start` to `end`, with `contents` in these `places`."""
    parts: list[str] = []
    for (first, last), content in zip(places, contents, strict=True):
        parts += (text[start:first], content)
        start = last
    return "".join([*parts, text[start:end]])


def _escaped(text: str, is_first: bool, is_last: bool, line_break: str) -> str:
    """A text of a pattern. What has a meaning at its place, and blanks that a parser would remove, become literals."""
    made: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        begins, ends = number > 0 or is_first, is_last and number == len(lines) - 1
        if not line and (ends or (is_first and number == 0)):
            made.append('{""}')
            continue
        start = len(line) - len(line.lstrip(" ")) if begins else 0
        start = start or int(begins and line.startswith(("[", "*", ".")))
        last = max(start, len(line.rstrip(" "))) if ends else len(line)
        before, after = (f'{{"{part}"}}' if part else "" for part in (line[:start], line[last:]))
        made.append(f"{before}{_LITERAL.sub(_literal, line[start:last])}{after}")
    blank = line_break.rstrip(" ")
    inner = [f"{line_break if part else blank}{part}" for part in made[1:-1]]
    return "".join([made[0], *inner, *(line_break + part for part in made[1:][-1:])])


def _literal(match: re.Match[str]) -> str:
    return '{"\\u000D"}' if match[0] == "\r" else f'{{"{match[0]}"}}'
