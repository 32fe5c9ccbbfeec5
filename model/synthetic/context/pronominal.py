"""Real pairs made pronominal: "The lamp is broken." / "Die Lampe ist kaputt." becomes "It is broken." / "Sie ist
kaputt."; objects, too ("I lost it." / "Ich habe sie verloren."). Everything else in them stays real, and what fits the
noun fits the pronoun."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context import english
from model.synthetic.context.german import DETERMINERS, PRONOUNS, THIRD_PERSON, Case, Gender
from model.synthetic.context.it import OBJECT_ENDS, Decided
from model.synthetic.context.nouns import Noun
from model.synthetic.context.words import Word, capitalized, join, listed, split

MAX_WORDS = 14
GENITIVE = listed(
    "des der von vom und oder meiner meines seiner seines ihrer ihres unserer unseres deiner deines eines einer aus für"
    " mit zu zum zur"
)
"""After a noun these begin what belongs to it and not to its pronoun."""
GERMAN_BEFORE_OBJECT = re.compile(
    r"(habe|hast|hat|haben|habt|hatte|hattest|hatten|werde|wirst|wird|werden|würde|will|willst|wollen|wollte|kann|kannst"
    r"|können|konnte|muss|musst|müssen|musste|soll|sollst|sollen|sollte|möchte|möchtest|darf|darfst|ich|du|er|sie|wir"
    r"|ihr|Tom|Maria|man|[a-zäöüß]+(?:e|st|t|te|ten|en))"
)


@dataclass(frozen=True)
class Pronominal:
    """A pair whose noun became a pronoun."""

    decided: Decided
    noun: Noun
    original: str
    """The source with its noun."""

    @property
    def answer(self) -> Gender:
        return self.noun.gender


def pronominal_pairs(pairs: Iterable[SentencePair], by_source: Mapping[str, list[Noun]]) -> list[Pronominal]:
    """All pairs where exactly one noun of `by_source` can be replaced on both sides."""
    found = (pronominal(pair, by_source) for pair in pairs)
    return [one for one in found if one is not None]


def pronominal(pair: SentencePair, by_source: Mapping[str, list[Noun]]) -> Pronominal | None:
    source, target = split(pair.source), split(pair.target)
    if not 3 <= len(source) <= MAX_WORDS or english.THIRD_PERSON & {word.lower for word in source}:
        return None
    if THIRD_PERSON & {word.lower for word in target}:
        return None
    spots = [
        (place, noun, there)
        for place in range(1, len(source))
        if source[place - 1].lower in english.DEFINITE
        for noun in by_source.get(source[place].lower, ())
        for there in _places(target, noun)
    ]
    if len(spots) != 1:
        return None
    place, noun, there = spots[0]
    case = _case(source, place, target, there, noun)
    if case is None:
        return None
    spoken = _replace(source, place, "it")
    targets = {gender: _replace(target, there, form) for gender, form in PRONOUNS[case].items()}
    return Pronominal(Decided(spoken, targets, "pronominal"), noun, pair.source)


def _places(target: list[Word], noun: Noun) -> list[int]:
    """Where the noun stands, in the singular, behind a determiner of its gender."""
    places = [place for place, word in enumerate(target) if place and word.core == noun.target]
    genders = [{gender for gender, _ in DETERMINERS.get(target[place - 1].lower, set())} for place in places]
    return [place for place, found in zip(places, genders, strict=True) if noun.gender in found]


def _case(source: list[Word], place: int, target: list[Word], there: int, noun: Noun) -> Case | None:
    """The case of the pronoun that can replace the noun phrase, or None where none can."""
    if source[place].after[:1] in ("'", "’") or target[there - 1].after or source[place - 1].after:  # noqa: RUF001
        return None
    follows = source[place + 1].lower if place + 1 < len(source) and not source[place].after else ""
    then = target[there + 1].core if there + 1 < len(target) and not target[there].after else ""
    if follows in ("of", "and", "or", "that", "which", "i", "we", "you") or then in GENITIVE or then[:1].isupper():
        return None
    if place + 1 < len(source) and source[place + 1].core[:1].isupper():
        return None  # "the Atlantic Ocean"
    determiner, form = source[place - 1], target[there - 1].lower
    cases = {case for gender, case in DETERMINERS[form] if gender == noun.gender}
    if place == 1 and there == 1 and "nominative" in cases:
        return "nominative" if follows not in ("in", "on", "at", "with", "") else None
    before, spoken = source[place - 2].lower if place > 1 else "", target[there - 2].core if there > 1 else ""
    if determiner.core != determiner.lower or not before or not spoken or target[there - 2].after:
        return None
    if before in ("is", "was", "does", "did", "will", "has") and place == 2 and there == 2 and "nominative" in cases:
        return "nominative" if follows and follows not in ("in", "on", "at", "with") else None
    is_object = (
        not before.endswith(("isn't", "wasn't"))
        and before not in english.PREPOSITIONS
        and (not follows or follows in OBJECT_ENDS)
    )
    if is_object and "accusative" in cases and there <= 5 and GERMAN_BEFORE_OBJECT.fullmatch(spoken):
        return "accusative"
    return None


def _replace(words: list[Word], place: int, pronoun: str) -> str:
    """The noun at `place` and its determiner replaced."""
    start, noun = words[place - 1], words[place]
    spoken = pronoun if place > 1 else capitalized(pronoun)
    return join([*words[: place - 1], Word(start.before, spoken, noun.after), *words[place + 1 :]])
