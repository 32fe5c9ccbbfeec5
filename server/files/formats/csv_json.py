"""CSV and JSON: every cell and every string value is a text; all other bytes of the file stay."""

import json
import re
from collections.abc import Callable, Iterable, Sequence

from server.files.formats.base import Budget, DamagedFile, Encoding, OpenedFile, decode
from server.files.formats.delimiters import first_rows, is_even
from server.text.base.words import has_letters

_JSON_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*+:)?', re.DOTALL)


def open_csv(data: bytes, language: str, budget: Budget) -> OpenedFile:
    """The delimiter is detected: comma, semicolon, tab or bar."""
    text, encoding = decode(data)
    delimiter = _delimiter(text)
    escaped = re.escape(delimiter)
    cell = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"{escaped}\r\n][^{escaped}\r\n]*+))')

    def read(match: re.Match[str]) -> str:
        return match[2] if match[1] is None else match[1].replace('""', '"')

    def write(match: re.Match[str], translation: str) -> str:
        if match[1] is None and not any(special in translation for special in (delimiter, '"', "\n", "\r")):
            return translation
        return '"' + translation.replace('"', '""') + '"'

    return _opened(text, encoding, cell.finditer(text), read, write, budget)


def open_json(data: bytes, language: str, budget: Budget) -> OpenedFile:
    """Values are translated, keys stay."""
    text, encoding = decode(data)
    try:
        json.loads(text, parse_int=len, parse_float=len)  # numbers are not parsed: long ones take quadratic time
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"the file is no JSON, or has too many lists inside each other: {error}") from None

    def read(match: re.Match[str]) -> str:
        return str(json.loads(match[0]))

    def write(match: re.Match[str], translation: str) -> str:
        return json.dumps(translation, ensure_ascii=any(0xD800 <= ord(char) < 0xE000 for char in translation))

    values = (match for match in _JSON_STRING.finditer(text) if match[1] is None)
    return _opened(text, encoding, values, read, write, budget)


def _delimiter(text: str) -> str:
    """A tab where the first lines have the same number of them, since commas belong to sentences. Otherwise the
    delimiter with the largest count, outside of quoted cells, in the first line that has fewest of it."""
    rows = first_rows(text[:20_000])
    if is_even(rows, "\t"):
        return "\t"
    return max(",;\t|", key=lambda delimiter: min((row.count(delimiter) for row in rows), default=0))


def _opened(
    text: str,
    encoding: Encoding,
    matches: Iterable[re.Match[str]],
    read: Callable[[re.Match[str]], str],
    write: Callable[[re.Match[str], str], str],
    budget: Budget,
) -> OpenedFile:
    """The texts of the `matches` with letters. A text whose translation is equal to it keeps its bytes."""
    cells: list[re.Match[str]] = []
    texts: list[str] = []
    for match in matches:
        if has_letters(match[0]):
            cells.append(match)
            texts.append(read(match))
            budget.spend(texts[-1])

    def write_file(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        for cell, source, translation in zip(cells, texts, translations, strict=True):
            parts += (text[end : cell.start()], cell[0] if translation == source else write(cell, translation))
            end = cell.end()
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile(texts, write_file)
