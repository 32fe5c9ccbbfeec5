"""Amounts of money whose currency is lost: a number without its "$" is another amount."""

import re
from collections.abc import Mapping

_WORDS: Mapping[str, str] = {
    "$": r"\$|doll?ar|USD|AUD|CAD|NZD|peso|real|reais",
    "\u20ac": r"\u20ac|\beuro|EUR\b",
    "\u00a3": r"\u00a3|pound|pfund|livre|libra|sterlin|GBP\b|pond\b|ponden",
    "\u00a5": r"\u00a5|\byen\b|yuan|JPY\b|CNY\b|RMB\b",
}
"""By sign: the sign, and words and codes in the languages of `LANGUAGES`."""
_WRITTEN = {sign: re.compile(words, re.IGNORECASE) for sign, words in _WORDS.items()}
LANGUAGES = frozenset({"de", "en", "fr", "es", "it", "nl", "pt"})
_SIGNS = "$\u20ac\u00a3\u00a5"
_AMOUNT = re.compile(rf"([{_SIGNS}])[ \u00a0\u202f]?\d|\d[ \u00a0\u202f]?([{_SIGNS}])")


def currency_lost(source: str, target: str, language: str) -> bool:
    """Whether the source has an amount with a sign of a currency that the target, in `language`, does not name. False
    for other languages than those in LANGUAGES."""
    if language not in LANGUAGES or not any(sign in source for sign in _SIGNS):
        return False
    signs = {before or after for before, after in _AMOUNT.findall(source)}
    return any(_WRITTEN[sign].search(target) is None for sign in signs)
