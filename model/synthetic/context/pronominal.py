"""Real pairs made pronominal: "The lamp is broken." / "Die Lampe ist kaputt." becomes "It is broken." / "Sie ist
kaputt."; objects, too ("I lost it." / "Ich habe sie verloren."). All other words stay the same, so that what fits the
noun also fits the pronoun."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context import english
from model.synthetic.context.german import DETERMINERS, PRONOUNS, THIRD_PERSON, Case, Gender
from model.synthetic.context.it import OBJECT_ENDS, AmbiguousSentence
from model.synthetic.context.nouns import Noun
from model.synthetic.context.words import Word, capitalized, join, listed, split

MAX_WORDS = 14
GENITIVE = listed(
    "des der von vom und oder meiner meines seiner seines ihrer ihres unserer unseres deiner deines eines einer aus für"
    " mit zu zum zur"
)
"""After a noun these words begin an attribute of the noun, which a pronoun cannot have."""
GERMAN_BEFORE_OBJECT = re.compile(
    r"(habe|hast|hat|haben|habt|hatte|hattest|hatten|werde|wirst|wird|werden|würde|will|willst|wollen|wollte|kann|kannst"
    r"|können|konnte|muss|musst|müssen|musste|soll|sollst|sollen|sollte|möchte|möchtest|darf|darfst|ich|du|er|sie|wir"
    r"|ihr|Tom|Maria|man|[a-zäöüß]+(?:e|st|t|te|ten|en))"
)


@dataclass(frozen=True)
class Pronominal:
    """A pair whose noun became a pronoun."""

    ambiguous: AmbiguousSentence
    noun: Noun
    original: str
    """The source with its noun."""

    @property
    def answer(self) -> Gender:
        return self.noun.gender


def pronominal_pairs(pairs: Iterable[SentencePair], by_source: Mapping[str, list[Noun]]) -> list[Pronominal]:
    """All pairs where exactly one noun of `by_source` can be replaced on both sides."""
    results = (pronominal(pair, by_source) for pair in pairs)
    return [item for item in results if item is not None]


def pronominal(pair: SentencePair, by_source: Mapping[str, list[Noun]]) -> Pronominal | None:
    source, target = split(pair.source), split(pair.target)
    if not 3 <= len(source) <= MAX_WORDS or english.THIRD_PERSON & {word.lower for word in source}:
        return None
    if THIRD_PERSON & {word.lower for word in target}:
        return None
    matches = [
        (i, noun, j)
        for i in range(1, len(source))
        if source[i - 1].lower in english.DEFINITE
        for noun in by_source.get(source[i].lower, ())
        for j in _places(target, noun)
    ]
    if len(matches) != 1:
        return None
    i, noun, j = matches[0]
    case = _case(source, i, target, j, noun)
    if case is None:
        return None
    with_it = _replace(source, i, "it")
    targets = {gender: _replace(target, j, form) for gender, form in PRONOUNS[case].items()}
    return Pronominal(AmbiguousSentence(with_it, targets, "pronominal"), noun, pair.source)


def _places(target: list[Word], noun: Noun) -> list[int]:
    """Where the noun stands, in the singular, behind a determiner of its gender."""
    indices = [index for index, word in enumerate(target) if index and word.core == noun.target]
    genders = [{gender for gender, _ in DETERMINERS.get(target[index - 1].lower, set())} for index in indices]
    return [index for index, item in zip(indices, genders, strict=True) if noun.gender in item]


def _case(source: list[Word], i: int, target: list[Word], j: int, noun: Noun) -> Case | None:
    """The case of the pronoun that can replace the noun phrase, whose noun is at source[i] and target[j]; None where no
    pronoun can."""
    if source[i].after[:1] in ("'", "’") or target[j - 1].after or source[i - 1].after:  # noqa: RUF001
        return None
    follows = source[i + 1].lower if i + 1 < len(source) and not source[i].after else ""
    then = target[j + 1].core if j + 1 < len(target) and not target[j].after else ""
    if follows in ("of", "and", "or", "that", "which", "i", "we", "you") or then in GENITIVE or then[:1].isupper():
        return None
    if i + 1 < len(source) and source[i + 1].core[:1].isupper():
        return None  # "the Atlantic Ocean"
    determiner, form = source[i - 1], target[j - 1].lower
    cases = {case for gender, case in DETERMINERS[form] if gender == noun.gender}
    if i == 1 and j == 1 and "nominative" in cases:
        return "nominative" if follows not in ("in", "on", "at", "with", "") else None
    before, german_before = source[i - 2].lower if i > 1 else "", target[j - 2].core if j > 1 else ""
    if determiner.core != determiner.lower or not before or not german_before or target[j - 2].after:
        return None
    if before in ("is", "was", "does", "did", "will", "has") and i == 2 and j == 2 and "nominative" in cases:
        return "nominative" if follows and follows not in ("in", "on", "at", "with") else None
    is_object = (
        not before.endswith(("isn't", "wasn't"))
        and before not in english.PREPOSITIONS
        and (not follows or follows in OBJECT_ENDS)
    )
    if is_object and "accusative" in cases and j <= 5 and GERMAN_BEFORE_OBJECT.fullmatch(german_before):
        return "accusative"
    return None


def _replace(words: list[Word], index: int, pronoun: str) -> str:
    """The words with `pronoun` in place of the noun at `index` and its determiner."""
    start, noun = words[index - 1], words[index]
    replacement = pronoun if index > 1 else capitalized(pronoun)
    return join([*words[: index - 1], Word(start.before, replacement, noun.after), *words[index + 1 :]])
