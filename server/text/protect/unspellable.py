"""Words and symbols that a vocabulary cannot spell, or only as others: the model can neither read nor write them.

They are names in other scripts, quotations, or whole sentences in another language; and raised digits and fractions,
which vocabularies read as digits ("m\u00b2" as "m2").
"""

import re
import unicodedata
from collections.abc import Callable, Sequence, Set

from server.text.base.words import Place

Spells = Callable[[str], bool]
"""Whether a vocabulary has a piece for a character: `Pieces.spells`."""

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Kana, Han. Each of their letters counts as a word, so
# that a rare one does not take its sentence with it.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORDS = re.compile(rf"([{_UNSPACED}]+)|[^\W{_UNSPACED}]+")
"""A word, or a row of letters that are words."""
_RAISED = "[\u00b2\u00b3\u00b9\u2070-\u209c]"
# Units and formulas whole, a footnote's number alone; fractions.
_MISREAD = re.compile(
    rf"(?<!\w)\d{{0,9}}[^\W\d_]{{0,2}}{_RAISED}(?:{_RAISED}|[^\W_]){{0,40}}|{_RAISED}{{1,40}}"
    r"|\d{0,9}[\u00bc-\u00be\u2150-\u215e\u2189]"
)


def unspellable(sentence: str, spells: Spells) -> list[Place]:
    """(start, end) of every word and symbol beyond ASCII that the vocabulary cannot spell or misreads, in order of
    their starts. Linear in the sentence's length."""
    if sentence.isascii():
        return []
    strange = {one for one in _NOT_ASCII.findall(sentence) if not one.isspace() and not spells(one)}
    misread = [one.span() for one in _MISREAD.finditer(sentence)]
    if not strange:
        return misread
    words: list[Place] = []
    for one in _WORDS.finditer(sentence):
        if one[1]:
            words += _places(sentence, strange, *one.span())
        elif not strange.isdisjoint(one[0]):
            words.append(one.span())
    strange_symbols = {one for one in strange if _category(one) == "S"}
    symbols = _places(sentence, strange_symbols, 0, len(sentence)) if strange_symbols else []
    words = _with_accents(sentence, words)
    return sorted(words + symbols + misread) if symbols or misread else words


def _places(sentence: str, characters: Set[str], start: int, end: int) -> list[Place]:
    """Where the sentence has one of the characters, from `start` to `end`."""
    return [(place, place + 1) for place in range(start, end) if sentence[place] in characters]


def in_a_row(sentence: str, places: Sequence[Place], apart: Sequence[Place] = ()) -> list[Place]:
    """The places in order; those with nothing but spaces and punctuation between them become one, so that a quotation
    in another language is one span, however long. What is `apart` stays between them."""
    rows: list[Place] = []
    parting = iter(sorted(apart))
    following = next(parting, None)
    begin = last = -1  # of the row that is not ended yet
    for start, end in places:
        while following and following[1] <= last:
            following = next(parting, None)
        is_cut = following is not None and following[0] < start
        if begin < 0:
            begin, last = start, end
        elif not is_cut and (start <= last or _parts_nothing(sentence[last:start])):
            last = max(end, last)
        else:
            rows.append((begin, last))
            begin, last = start, end
    return [*rows, (begin, last)] if begin >= 0 else rows


def _with_accents(sentence: str, words: Sequence[Place]) -> list[Place]:
    """The words with the combining characters that follow them, as vowels do in Indian scripts."""
    accents = {one for one in set(sentence) if _category(one) == "M"}
    if not accents:
        return list(words)
    extended = []
    for start, end in words:
        while end < len(sentence) and sentence[end] in accents:
            end += 1
        extended.append((start, end))
    return extended


def _parts_nothing(between: str) -> bool:
    return all(_category(one) in "PZ" for one in between)


def _category(character: str) -> str:
    """The first letter of its general category in Unicode."""
    return unicodedata.category(character)[0]
