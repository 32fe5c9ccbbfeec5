"""Xcode's string catalogues (.xcstrings): strings without a localization in the target language get one.

The source of a string is its localization in the source language or, where it has none, its key. The new localization
has the form of the source's (plurals, devices, substitutions) and the state `needs_review`; one that lacks forms gets
these. Strings that are stale or are not to be translated stay, and so does every other byte of the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from server.files.formats.base import Budget, DamagedFile, OpenedFile
from server.files.formats.spans import Span, opened, translated
from server.files.formats.strings.json_tree import JsonFile, Value, quoted, read_json
from server.files.formats.strings.languages import base_language
from server.text.base.words import has_letters

_UNIT = "stringUnit"
_STEP = "  "
_CASES = frozenset({"plural", "device", "width", "substitutions"})
"""Objects whose members are forms, of which a localization may have some only."""
_ELSE = "other"
_LONGEST_LINE = 500
"""Characters before a value in its line, at most, for its indentation."""
Pieces = list[str | int]
"""JSON, and the numbers of texts in whose place translations come."""


def open_xcstrings(data: bytes, language: str, budget: Budget) -> OpenedFile:
    file = read_json(data)
    source = file.string(file.root.get("sourceLanguage"))
    strings = file.root.get("strings")
    if source is None or strings is None:
        raise DamagedFile("the file is no string catalogue of Xcode: it has no sourceLanguage or no strings")
    spans = _Catalogue(file, source, language).spans(strings)
    return opened(file.text, file.encoding.encode, spans, budget, file.encoding.notes)


@dataclass(frozen=True)
class _Catalogue:
    file: JsonFile
    source: str
    language: str

    def spans(self, strings: Value) -> Iterator[Span]:
        for key, string in strings.members.items():
            if self._stays(string):
                continue
            if self._has_translation(string):
                yield from list(self._completed(key, string)) or [translated(string.start)]
            elif (span := self._localization(key, string)) is not None:
                yield span

    def _stays(self, string: Value) -> bool:
        """Whether a string is to have no translation."""
        should = string.get("shouldTranslate")
        if should is not None and self.file.text[should.start : should.end] == "false":
            return True
        if not self.file.text.startswith("{", string.start):
            return True
        return self.file.string(string.get("extractionState")) == "stale"

    def _has_translation(self, string: Value) -> bool:
        target = self._target(string)
        return target is not None and any(map(self._is_translated, _units(target)))

    def _is_translated(self, unit: Value) -> bool:
        return self.file.string(unit.get("state")) != "new" and bool(self.file.string(unit.get("value")))

    def _target(self, string: Value) -> Value | None:
        """The localization in the target language."""
        localizations = string.get("localizations")
        for code, localization in ({} if localizations is None else localizations.members).items():
            if base_language(code) == base_language(self.language) and code != self.source:
                return localization
        return None

    def _localization(self, key: str, string: Value) -> Span | None:
        """The span of a new localization: in place of an empty one, or after the others."""
        localizations, target = string.get("localizations"), self._target(string)
        around = string if localizations is None else localizations
        margin = self._margin(around)
        inner = margin + (_STEP if margin else "")
        last = list(around.members.values())[-1].end if around.members else around.start + 1
        before, after, place, start, end = "", "", margin, last, last
        if target is not None:
            start, end = target.start, target.end
        else:
            before = f"{',' if around.members else ''}{margin}"
            if localizations is None:
                before, after, place = f'{before}"localizations" : {{{inner}', f"{margin}}}", inner
            before += f"{quoted(self.language)} : "
        copy = _Copy(self.file)
        source = string.get("localizations", self.source)
        pieces = copy.of_key(key, place) if source is None else copy.of(source, place)

        def write(translations: Sequence[str]) -> str:
            made = (piece if isinstance(piece, str) else quoted(translations[piece]) for piece in pieces)
            return f"{before}{''.join(made)}{after}"

        return Span(start, end, tuple(copy.texts), write, is_added=True) if any(map(has_letters, copy.texts)) else None

    def _completed(self, key: str, string: Value) -> Iterator[Span]:
        """The spans of the forms that a localization lacks."""
        target = self._target(string)
        if target is not None:
            yield from self._filled(target, string.get("localizations", self.source), key)

    def _filled(self, target: Value, source: Value | None, text: str, has_forms: bool = False) -> Iterator[Span]:
        """The spans of the units inside of `target` that have no translation, and, in an object that `has_forms`, of
        the members of `source` that it lacks. `text`: what is translated where `source` has no text."""
        for key, member in target.members.items():
            inner = None if source is None else source.get(key)
            if inner is None and has_forms and source is not None:
                inner = source.get(_ELSE)
            if key == _UNIT:
                own = self.file.string(None if inner is None else inner.get("value"))
                if not self._is_translated(member) and has_letters(own or text):
                    yield from self._copied(member.start, member.end, "", own or text, self._line(member.start))
            elif self.file.text.startswith("{", member.start):
                if has_forms and inner is not None and not any(True for _ in _units(member)):
                    yield from self._copied(member.start, member.end, "", inner, self._line(member.start))
                else:
                    yield from self._filled(member, inner, text, key in _CASES)
        if not has_forms or source is None or not target.members:
            return
        last, margin = list(target.members.values())[-1].end, self._margin(target)
        for key, member in source.members.items():
            if key not in target.members and any(True for _ in _units(member)):
                yield from self._copied(last, last, f",{margin}{quoted(key)} : ", member, margin)

    def _copied(self, start: int, end: int, before: str, source: Value | str, margin: str) -> Iterator[Span]:
        """The span of a copy."""
        copy = _Copy(self.file)
        pieces = copy.unit(source, margin) if isinstance(source, str) else copy.of(source, margin)

        def write(translations: Sequence[str]) -> str:
            return before + "".join(
                piece if isinstance(piece, str) else quoted(translations[piece]) for piece in pieces
            )

        yield Span(start, end, tuple(copy.texts), write, is_added=True)

    def _line(self, at: int) -> str:
        """The line break and indentation of the line at `at`; "" in a file of one line."""
        start = self.file.text.rfind("\n", max(0, at - _LONGEST_LINE), at)
        if start < 0:
            return ""
        line = self.file.text[start + 1 : at]
        return "\n" + line[: len(line) - len(line.lstrip())]

    def _margin(self, around: Value) -> str:
        """What is before the first member of an object: a line break and its indentation."""
        inside = self.file.text[around.start + 1 : around.end]
        blanks = inside[: len(inside) - len(inside.lstrip())]
        if around.members or "\n" not in blanks:
            return blanks if "\n" in blanks else ""
        return f"{indentation}{_STEP}" if (indentation := self._line(around.start)) else ""


def _units(localization: Value) -> Iterator[Value]:
    for key, member in localization.members.items():
        if key == _UNIT:
            yield member
        else:
            yield from _units(member)


@dataclass(frozen=True)
class _Copy:
    """Copies a localization with translations in place of its values, the `texts`."""

    file: JsonFile
    texts: list[str] = field(default_factory=list)

    def of_key(self, key: str, margin: str) -> Pieces:
        """A localization whose source is the key of its string."""
        inner = margin + (_STEP if margin else "")
        return ["{", f'{inner}"{_UNIT}" : ', *self.unit(key, inner), f"{margin}}}"]

    def of(self, value: Value, margin: str) -> Pieces:
        """`margin`: the line break and indentation of the value's last line; empty in a file of one line."""
        if not value.members or not self.file.text.startswith("{", value.start):
            return [self.file.text[value.start : value.end]]
        inner = margin + (_STEP if margin else "")
        pieces: Pieces = ["{"]
        for number, (key, member) in enumerate(value.members.items()):
            text = self.file.string(member.get("value")) if key == _UNIT else None
            made = self.of(member, inner) if text is None else self.unit(text, inner)
            pieces += [f"{',' if number else ''}{inner}{quoted(key)} : ", *made]
        return [*pieces, f"{margin}}}"]

    def unit(self, text: str, margin: str) -> Pieces:
        self.texts.append(text)
        inner = margin + (_STEP if margin else "")
        return [f'{{{inner}"state" : "needs_review",{inner}"value" : ', len(self.texts) - 1, f"{margin}}}"]
