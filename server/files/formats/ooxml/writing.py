"""Writes what a paragraph holds for a translation: every mark and span once, text between them."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import cast

from server.files.formats.ooxml.content import Atom, Format, Item, Mark, Run, Span
from server.files.formats.ooxml.layout import laid_out
from server.files.formats.ooxml.nodes import ESCAPED_RETURN, SHEET, WORD
from server.files.formats.xml_files import Elements, valid_text
from server.text.base.placeholders import split_at_placeholders

Piece = bytes | tuple[int, int]
"""Bytes to write, or a piece of the part that is written as it is, but for what is translated inside of it."""
_BREAKS = re.compile("([\t\n\x0b\x0c\r])")
_LANGUAGE = re.compile(
    rb"""(<(?:[\w.-]+:)?lang\s(?:[^>]*?\s)?(?:[\w.-]+:)?val\s*=\s*|^<[^>]*?\slang\s*=\s*)(?:"[^"]*"|'[^']*')"""
)
_HYPHEN, _HYPHENS = "-", ("\u2010", "\u2011")
_HYPHEN_IN_WORD = r"(?<=\w)-(?=\w)"
_LINKS = ("hlinkClick", "hlinkMouseOver")

_Token = str | Mark | Span | Format


class Tokens:
    """A translation as a list of texts, of marks, and of the two ends of spans and formats."""

    def __init__(
        self,
        translation: str,
        elements: Elements,
        breaks: Sequence[Mark],
        characters: Sequence[Mark] = (),
        keeps_lines: bool = False,
    ) -> None:
        """`breaks` are what its line feeds and tabs stand for, in their order; `keeps_lines`: others are text.
        `characters` are what is written in place of those that it has, in their order."""
        self._tokens: list[_Token] = []
        waiting = list(reversed(breaks))
        replaced = _Characters(translation, characters)
        for part in split_at_placeholders(translation):
            element = elements.get(part)
            if element is not None:
                self._tokens.append(cast(Mark | Span | Format, element))
                continue
            for text in _BREAKS.split(part):
                is_break = bool(_BREAKS.fullmatch(text))
                if is_break and waiting and (not keeps_lines or waiting[-1].character == text):
                    self._tokens.append(waiting.pop())
                elif is_break and not keeps_lines:
                    self._tokens.append(" ")
                else:
                    self._tokens += replaced.tokens_of(text)

    def add_hidden(self, hidden: Sequence[tuple[int, Mark]], length: int) -> None:
        """Add marks at the ends of words: as far from the beginning as they are in the text of `length` characters."""
        if not hidden:
            return
        texts = [token if isinstance(token, str) else "" for token in self._tokens]
        factor = sum(map(len, texts)) / max(1, length)
        tokens: list[_Token] = []
        waiting = [(round(offset * factor), mark) for offset, mark in reversed(hidden)]
        seen = 0
        for token, text in zip(self._tokens, texts, strict=True):
            at = 0
            while text and waiting and waiting[-1][0] < seen + len(text):
                end = text.find(" ", max(at, waiting[-1][0] - seen))
                end = len(text) if end < 0 else end
                tokens += (text[at:end], waiting.pop()[1])
                at = end
            tokens.append(token if not text else text[at:])
            seen += len(text)
        self._tokens = [*tokens, *(mark for _, mark in reversed(waiting))]

    def places(self) -> dict[int, tuple[int, int]]:
        """By the id of what is no text, the indices of its first and of its last token."""
        places: dict[int, tuple[int, int]] = {}
        for index, token in enumerate(self._tokens):
            if not isinstance(token, str):
                places[id(token)] = places.get(id(token), (index, 0))[0], index
        return places

    def lengths(self) -> list[int]:
        """The number of characters before every token, and before the end."""
        return [0, *accumulate(len(token) if isinstance(token, str) else 0 for token in self._tokens)]

    def runs(self, plain: Run) -> dict[int, tuple[Run, str]]:
        """By its index, every text and the run that it looks like. A link without text has an empty one."""
        runs: dict[int, tuple[Run, str]] = {}
        is_open: dict[Format, bool] = {}
        """The formats of which one token came, the last one last, and whether they have text."""
        ends = {identity: last for identity, (first, last) in self.places().items() if last > first}
        for index, token in enumerate(self._tokens):
            if isinstance(token, str) and token:
                last = next(reversed(is_open), None)
                runs[index] = plain if last is None else last.run, token
                if last is not None:
                    is_open[last] = True
            elif isinstance(token, Format):
                if index < ends.get(id(token), 0):
                    is_open.setdefault(token, False)
                elif not is_open.pop(token, False) and _is_link(token.run):
                    runs[index] = token.run, ""
        return runs

    def __len__(self) -> int:
        return len(self._tokens)


