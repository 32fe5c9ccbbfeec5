"""Sources of translation memories as they are compared."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator

_WORD = re.compile(r"\w+")
# Scripts that are written without spaces: Thai to Khmer, kana, Han, Hangul.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def normalized(text: str) -> str:
    """The form in which equal sources are equal: Unicode's NFC, single spaces, none around it. Case counts."""
    return unicodedata.normalize("NFC", " ".join(text.split()))


def entry_id(normal: str) -> str:
    """The id of an entry, by its normalised source: 32 hexadecimal digits."""
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def words_of(normal: str) -> set[str]:
    """The different words of a normalised source, in small letters; of scripts without spaces, pairs of characters.
    Linear in its length."""
    return set(_words(normal.casefold()))


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0]
        if word.isascii() or not _UNSPACED.search(word):
            yield word
        else:
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
