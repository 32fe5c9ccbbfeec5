"""CSV: the cells of the columns that hold language are texts; all other characters stay.

By default, columns of keys stay ("menu.open", "ERROR_DISK"), and so does a first row that names the columns for
programs ("id", "text"). A client may say which columns are translated; then a first row that has their names stays.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from server.files.formats.base import Budget, DamagedFile, FileOptions, OpenedFile, decode
from server.files.formats.constants import is_formula
from server.files.formats.delimiters import delimiter_of
from server.files.formats.spans import Span, opened
from server.text.base.words import has_letters

MAX_COLUMNS = 1000
"""Columns that are checked for keys; others are translated."""
_LONGEST_OPTION = 2000
_LONGEST_KEY = 200
_KEY_CHARACTERS = re.compile(r"[\w$.:-]++\Z", re.ASCII)
_INSIDE_OF_KEYS = re.compile(r"[\w$][.:_]+[\w$]|^_|[a-z][A-Z]|[A-Za-z][0-9]", re.ASCII)
"""What words of a language do not have: "menu.open", "error_disk", "openFile", "item1"."""
_NAME = re.compile(r"[a-z][\w.:-]*\Z|[a-z]{2}-[A-Z]{2}\Z", re.ASCII)
_NAMES_FOR_PROGRAMS = frozenset({
    "id", "key", "keys", "text", "string", "source", "target", "msgid", "msgctxt", "translation", "value", "context",
    "locale", "lang", "language", "code", "slug", "field", "de", "en",
})  # fmt: skip
_NAMES_OF_KEYS = frozenset({"id", "key", "keys", "msgid", "slug", "handle", "sku", "guid", "parent"})
_NAMES_OF_SHOPS = frozenset({
    "id", "sku", "handle", "slug", "guid", "ean", "gtin", "body (html)", "variant sku", "product id", "parent id",
    "meta: description", "post_title", "post_content", "post_name", "short description", "variant price",
})  # fmt: skip
"""Names of which a row with two names columns for a program: exports of shops and of content management systems."""
_KEYS_NOTE = "columns that hold keys were kept: "
_NAMES_NOTE = "the first row names the columns and was kept"


class _Cell(NamedTuple):
    """A cell, quotes included."""

    row: int
    column: int
    start: int
    end: int
    raw: str

    @property
    def text(self) -> str:
        return self.raw[1:-1].replace('""', '"') if _is_quoted(self.raw) else self.raw


def open_csv(data: bytes, language: str, budget: Budget, options: FileOptions) -> OpenedFile:
    """The delimiter is detected (`delimiter_of`). `options.columns`: "text,3", or "!id" for all others."""
    whole, encoding = decode(data)
    delimiter, start = delimiter_of(whole)
    first = _first_row(whole, delimiter, start)
    if options.columns:
        chosen = _Columns.parse(options.columns, first)
        notes = []
    else:
        chosen = _default(whole, delimiter, start, first)
        notes = chosen.notes()

    needs_quotes = re.compile(rf'"|[^{re.escape(delimiter)}\r\n]*+[{re.escape(delimiter)}\r\n]').match

    def quoted(translations: Sequence[str]) -> str:
        return '"' + translations[0].replace('"', '""') + '"'

    def plain(translations: Sequence[str]) -> str:
        return quoted(translations) if needs_quotes(translations[0]) else translations[0]

    def spans() -> Iterator[Span]:
        for cell in _cells(whole, delimiter, start):
            if chosen.has(cell) and has_letters(cell.raw) and not is_formula(cell.text):
                write = quoted if _is_quoted(cell.raw) else plain
                yield Span(cell.start, cell.end, (cell.text,), write)

    file = opened(whole, encoding.encode, spans(), budget, encoding.notes)
    file.notes.extend(notes)
    return file


class _Columns(NamedTuple):
    """Which columns are translated, from 0, or with `excludes`, which are not."""

    columns: frozenset[int]
    excludes: bool
    has_names: bool
    """Whether the first row names the columns."""

    @classmethod
    def parse(cls, option: str, first: Sequence[str]) -> "_Columns":
        """Raises DamagedFile for a column that the table does not have."""
        if len(option) > _LONGEST_OPTION:
            raise DamagedFile(f"columns: at most {_LONGEST_OPTION} characters are taken")
        names = [name.strip() for name in next(csv.reader([option.replace("\n", " ").replace("\r", " ")]), [])]
        names = [name for name in names if name]
        excludes = bool(names) and all(name.startswith("!") for name in names)
        bare = [name.removeprefix("!").strip() if excludes else name for name in names]
        places = {name.casefold(): index for index, name in reversed(list(enumerate(first)))}
        columns = set[int]()
        for name in bare:
            if (index := places.get(name.casefold())) is None:
                index = int(name) - 1 if name.isascii() and name.isdigit() and len(name) < 6 else -1
                if not 0 <= index < len(first):
                    raise DamagedFile(f"columns: there is no column {name!r}; the first row is: {_listed(first)}")
            columns.add(index)
        has_names = any(name.casefold() in places for name in bare) or _names_columns(first)
        return cls(frozenset(columns), excludes, has_names)

    def has(self, cell: _Cell) -> bool:
        return (cell.column in self.columns) != self.excludes and not (self.has_names and cell.row == 0)

    def notes(self) -> list[str]:
        notes = (
            [_KEYS_NOTE + ", ".join(str(column + 1) for column in sorted(self.columns)[:10])] if self.columns else []
        )
        return notes + [_NAMES_NOTE] * self.has_names


def _default(whole: str, delimiter: str, start: int, first: Sequence[str]) -> _Columns:
    """All columns but those whose cells, after the first row, are keys. The first row names columns if it stands over
    keys and is none, or has names as programs give them."""
    are_keys: dict[int, bool] = {}
    num_rows = 0
    of_keys = (
        {column for column, name in enumerate(first) if name.lower() in _NAMES_OF_KEYS}
        if _names_columns(first)
        else set[int]()
    )
    for cell in _cells(whole, delimiter, start):
        num_rows = cell.row + 1
        if not cell.row or cell.column >= MAX_COLUMNS or are_keys.get(cell.column) is False:
            continue
        if has_letters(cell.raw):
            is_named = cell.column in of_keys and _KEY_CHARACTERS.match(cell.text.strip()) is not None
            are_keys[cell.column] = is_named or _is_key(cell.text)
    if num_rows == 1:
        are_keys = {column: _is_key(text) for column, text in enumerate(first[:MAX_COLUMNS])}
    keys = {column for column, is_key in are_keys.items() if is_key}
    over_keys = (first[column] for column in keys if column < len(first))
    has_names = num_rows > 1 and (_names_columns(first) or any(not _is_key(name) for name in over_keys))
    if len(keys) == len(are_keys):  # a list of such words only: nothing else would be translated
        keys = set()
    return _Columns(frozenset(keys), excludes=True, has_names=has_names)


def _is_key(text: str) -> bool:
    bare = text.strip()
    if len(bare) > _LONGEST_KEY or not _KEY_CHARACTERS.match(bare):
        return False
    return _INSIDE_OF_KEYS.search(bare) is not None


def _names_columns(first: Sequence[str]) -> bool:
    names = [name for name in first if name]
    if sum(name.lower() in _NAMES_OF_SHOPS for name in names) > 1:
        return True
    return all(map(_NAME.match, names)) and any(name.lower() in _NAMES_FOR_PROGRAMS for name in names)


def _listed(first: Sequence[str]) -> str:
    shown = ", ".join(name[:40] for name in first[:20])
    return shown + (", ..." if len(first) > 20 else "")


def _first_row(whole: str, delimiter: str, start: int) -> list[str]:
    """The texts of the first row, as many as it has columns up to the last that is not empty."""
    texts: list[str] = []
    for cell in _cells(whole, delimiter, start):
        if cell.row or cell.column >= MAX_COLUMNS:
            break
        texts += [""] * (cell.column - len(texts))
        texts.append(cell.text.strip())
    return texts


def _cells(whole: str, delimiter: str, start: int) -> Iterator[_Cell]:
    """The cells that are not empty, without the blanks beside quotes. A quote that does not end at the end of its cell
    is a character like others. Empty lines are no rows."""
    stop, blanks = re.escape(delimiter), "[ ]*+" if delimiter == "\t" else r"[ \t]*+"
    delimiters = f"[{stop}]++" if stop else "(?!)"
    quoted, plain = rf'{blanks}("[^"]*+(?:""[^"]*+)*+"){blanks}(?=[{stop}\r\n]|\Z)', rf"([^{stop}\r\n]++)"
    row = column = 0
    for match in re.compile(rf"({delimiters})|([\r\n]++)|{quoted}|{plain}").finditer(whole, start):
        kind = match.lastindex
        if kind == 1:
            column += match.end() - match.start()
        elif kind == 2:
            row, column = row + (match.start() > start), 0
        elif kind:
            yield _Cell(row, column, *match.span(kind), match[kind])


def _is_quoted(raw: str) -> bool:
    return len(raw) > 1 and raw.startswith('"') and raw.endswith('"')
