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
"""The limit for sentences with he or she: they may have several nouns."""
MOST_OF_A_NOUN = 40
"""Pairs with the same noun that are kept, so that "book" and "car" do not dominate the text."""
IT = {"it", "its", "itself", "they", "them", "their"}


@dataclass
class Antecedents:
    one_noun: dict[Gender, list[tuple[Text, Noun]]] = field(default_factory=lambda: {"m": [], "f": [], "n": []})
    """Pairs with one noun, which is a thing, by its gender."""
    two_nouns: list[tuple[Text, Noun, Noun]] = field(default_factory=list)
    """Pairs with two nouns, both things, of different gender."""
    no_noun: list[Text] = field(default_factory=list)
    """Pairs without a noun and without a third person."""
    no_name: list[Text] = field(default_factory=list)
    """Pairs of `no_noun` without the name of a man or a woman."""
    people: dict[Gender, list[Text]] = field(default_factory=lambda: {"m": [], "f": []})
    """Pairs with either he or she."""
    by_noun: dict[Noun, list[Text]] = field(default_factory=dict)
    """The antecedents with one noun, by that noun."""

    def of(self, nouns: Set[Noun]) -> "Antecedents":
        """The antecedents with these nouns; pairs without nouns and pairs about people are all kept."""
        return Antecedents(
            {gender: [pair for pair in item if pair[1] in nouns] for gender, item in self.one_noun.items()},
            [item for item in self.two_nouns if nouns >= {item[1], item[2]}],
            self.no_noun,
            self.no_name,
            self.people,
            {noun: texts for noun, texts in self.by_noun.items() if noun in nouns},
        )


def find_antecedents(
    pairs: Iterable[SentencePair], by_source: Mapping[str, list[Noun]], genders: Mapping[str, Gender]
) -> Antecedents:
    result, counts = Antecedents(), Counter[Noun]()
    for pair in pairs:
        words = flat(pair.source)
        text, word_set = (pair.source, pair.target), set(words)
        if 2 <= len(words) <= MAX_PERSON_WORDS:
            _sort_person(result, text, word_set, pair.target)
        if not 2 <= len(words) <= MAX_WORDS + 1 or word_set & IT:
            continue
        nouns = german_nouns(pair.target, genders)
        if not nouns and not word_set & english.THIRD_PERSON:
            result.no_noun.append(text)
            if not word_set & english.GENDERED:
                result.no_name.append(text)
        things = [noun for word in sorted(word_set) for noun in by_source.get(word, ()) if noun.target in nouns]
        if len(nouns) == len(things) == 1:
            counts[things[0]] += 1
            if counts[things[0]] <= MOST_OF_A_NOUN:
                result.one_noun[things[0].gender].append((text, things[0]))
                result.by_noun.setdefault(things[0], []).append(text)
        if len(nouns) == len(things) == 2 and things[0].gender != things[1].gender:
            result.two_nouns.append((text, things[0], things[1]))
    return result


def german_nouns(target: str, genders: Mapping[str, Gender]) -> list[str]:
    """Capitalised words; the first word of a sentence only if it is a known noun. Names count as nouns, except for
    frequent ones."""
    words = split(target)
    return [
        word.core
        for index, word in enumerate(words)
        if word.core[:1].isupper()
        and len(word.core) > 1
        and word.core not in NAMES_AND_POLITENESS
        and (word.core in genders or (index and words[index - 1].after[-1:] not in (".", "!", "?")))
    ]


def _sort_person(found: Antecedents, text: Text, word_set: set[str], target: str) -> None:
    male, female = word_set & english.MALE, word_set & english.FEMALE
    target_words = {word.lower for word in split(target)}
    if male and not female and target_words & {"er", "ihn", "ihm", "sein", "seine", "seinen", "seinem", "seiner"}:
        found.people["m"].append(text)
    if female and not male and target_words & {"sie", "ihr", "ihre", "ihren", "ihrem", "ihrer"}:
        found.people["f"].append(text)


NAMES_AND_POLITENESS = frozenset(
    listed(
        "Tom Toms Maria Marias Mary Marys John Johns Sie Ihr Ihnen Ihre Ihrem Ihren Ihrer Boston Deutschland"
        " Japan Ken Jack Bob Jim Bill Mike Alice Herr Frau Berlin Paris London"
    )
)
