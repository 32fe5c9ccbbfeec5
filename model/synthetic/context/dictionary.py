"""Frequent nouns with their most frequent translation: counted in the text, or for nouns that are rare in the text,
chosen from a dictionary."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from model.data.corpus import SentencePair
from model.synthetic.context.english import DETERMINERS, FUNCTION, NO_THINGS
from model.synthetic.context.genders import Lexicon
from model.synthetic.context.german import Gender
from model.synthetic.context.nouns import Noun, is_person, is_plural
from model.synthetic.context.words import flat, split

MIN_USES = 2
"""Least number of uses of a noun behind a determiner in the text."""
MIN_ENTRIES = 3
"""Entries of the dictionary ("raspberry jam", "raspberry bush") with a noun that the text has less often."""
COMMON, MIN_SHARE = 10, 0.1
"""In this share of the pairs with a word, which occurs this often, its translation must occur: "good" is not "Gut"."""
ENDINGS = ("e", "n", "en", "er", "s")


@dataclass(frozen=True)
class Meaning:
    """A German noun as the translation of an English one."""

    noun: str
    gender: Gender
    together: int
    """Pairs of the text that have both."""
    is_first: bool
    """Whether the English noun is the first translation in the lexicon, and so the main meaning of the German noun."""
    entries: int
    """Pairs of the text and entries of the dictionary that have the German noun."""

    @property
    def rank(self) -> tuple[float, int, str]:
        return self.weight, -len(self.noun), self.noun

    @property
    def weight(self) -> float:
        """Its estimated frequency as a translation, up to a factor."""
        return self.together + (0.5 if self.is_first else 0.1) + min(self.entries, 50) / 50


@dataclass(frozen=True)
class Entry:
    """An English noun and its German translations, best first."""

    source: str
    meanings: tuple[Meaning, ...]
    uses: int
    """Uses behind a determiner in the text."""
    entries: int
    """Entries of the dictionary that have it."""

    @property
    def noun(self) -> Noun:
        best = self.meanings[0]
        return Noun(self.source, best.noun, best.gender, self.uses)

    @property
    def has_sure_gender(self) -> bool:
        """Whether translations of other genders are much less frequent."""
        best = self.meanings[0]
        return best.weight >= 3 * sum(other.weight for other in self.meanings if other.gender != best.gender)


def used_nouns(
    pairs: Sequence[SentencePair],
    lexicon: Lexicon,
    terms: Sequence[SentencePair],
    genders: Mapping[str, Gender],
    things: Sequence[Noun],
) -> list[Entry]:
    """Nouns of the text and of the dictionary, which is the lexicon and the entries `terms`, in the singular; the
    most frequent in the text first, then the most frequent in the dictionary. Rare words are left
    out. `genders` and `things`: those of text and lexicon (`known_genders`, `things_in_text`)."""
    by_noun = translations(lexicon, terms, genders)
    for thing in things:
        by_noun[thing.target].add(thing.source)
    # English words are in lower case and German nouns are not, so that one counter holds both.
    uses, counts = Counter[str](), Counter[str]()
    together = Counter[tuple[str, str]]()
    for pair in pairs:
        words = flat(pair.source)
        uses.update(after for before, after in pairwise(words) if before in DETERMINERS)
        known = set(words)
        nouns = {word.core for word in split(pair.target)} & by_noun.keys()
        counts.update(known | nouns)
        together.update((word, noun) for noun in nouns for word in by_noun[noun] & known)
    entries = Counter(word for text in english_entries(lexicon, terms) for word in set(text.lower().split()))
    entries.update(word.core for term in terms for word in split(term.target) if word.core in by_noun)
    meanings: dict[str, list[Meaning]] = defaultdict(list)
    for noun, sources in by_noun.items():
        for source in sources:
            if uses[source] >= MIN_USES or (entries[source] >= MIN_ENTRIES and not source.endswith("ing")):
                is_first = noun in lexicon and lexicon[noun][1][:1] == (source,)
                count = counts[noun] + entries[noun]
                meanings[source].append(Meaning(noun, genders[noun], together[source, noun], is_first, count))
    results = [
        Entry(source, several, uses[source], entries[source])
        for source, several in ((source, by_rank(some)) for source, some in meanings.items())
        if counts[source] < COMMON or several[0].together >= MIN_SHARE * counts[source]
    ]
    return sorted(results, key=lambda entry: (-entry.uses, -entry.entries, entry.source))


def by_rank(meanings: Sequence[Meaning]) -> tuple[Meaning, ...]:
    """The best first; a noun that is another one with an ending (a plural) left out."""
    nouns = {meaning.noun for meaning in meanings}
    inflected = {noun + ending for noun in nouns for ending in ENDINGS}
    kept = [meaning for meaning in meanings if meaning.noun not in inflected]
    return tuple(sorted(kept, key=lambda meaning: meaning.rank, reverse=True))


def english_entries(lexicon: Lexicon, terms: Sequence[SentencePair]) -> list[str]:
    """The English side of the dictionary: of the terms, or of the lexicon where there are none."""
    return [term.source for term in terms] or [gloss for _, glosses in lexicon.values() for gloss in glosses]


def translations(
    lexicon: Lexicon, terms: Sequence[SentencePair], genders: Mapping[str, Gender]
) -> defaultdict[str, set[str]]:
    """German noun -> English words, each a single one in the singular, that the dictionary has for it."""
    result: defaultdict[str, set[str]] = defaultdict(set)
    pairs = [(gloss, noun) for noun, (_, glosses) in lexicon.items() for gloss in glosses]
    for source, noun in [*pairs, *((term.source, term.target) for term in terms)]:
        is_noun = source.isalpha() and source.islower() and len(source) > 2 and source not in FUNCTION
        if is_noun and noun in genders and noun.isalpha() and not is_plural(source):
            result[noun].add(source)
    return result


def rare_things(entries: Sequence[Entry], things: Sequence[Noun], genders: Mapping[str, Gender]) -> list[Noun]:
    """Nouns of an unambiguous gender that "it" can refer to and that are too rare in the text for `things_in_text`."""
    known = {noun.source for noun in things}
    return [
        entry.noun
        for entry in entries
        if entry.has_sure_gender
        and entry.source not in known | NO_THINGS
        and not is_person(entry.source, entry.noun.target, genders)
    ]
