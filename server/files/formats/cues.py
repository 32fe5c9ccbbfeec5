"""The texts of cues. A sentence that runs through several cues is one text, whose translation is cut again; times
before single words are distributed over the words of the translation."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from server.files.formats.subtitle_lines import share, wrap
from server.text.base.placeholders import PlaceholderText
from server.text.markup.character_references import unescape
from server.text.spans.placeholders import NOT_NAMED

MOST_CUES, MOST_CHARACTERS = 6, 400
"""Cues and characters of one sentence, at most."""
SHORT_WORD = 3
"""Letters of a word in small letters, at most, that ends no sentence: an article, a preposition."""

# Possessive quantifiers: no backtracking.
TAG = re.compile(
    rf"<{NOT_NAMED}(/?)([A-Za-z][\w.-]*+)[^<>\n]{{0,200}}+>|<[\d:.]{{1,20}}+>|\{{\\[^{{}}\n]{{0,200}}+\}}"
    r"|(?<![{$#%*@~])(?<![$#%*@~]!)\{[a-z]\}(?!\})|(?<!\{)\{/[a-z]\}(?!\})"  # "{i}", and not "${x}"
)
_TIME = re.compile(r"<[\d:.]{1,20}+>|\{\\[kK][fo]?\d{1,5}(?:\\[^{}\n]{0,200}+)?\}")
_CLASS = re.compile(r"</?c(?:\.[\w.-]*+)?>|\{\\[^{}\n]{0,200}+\}")
_TOGGLE = re.compile(r"\{\\([ibus])([01])\}")
"""The beginning or end of italics, bold, underlined or struck words."""
_OUTER = re.compile(r"(?:<i>|<b>|<u>|<c[.\w-]*+>|</i>|</b>|</u>|</c>|\{\\[^{}\n]{0,200}+\}|\s)*+")
_SPEAKER = ("-", "\u2013", "\u2014")
_OWN = ("[", "(", "\u266a", "\u266b", "#", ">>", *_SPEAKER)
"""What begins a cue of its own: a sound, a song, another speaker."""
_DESCRIPTION = re.compile(r"\s*(?:\[[^\[\]]*+\]|\([^()]*+\))\s*\Z")
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")


@dataclass(frozen=True)
class Cue:
    """A cue's lines without their ending, and the `settings` after its times."""

    body: str
    settings: str
    is_vtt: bool

    @property
    def lines(self) -> list[str]:
        return self.body.replace("\r", "").split("\n")

    def read(self, text: str) -> str:
        return unescape(text) if self.is_vtt else text

    def written(self, text: str) -> str:
        return html.escape(text, quote=False) if self.is_vtt else text


class Unit(Protocol):
    """One text of one or several cues."""

    text: str

    def bodies(self, translation: str) -> list[str]:
        """The bodies of the cues with a translation of the text."""


def units_of(cues: Sequence[Cue]) -> Iterator[tuple[int, Unit]]:
    """The texts of cues in their order, and how many cues each has."""
    at = 0
    while at < len(cues):
        timed = _timed(cues[at])
        if timed is not None:
            yield 1, timed
            at += 1
            continue
        joined = [_Inner(cues[at])]
        length = len(joined[0].text)
        while joined[-1].is_joinable and at + len(joined) < len(cues) and len(joined) < MOST_CUES:
            following = _Inner(cues[at + len(joined)])
            length += len(following.text)
            if length > MOST_CHARACTERS or not _continues(joined[-1], following):
                break
            joined.append(following)
        if len(joined) > 1:
            yield len(joined), _Joined(joined)
        else:
            yield 1, _Single(cues[at])
        at += len(joined)


class _Single:
    """A cue for itself, with placeholders for its tags. If a line after the first begins with a dash (another speaker),
    or a line is a description in brackets, line breaks stay."""

    def __init__(self, cue: Cue) -> None:
        self._cue = cue
        self._placeholder_text = PlaceholderText()
        lines = cue.lines
        keeps = any(line.lstrip().startswith(_SPEAKER[:2]) for line in lines[1:])
        keeps = keeps or (len(lines) > 1 and any(map(_DESCRIPTION.match, lines)))
        self._add(("\n" if keeps else " ").join(lines))
        self.text = self._placeholder_text.text

    def bodies(self, translation: str) -> list[str]:
        wrapped = translation if "\n" in translation else wrap(translation, len(self._cue.lines))
        return [self._placeholder_text.render(wrapped, self._cue.written)]

    def _add(self, text: str) -> None:
        placeholder_text, end = self._placeholder_text, 0
        for match in TAG.finditer(text):
            placeholder_text.add_text(self._cue.read(text[end : match.start()]))
            end = match.end()
            if toggle := _TOGGLE.fullmatch(match[0]):
                (placeholder_text.open if toggle[2] == "1" else placeholder_text.close)(toggle[1], match[0])
            elif match[2] is None:
                placeholder_text.add_standalone(match[0])
            elif match[1]:
                placeholder_text.close(match[2].partition(".")[0], match[0])
            else:
                placeholder_text.open(match[2].partition(".")[0], match[0])
        placeholder_text.add_text(self._cue.read(text[end:]))


