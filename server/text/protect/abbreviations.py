"""Abbreviations before numbers, which a model takes for words ("No. 5", "p. 5", "S. 5"), as it reads them: in full."""

import re
from collections.abc import Mapping

_FULL: Mapping[str, Mapping[str, str]] = {
    "en": {
        "no": "number", "nos": "numbers", "nr": "number", "nrs": "numbers", "p": "page", "pp": "pages", "pg": "page",
        "fig": "figure", "figs": "figures", "Art": "article", "Arts": "articles", "Ch": "chapter", "Chs": "chapters",
        "Chap": "chapter", "approx": "ca.",
    },
    "de": {
        "Nr": "Nummer", "Nrn": "Nummern", "S": "Seite", "Abb": "Abbildung", "Kap": "Kapitel", "Tab": "Tabelle",
        "Art": "Artikel",
    },
}  # fmt: skip
"""Language -> abbreviation -> its word, or a better known abbreviation. Those in small letters may have a
capital initial, others have one always."""
_BETWEEN = r"(?=([ \u00a0\u202f]?+)(?:\d|\Z))"
_PATTERNS = {
    language: re.compile(
        r"(?<![\w.&@/'\u2019-])("
        + "|".join(
            f"[{word[0].upper()}{word[0]}]{word[1:]}" if word[0].islower() else word
            for word in sorted(words, key=len, reverse=True)
        )
        + rf")\.{_BETWEEN}"
    )
    for language, words in _FULL.items()
}
LONGEST_START = 8
"""Characters at the beginning of a sentence in which its first word is searched."""
_FIRST = re.compile(r"[^\w]*+\Z")
_AN_ANSWER = re.compile(
    r"[ \u00a0\u202f]?+\d[\d.,]*+ (?!(?:is|was|has|had|will|and|or|of|in|on|at|to|for|the|with|from|can|must|may|shall|"
    r"should|does|did|are|were|by|also|as|says|said|shows|applies)\b)[a-z]"
)
""" "No. 5 people came": two sentences."""


def in_full(text: str, language: str, before_number: bool = False, starts: bool = True) -> str:
    """A text with its abbreviations before numbers in full, in a language with such. `before_number`: a number or a
    placeholder is behind the text. `starts`: the text begins its sentence. Linear in len(text)."""
    pattern = _PATTERNS.get(language)
    if pattern is None or "." not in text:
        return text
    words = _FULL[language]

    def full(match: re.Match[str]) -> str:
        short = match[1]
        is_first = starts and match.start() <= LONGEST_START and _FIRST.match(text[: match.start()]) is not None
        is_at_end = match.end() + len(match[2]) == len(text)
        if is_at_end and not before_number:
            return match[0]
        if short == "No" and is_first and _AN_ANSWER.match(text, match.end()):
            return match[0]
        word = words[short] if short in words else words[short.lower()]
        if short[0].isupper() and is_first:
            word = word[0].upper() + word[1:]
        return word if match[2] else f"{word} "

    return pattern.sub(full, text)