class _Characters:
    """Characters of a translation that are written as elements."""

    def __init__(self, translation: str, marks: Sequence[Mark]) -> None:
        self._waiting: dict[str, list[Mark]] = {}
        for mark in reversed(marks):
            character = mark.character
            if character in _HYPHENS and character not in translation:
                character = _HYPHEN  # models write any hyphen
            self._waiting.setdefault(character, []).append(mark)
        signs = "".join(character for character in self._waiting if character != _HYPHEN)
        in_words = [_HYPHEN_IN_WORD] if _HYPHEN in self._waiting else []
        patterns = [*in_words, *([f"[{re.escape(signs)}]"] if signs else [])]
        self._pattern = re.compile(f"({'|'.join(patterns)})") if patterns else None

    def tokens_of(self, text: str) -> Iterator[str | Mark]:
        if self._pattern is None:
            yield text
            return
        for part in self._pattern.split(text):
            waiting = self._waiting.get(part)
            yield waiting.pop() if waiting else part


class Writer:
    """Writes one paragraph of the part `data`. Text that is `plain` looks like that run."""

    def __init__(self, data: bytearray, tokens: Tokens, plain: Run, language: str) -> None:
        self._data, self._language, self._end = data, language.encode(), len(tokens)
        self._places, self._lengths, self._runs = tokens.places(), tokens.lengths(), tokens.runs(plain)
        self._indices = list(self._runs)
        self._run: Run | None = None
        """The run that is being written, and the text that it will have next."""
        self._text: str | None = None

    def marks(self, items: Sequence[Item]) -> Iterator[Piece]:
        """These, as they are."""
        for item in items:
            yield from self._atoms(item.atoms)
        yield from self._close()

    def items(self, items: Sequence[Item]) -> Iterator[Piece]:
        """These, with the whole translation among them."""
        yield from self._inside(items, 0, self._end)
        yield from self._close()

    def _inside(self, items: Sequence[Item], start: int, end: int) -> Iterator[Piece]:
        for placed in laid_out(items, self._places, self._lengths, start, end):
            yield from self._texts(start, placed.start)
            start = max(start, placed.end)
            if isinstance(placed.item, Mark):
                yield from self._atoms(placed.item.atoms)
                continue
            yield from self._atoms(placed.item.opening)
            yield from self._inside(placed.item.items, placed.start, placed.end)
            yield from self._close()
            yield from self._atoms(placed.item.closing)
        yield from self._texts(start, end)

    def _texts(self, start: int, end: int) -> Iterator[Piece]:
        number = bisect_right(self._indices, start - 1)
        while number < len(self._indices) and self._indices[number] < end:
            run, text = self._runs[self._indices[number]]
            number += 1
            if self._run is None or self._run.visible_format != run.visible_format or not self._run.text_name:
                yield from self._open(run)
            self._text = (self._text or "") + text

    def _atoms(self, atoms: Sequence[Atom]) -> Iterator[Piece]:
        for atom in atoms:
            if atom.run is None:
                yield from self._close()
            elif atom.run is not self._run:
                yield from self._open(atom.run)
            else:
                yield from self._written_text()
            yield atom.start, atom.end

    def _open(self, run: Run) -> Iterator[Piece]:
        yield from self._close()
        self._run = run
        yield bytes(self._data[run.node.start : run.node.inner])
        if run.properties is not None:
            yield self._in_language(bytes(self._data[run.properties.start : run.properties.end]))

    def _in_language(self, properties: bytes) -> bytes:
        return _LANGUAGE.sub(lambda match: match[1] + b'"' + self._language + b'"', properties)

    def _written_text(self) -> Iterator[Piece]:
        if self._text is not None and self._run is not None:
            name = self._run.text_name
            text = valid_text(self._text)
            is_spaced = self._run.node.kind in (WORD, SHEET) and text != " ".join(text.split())
            space = b' xml:space="preserve"' if is_spaced else b""
            if self._run.node.kind == SHEET:
                text = text.replace("\r", ESCAPED_RETURN)
            written = html.escape(text, quote=False).encode()
            yield b"<" + name + space + b">" + written + b"</" + name + b">" if name else written
        self._text = None

    def _close(self) -> Iterator[Piece]:
        yield from self._written_text()
        if self._run is not None:
            yield bytes(self._data[self._run.node.inner_end : self._run.node.end])
        self._run = None


def _is_link(run: Run) -> bool:
    return run.properties is not None and any(child.name in _LINKS for child in run.properties.children or ())