class _Inner:
    """A cue as a part of a sentence: tags at its ends apart from its text. It is not `is_joinable` with tags inside."""

    def __init__(self, cue: Cue) -> None:
        self.cue = cue
        body = cue.body.replace("\r", "")
        outer = _OUTER.match(body)
        start = outer.end() if outer else 0
        end = len(body)
        while end > start and (tag := _last_tag(body, start, end)) is not None:
            end = tag
        self.before, self.inner, self.after = body[:start], body[start:end], body[end:]
        self.num_lines = self.inner.count("\n") + 1
        self.text = cue.read(" ".join(self.inner.split()))
        starts_own = any(line.lstrip().startswith(_OWN) for line in self.inner.split("\n"))
        self.is_joinable = bool(self.text) and not TAG.search(self.inner) and not starts_own

    def written(self, translation: str) -> str:
        return self.before + self.cue.written(wrap(translation, self.num_lines)) + self.after


def _last_tag(body: str, start: int, end: int) -> int | None:
    """Where the tag or the space begins that ends at `end`; None if there is none."""
    if body[end - 1].isspace():
        return end - 1
    opening = max(body.rfind("<", max(start, end - 8), end), body.rfind("{", max(start, end - 210), end))
    return opening if opening >= 0 and _OUTER.fullmatch(body, opening, end) else None


def _continues(before: _Inner, after: _Inner) -> bool:
    """Whether a sentence visibly runs from one cue into the next."""
    if not after.is_joinable or before.cue.settings != after.cue.settings or before.before != after.before:
        return False
    last, first = before.text[-1], after.text.lstrip("\"'\u201e\u201c\u2018\u2026.")[:1]
    if last in "?!:" or (last == "." and not before.text.endswith("...")):
        return False
    if first.islower():
        return True
    word = _LAST_WORD.search(before.text[-SHORT_WORD - 1 :])
    is_short = word is not None and word[0].islower() and len(word[0]) <= SHORT_WORD
    return (last in ",;" or is_short) and (first.isalnum() or not first)


class _Joined:
    """A sentence of several cues."""

    def __init__(self, parts: Sequence[_Inner]) -> None:
        self._parts = parts
        self._placeholder_text = PlaceholderText()
        self._placeholder_text.add_text(" ".join(part.text for part in parts))
        self.text = self._placeholder_text.text

    def bodies(self, translation: str) -> list[str]:
        rendered = self._placeholder_text.render(translation, str)
        shares = share(rendered, [len(part.text) for part in self._parts])
        return [part.written(text) for part, text in zip(self._parts, shares, strict=True)]


def _timed(cue: Cue) -> "_Timed | None":
    """A cue with times before its words; None for others."""
    body = cue.body.replace("\r", "")
    times = list(_TIME.finditer(body))
    if not times or any(not (_TIME.match(tag[0]) or _CLASS.match(tag[0])) for tag in TAG.finditer(body)):
        return None
    edges = [0, *(match.start() for match in times), len(body)]
    return _Timed(cue, [body[start:end] for start, end in pairwise(edges)])


class _Timed:
    """A cue with times before its words: the translation's words are distributed over the chunks between times."""

    def __init__(self, cue: Cue, chunks: Sequence[str]) -> None:
        self._cue, self._chunks = cue, chunks
        self._texts = [TAG.sub("", chunk) for chunk in chunks]
        self._placeholder_text = PlaceholderText()
        self._placeholder_text.add_text(cue.read(" ".join("".join(self._texts).split())))
        self.text = self._placeholder_text.text

    def bodies(self, translation: str) -> list[str]:
        rendered = self._placeholder_text.render(translation, str)
        with_words = [number for number, text in enumerate(self._texts) if text.strip()]
        num_words = len(rendered.split())
        filled = with_words[: max(1, num_words)]
        is_whole = len(filled) == len(with_words) and bool(num_words)
        last = filled[-1] if filled and not is_whole else len(self._chunks)
        shares = iter(share(rendered, [len(self._texts[number].strip()) for number in filled]))
        written: list[str] = []
        for number, (chunk, text) in enumerate(zip(self._chunks, self._texts, strict=True)):
            inner = text if number <= last else ""  # what has no words any more has no spaces round them
            if number <= last and text.strip():
                words, end = self._cue.written(next(shares)), text[len(text.rstrip()) :]
                inner = text[: len(text) - len(text.lstrip())] + words + (end if number < last else "")
            written.append(_with_text(chunk, inner))
        return ["".join(written)]


def _with_text(chunk: str, text: str) -> str:
    """The chunk with other text between its tags: after the last tag that stands before its text."""
    tags = list(TAG.finditer(chunk))
    num_before = end = 0
    for tag in tags:
        if chunk[end : tag.start()].strip():
            break
        num_before += 1
        end = tag.end()
    written = [tag[0] for tag in tags]
    return "".join([*written[:num_before], text, *written[num_before:]])
