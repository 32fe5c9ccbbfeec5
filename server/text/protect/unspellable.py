"""Words and symbols that a vocabulary cannot spell, or spells as other characters; the model can neither read nor write
them.

Examples: names in other scripts, quotations, whole sentences in another language; raised digits and fractions, which
vocabularies read as digits ("m\u00b2" as "m2"); marks of the direction of writing, which they drop or spell in bytes.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence, Set

from server.text.base.words import Place

Spells = Callable[[str], bool]
"""Whether a vocabulary has a piece for a character: `Pieces.spells`."""

_ARROW = re.compile(r"[\u00ab\u2039](?=\s)|(?<=\s)[\u00bb\u203a]\Z")
_GUILLEMETS = re.compile("[\u00ab\u2039\u00bb\u203a]")
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Kana, Han. Each letter counts as a word, so
# that a rare letter does not make its whole sentence unspellable.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORDS = re.compile(rf"([{UNSPACED}]+)|[^\W{UNSPACED}]+")
"""A word, or a run of letters that are words."""
_RAISED = "[\u00b2\u00b3\u00b9\u2070-\u209c]"
# Whole units and formulas, the number of a footnote, fractions.
_MISREAD = re.compile(
    rf"(?<!\w)\d{{0,9}}[^\W\d_]{{0,2}}{_RAISED}(?:{_RAISED}|[^\W_]){{0,40}}|{_RAISED}{{1,40}}"
    r"|\d{0,9}[\u00bc-\u00be\u2150-\u215e\u2189]"
)
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")


def unspellable(sentence: str, spells: Spells) -> list[Place]:
    """(start, end) of every word and symbol beyond ASCII that the vocabulary cannot spell or spells as other
    characters, in order of their starts. Linear in the sentence's length."""
    if sentence.isascii():
        return []
    unspelled = {char for char in set(sentence) if not (char.isascii() or char.isspace() or spells(char))}
    misread = [match.span() for match in _MISREAD.finditer(sentence)]
    if directed := [match.span() for match in _DIRECTION.finditer(sentence)]:
        misread = sorted([*misread, *directed])
    if len(_GUILLEMETS.findall(sentence)) == 1:  # no quotation has one mark: "Next \u00bb"
        misread = sorted([*misread, *(match.span() for match in _ARROW.finditer(sentence))])
    if not unspelled:
        return misread
    words: list[Place] = []
    for match in _WORDS.finditer(sentence):
        if match[1]:
            words += _places(sentence, unspelled, *match.span())
        elif not unspelled.isdisjoint(match[0]):
            words.append(match.span())
    unspelled_symbols = {char for char in unspelled if _category(char) == "S"}
    symbols = _places(sentence, unspelled_symbols, 0, len(sentence)) if unspelled_symbols else []
    words = _with_accents(sentence, words)
    return sorted(words + symbols + misread) if symbols or misread else words


def _places(sentence: str, characters: Set[str], start: int, end: int) -> list[Place]:
    """The places of the characters in the sentence, from `start` to `end`."""
    return [(place, place + 1) for place in range(start, end) if sentence[place] in characters]


def merge_adjacent(sentence: str, places: Sequence[Place], separators: Sequence[Place] = ()) -> list[Place]:
    """The places in order, merged where only spaces and punctuation are between them, so that a quotation in another
    language is one span. Places are not merged across `separators`."""
    merged: list[Place] = []
    remaining = iter(sorted(separators))
    separator = next(remaining, None)
    begin = last = -1  # of the span that may still grow
    for start, end in places:
        while separator and separator[1] <= last:
            separator = next(remaining, None)
        is_separated = separator is not None and separator[0] < start
        if begin < 0:
            begin, last = start, end
        elif not is_separated and (start <= last or _is_punctuation(sentence[last:start])):
            last = max(end, last)
        else:
            merged.append((begin, last))
            begin, last = start, end
    return [*merged, (begin, last)] if begin >= 0 else merged


def _with_accents(sentence: str, words: Sequence[Place]) -> list[Place]:
    """The words with the combining characters that follow them, such as vowels of Indian scripts."""
    accents = {char for char in set(sentence) if _category(char) == "M"}
    if not accents:
        return list(words)
    extended = []
    for start, end in words:
        while end < len(sentence) and sentence[end] in accents:
            end += 1
        extended.append((start, end))
    return extended


def _is_punctuation(between: str) -> bool:
    return all(_category(char) in "PZ" for char in between)


def _category(character: str) -> str:
    """The first letter of the character's general category in Unicode."""
    return unicodedata.category(character)[0]
