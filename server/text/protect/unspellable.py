"""Words and symbols that a vocabulary cannot spell, or only as others: the model can neither read nor write them.

They are names in other scripts, quotations, or whole sentences in another language; and raised digits and fractions,
which vocabularies read as digits ("m\u00b2" as "m2").
"""

import re
import unicodedata
from collections.abc import Callable, Sequence

from server.text.base.words import Place

Spells = Callable[[str], bool]
"""Whether a vocabulary has a piece for a character: `Pieces.spells`."""

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Kana, Han. Each of their letters counts as a word, so
# that a rare one does not take its sentence with it.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
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
    words = [one.span() for one in _WORD.finditer(sentence) if not strange.isdisjoint(one[0])]
    symbols = [
        (place, place + 1)
        for place, one in enumerate(sentence)
        if one in strange and unicodedata.category(one)[0] == "S"
    ]
    return sorted(_with_accents(sentence, words) + symbols + misread)


def in_a_row(sentence: str, places: Sequence[Place], apart: Sequence[Place] = ()) -> list[Place]:
    """The places in order; those with nothing but spaces and punctuation between them become one, so that a quotation
    in another language is one span, however long. What is `apart` stays between them."""
    rows: list[Place] = []
    parting = iter(sorted(apart))
    following = next(parting, None)
    for start, end in places:
        last = rows[-1][1] if rows else 0
        while following and following[1] <= last:
            following = next(parting, None)
        is_cut = following is not None and following[0] < start
        if rows and not is_cut and _parts_nothing(sentence[last:start]):
            rows[-1] = (rows[-1][0], max(end, last))
        else:
            rows.append((start, end))
    return rows


def _with_accents(sentence: str, words: Sequence[Place]) -> list[Place]:
    """The words with the combining characters that follow them, as vowels do in Indian scripts."""
    extended = []
    for start, end in words:
        while _category(sentence[end : end + 1]) == "M":
            end += 1
        extended.append((start, end))
    return extended


def _parts_nothing(between: str) -> bool:
    return all(unicodedata.category(one)[0] in "PZ" for one in between)


def _category(character: str) -> str:
    """The first letter of its general category in Unicode; "" for none."""
    return unicodedata.category(character)[0] if character else ""
