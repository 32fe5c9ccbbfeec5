"""Tables and JSON: every cell and every string value is a text; the rest of the file stays as it is, byte for byte."""

import json
import re
from collections.abc import Callable, Iterable, Sequence

from server.files.formats.base import Budget, DamagedFile, Encoding, OpenedFile, decode
from server.text.base.words import has_letters

_QUOTED = re.compile(r'"[^"]*+(?:""[^"]*+)*+"')
_JSON_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(\s*+:)?', re.DOTALL)


def open_csv(data: bytes, language: str, budget: Budget) -> OpenedFile:
    """Comma, semicolon, tab or bar between cells, as the file has it."""
    text, encoding = decode(data)
    delimiter = _delimiter(text)
    own = re.escape(delimiter)
    cell = re.compile(rf'(?:"([^"]*+(?:""[^"]*+)*+)"|([^"{own}\r\n][^{own}\r\n]*+))')

    def read(match: re.Match[str]) -> str:
        return match[2] if match[1] is None else match[1].replace('""', '"')

    def write(match: re.Match[str], translation: str) -> str:
        if match[1] is None and not any(one in translation for one in (delimiter, '"', "\n", "\r")):
            return translation
        return '"' + translation.replace('"', '""') + '"'

    return _opened(text, encoding, cell.finditer(text), read, write, budget)


def open_json(data: bytes, language: str, budget: Budget) -> OpenedFile:
    """Values are translated, keys are not."""
    text, encoding = decode(data)
    try:
        json.loads(text, parse_int=len, parse_float=len)  # numbers are not read: long ones take quadratic time
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"the file is no JSON, or has too many lists inside each other: {error}") from None

    def read(match: re.Match[str]) -> str:
        return str(json.loads(match[0]))

    def write(match: re.Match[str], translation: str) -> str:
        return json.dumps(translation, ensure_ascii=any(0xD800 <= ord(one) < 0xE000 for one in translation))

    values = (match for match in _JSON_STRING.finditer(text) if match[1] is None)
    return _opened(text, encoding, values, read, write, budget)


def _delimiter(text: str) -> str:
    """The delimiter that every one of the first lines has most of, outside of quoted cells."""
    lines = [line for line in _QUOTED.sub('""', text[:20_000]).splitlines()[:20] if line.strip()]
    return max(",;\t|", key=lambda one: min((line.count(one) for line in lines), default=0))


def _opened(
    text: str,
    encoding: Encoding,
    found: Iterable[re.Match[str]],
    read: Callable[[re.Match[str]], str],
    write: Callable[[re.Match[str], str], str],
    budget: Budget,
) -> OpenedFile:
    """The texts that have letters of those that were `found`. One that comes back unchanged keeps the bytes that it
    had."""
    places: list[re.Match[str]] = []
    texts: list[str] = []
    for place in found:
        if has_letters(place[0]):
            places.append(place)
            texts.append(read(place))
            budget.spend(texts[-1])

    def written(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        for place, source, translation in zip(places, texts, translations, strict=True):
            parts += (text[end : place.start()], place[0] if translation == source else write(place, translation))
            end = place.end()
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile(texts, written)
