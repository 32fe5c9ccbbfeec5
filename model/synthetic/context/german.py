"""German gender: paradigms of articles and pronouns, and the feminine forms of professions."""

import re
from collections.abc import Mapping
from typing import Literal

from model.synthetic.context.words import Word, like, listed

Gender = Literal["m", "f", "n"]
Case = Literal["nominative", "accusative", "dative", "genitive"]
GENDERS: tuple[Gender, ...] = ("m", "f", "n")
CASES: tuple[Case, ...] = ("nominative", "accusative", "dative", "genitive")

_DEFINITE = {"m": "der den dem des", "f": "die die der der", "n": "das das dem des"}
_STRONG = {"m": "er en em es", "f": "e e er er", "n": "es es em es"}
_MIXED = {"m": "- en em es", "f": "e e er er", "n": "- - em es"}
STRONG_STEMS = ("dies", "jed", "jen", "welch")
MIXED_STEMS = ("ein", "kein", "mein", "dein", "sein", "ihr", "unser", "euer")
CONTRACTED: dict[str, tuple[Gender, ...]] = {
    "im": ("m", "n"), "am": ("m", "n"), "zum": ("m", "n"), "vom": ("m", "n"), "beim": ("m", "n"),
    "ins": ("n",), "ans": ("n",), "zur": ("f",),
}  # fmt: skip

PRONOUNS: Mapping[Case, Mapping[Gender, str]] = {
    "nominative": {"m": "er", "f": "sie", "n": "es"},
    "accusative": {"m": "ihn", "f": "sie", "n": "es"},
}
THIRD_PERSON = {"er", "sie", "es", "ihn", "ihm", "ihr", "ihnen", "sich"}


def determiner(stem: str, gender: Gender, case: Case) -> str:
    """The singular form of "der" or of a stem in STRONG_STEMS or MIXED_STEMS."""
    index = CASES.index(case)
    if stem == "der":
        return _DEFINITE[gender].split()[index]
    ending = (_STRONG if stem in STRONG_STEMS else _MIXED)[gender].split()[index].replace("-", "")
    return ("eur" if stem == "euer" and ending else stem) + ending


def determiner_forms() -> dict[str, set[tuple[Gender, Case]]]:
    """Form -> its possible genders and cases, over all stems."""
    forms: dict[str, set[tuple[Gender, Case]]] = {}
    for stem in ("der", *STRONG_STEMS, *MIXED_STEMS):
        for gender in GENDERS:
            for case in CASES:
                forms.setdefault(determiner(stem, gender, case), set()).add((gender, case))
    return forms


DETERMINERS = determiner_forms()
ADJECTIVE = re.compile(r"[a-zäöüß]{2,}(e|er|es|en|em)")
ADJECTIVE_ENDINGS = ("e", "en", "er", "es", "em")
REFLEXIVE = frozenset(("mich", "dich", "sich", "uns", "euch"))
DATIVE_PRONOUNS = frozenset(("mir", "dir", "ihm", "ihr", "ihnen"))
DATIVE_VERBS = frozenset(
    listed(
        "helfen danken folgen glauben gehören gefallen vertrauen verzeihen vergeben gratulieren begegnen widersprechen"
        " zuhören dienen schaden drohen gehorchen nützen passen fehlen antworten beitreten zustimmen ähneln nachgeben"
        " entkommen trauen misstrauen schmeicheln beistehen zusehen genügen widerstehen ausweichen nacheifern"
    )
)
"""Verbs whose object is in the dative."""
_TO_FEMININE = {
    determiner(stem, "m", case): determiner(stem, "f", case)
    for stem in ("der", *STRONG_STEMS, *MIXED_STEMS)
    for case in CASES
} | {"zum": "zur", "beim": "bei der", "vom": "von der"}
NOMINATIVE = frozenset(determiner(stem, "m", "nominative") for stem in ("der", *STRONG_STEMS, *MIXED_STEMS))
"""Determiners of a masculine noun in the nominative alone."""
_JOINING = {"und", "oder", "sowie", "wie"}
_HIS = {determiner("sein", gender, case) for gender in GENDERS for case in CASES}
_RELATIVE = {"der": "die", "den": "die", "dem": "der", "dessen": "deren"}


def only_person(words: list[Word], nouns: Mapping[str, str]) -> tuple[int, str] | None:
    """Place and first form of the only one of `nouns` (masculine -> feminine), in the singular; None where there is not
    exactly one."""
    results = [(index, noun) for index, word in enumerate(words) if (noun := _masculine(word.core, nouns))]
    return results[0] if len(results) == 1 else None


def feminine(words: list[Word], nouns: Mapping[str, str]) -> list[Word] | None:
    """The sentence with its only masculine person of `nouns` (masculine -> feminine) made feminine: the noun, its
    determiner, an adjective between them and a relative pronoun after them. None where there is not exactly one, where
    a possessive may refer to it, or where the rule is ambiguous."""
    person, result = only_person(words, nouns), list(words)
    if person is None or any(map(_is_his, words, words[1:])):
        return None
    index, noun = person
    result[index] = words[index]._replace(core=nouns[noun])
    before = words[index - 1].core if index else ""
    two_before = words[index - 2].core if index > 1 else ""
    if before.lower() in _TO_FEMININE:
        result[index - 1] = _feminine_determiner(words[index - 1])
    elif ADJECTIVE.fullmatch(before) and two_before.lower() in _TO_FEMININE:
        result[index - 2] = _feminine_determiner(words[index - 2])
        if two_before.lower() not in ("dem", "des", "einem", "eines", "zum", "vom", "beim"):
            result[index - 1] = words[index - 1]._replace(core=re.sub(r"(er|en|es|e)$", "e", before))
    elif noun != words[index].core or before.endswith(("er", "en", "em", "es")) or before in _JOINING:
        return None  # an inflected noun without its determiner, perhaps an adjective, or two that share an article
    if words[index].after.startswith(",") and index + 1 < len(words) and words[index + 1].core in _RELATIVE:
        result[index + 1] = words[index + 1]._replace(core=_RELATIVE[words[index + 1].core])
    return result


def _is_his(word: Word, after: Word) -> bool:
    """Whether it is a form of "sein" as a possessive, not as the verb."""
    return word.lower in _HIS and (word.lower != "sein" or after.core[:1].isupper())


def inflected(adjective: str, ending: str) -> str:
    """An adjective in front of a noun; as it is for the ending ""."""
    if not ending:
        return adjective
    if adjective.endswith("hoch"):
        return f"{adjective.removesuffix('ch')}h{ending}"
    if adjective.endswith(("el", "euer", "auer")):  # dunkel, teuer, sauer: an unstressed e goes
        return adjective[:-2] + adjective[-1] + ending
    return adjective.removesuffix("e") + ending


def is_nominative(words: list[Word], index: int) -> bool:
    """Whether the determiner of the masculine noun at `index`, perhaps with an adjective between, is nominative."""
    before = [word.lower for word in words[max(0, index - 2) : index]]
    if len(before) == 2 and ADJECTIVE.fullmatch(before[1]):
        return before[0] in NOMINATIVE
    return before[-1:] != [] and before[-1] in NOMINATIVE


def _masculine(core: str, nouns: Mapping[str, str]) -> str | None:
    """The noun of `nouns` that `core` is a singular form of."""
    for form in (core, core.removesuffix("s"), core.removesuffix("es")):
        if form in nouns:
            return form
    return None


def _feminine_determiner(word: Word) -> Word:
    return word._replace(core=like(_TO_FEMININE[word.lower], word.core))
