"""Real sentence pairs that can stand before a pronoun, sorted by the antecedent that they offer."""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from model.data.corpus import SentencePair
from model.synthetic.context import english
from model.synthetic.context.german import Gender
from model.synthetic.context.nouns import Noun
from model.synthetic.context.words import flat, listed, split
from model.synthetic.tables import Text

MAX_WORDS = 14
MAX_PERSON_WORDS = 30
"""Sentences that say he or she may be longer: no noun of theirs has to be the only one."""
MOST_OF_A_NOUN = 40
"""Pairs with the same noun that are kept; "book" and "car" would be most of the text."""
IT = {"it", "its", "itself", "they", "them", "their"}


@dataclass
class Antecedents:
    one: dict[Gender, list[tuple[Text, Noun]]] = field(default_factory=lambda: {"m": [], "f": [], "n": []})
    """Pairs with one noun, which is a thing, by its gender."""
    two: list[tuple[Text, Noun, Noun]] = field(default_factory=list)
    """Pairs with two nouns, both things, of different gender."""
    none: list[Text] = field(default_factory=list)
    """Pairs without a noun and without a third person."""
    nobody: list[Text] = field(default_factory=list)
    """Those of them without a man's or a woman's name."""
    people: dict[Gender, list[Text]] = field(default_factory=lambda: {"m": [], "f": []})
    """Pairs that say he or she, and not both."""
    by_noun: dict[Noun, list[Text]] = field(default_factory=dict)
    """The antecedents with one noun, by that noun."""

    def of(self, nouns: Set[Noun]) -> "Antecedents":
        """Only the pairs with these nouns; those without nouns and those about people stay."""
        return Antecedents(
            {gender: [one for one in found if one[1] in nouns] for gender, found in self.one.items()},
            [found for found in self.two if nouns >= {found[1], found[2]}],
            self.none,
            self.nobody,
            self.people,
            {noun: texts for noun, texts in self.by_noun.items() if noun in nouns},
        )


def find_antecedents(
    pairs: Iterable[SentencePair], by_source: Mapping[str, list[Noun]], genders: Mapping[str, Gender]
) -> Antecedents:
    found, seen = Antecedents(), Counter[Noun]()
    for pair in pairs:
        words = flat(pair.source)
        text, said = (pair.source, pair.target), set(words)
        if 2 <= len(words) <= MAX_PERSON_WORDS:
            _sort_person(found, text, said, pair.target)
        if not 2 <= len(words) <= MAX_WORDS + 1 or said & IT:
            continue
        nouns = german_nouns(pair.target, genders)
        if not nouns and not said & english.THIRD_PERSON:
            found.none.append(text)
            if not said & english.GENDERED:
                found.nobody.append(text)
        things = [noun for word in sorted(said) for noun in by_source.get(word, ()) if noun.target in nouns]
        if len(nouns) == len(things) == 1:
            seen[things[0]] += 1
            if seen[things[0]] <= MOST_OF_A_NOUN:
                found.one[things[0].gender].append((text, things[0]))
                found.by_noun.setdefault(things[0], []).append(text)
        if len(nouns) == len(things) == 2 and things[0].gender != things[1].gender:
            found.two.append((text, things[0], things[1]))
    return found


def german_nouns(target: str, genders: Mapping[str, Gender]) -> list[str]:
    """Words with a capital; the first of a sentence only if it is known as a noun. Names count as nouns, except for
    those that text is full of."""
    words = split(target)
    return [
        word.core
        for place, word in enumerate(words)
        if word.core[:1].isupper()
        and len(word.core) > 1
        and word.core not in NAMES_AND_POLITENESS
        and (word.core in genders or (place and words[place - 1].after[-1:] not in (".", "!", "?")))
    ]


def _sort_person(found: Antecedents, text: Text, said: set[str], target: str) -> None:
    male, female = said & english.MALE, said & english.FEMALE
    spoken = {word.lower for word in split(target)}
    if male and not female and spoken & {"er", "ihn", "ihm", "sein", "seine", "seinen", "seinem", "seiner"}:
        found.people["m"].append(text)
    if female and not male and spoken & {"sie", "ihr", "ihre", "ihren", "ihrem", "ihrer"}:
        found.people["f"].append(text)


NAMES_AND_POLITENESS = frozenset(
    listed(
        "Tom Toms Maria Marias Mary Marys John Johns Sie Ihr Ihnen Ihre Ihrem Ihren Ihrer Boston Deutschland"
        " Japan Ken Jack Bob Jim Bill Mike Alice Herr Frau Berlin Paris London"
    )
)
