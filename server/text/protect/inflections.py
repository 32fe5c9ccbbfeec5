"""Inflected forms of terms by rule: no lexicon of forms comes with a model.

A rule of the source's language would have to know the language; these are the endings that languages of Europe share. A
form that no language has is never in a text, so it costs nothing but its place in a table.
"""

import re

_SHORTEST = 3
"""Letters of the last word of a term that has a plural: "us" is no plural of "u"."""
_LAST_WORD = re.compile(r"[^\W\d_]++\Z")
_LONGEST_WORD = 64
_ENDINGS = ("s", "es", "e", "en", "er", "n", "nen", "se", "x")
_UMLAUT_ENDINGS = ("", "e", "en", "er", "ern", "n")
_UMLAUTS = str.maketrans("aou", "äöü")


def plural_of(term: str) -> str | None:
    """The plural with `s` of a term's last word: "invoices", "taxes", "parties". None for a term that ends with a sign
    or a digit, or with one or two letters."""
    word = _LAST_WORD.search(term[-_LONGEST_WORD:])
    if word is None or len(word[0]) < _SHORTEST or not term[-1].isascii():
        return None
    if term.isupper():
        return f"{term}s"
    last = term[-2:].lower()
    if last[1] == "y" and last[0] not in "aeiou":
        return f"{term[:-1]}ies"
    return f"{term}es" if last[1] in "sxz" or last in ("ch", "sh") else f"{term}s"


def singulars_of(plural: str) -> list[str]:
    """All terms whose `plural_of` is `plural`."""
    candidates = (plural[:-1], plural[:-2], f"{plural[:-3]}y", f"{plural[:-3]}Y")
    return [term for term in candidates if term and plural_of(term) == plural]


def inflections(target: str) -> list[str]:
    """Forms that a plural of `target` may have, also with an umlaut of its last a, o or u ("Verträge")."""
    forms = [target + ending for ending in _ENDINGS]
    if target.endswith("y"):
        forms.append(f"{target[:-1]}ies")
    place = max(map(target.rfind, "aou"))
    if target[place - 1 : place + 1] == "au" and place:
        place -= 1
    if place >= 0:
        changed = target[:place] + target[place].translate(_UMLAUTS) + target[place + 1 :]
        forms += [changed + ending for ending in _UMLAUT_ENDINGS]
    return forms
