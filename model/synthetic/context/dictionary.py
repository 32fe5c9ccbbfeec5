"""Nouns that people use, with the translation that they use: counted in the text, and where the text has a noun seldom,
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
"""Times that a noun stands behind a determiner in the text."""
MIN_ENTRIES = 3
"""Entries of the dictionary ("raspberry jam", "raspberry bush") with a noun that the text has less often."""
COMMON, MIN_SHARE = 10, 0.1
"""Where the text has a word so often, its noun must be said in such a share: "good" is no "Gut", "van" no "Vorhut"."""
ENDINGS = ("e", "n", "en", "er", "s")


@dataclass(frozen=True)
class Meaning:
    """A German noun as the translation of an English one."""

    noun: str
    gender: Gender
    together: int
    """Pairs of the text that have both."""
    is_first: bool
    """Whether the lexicon names the English noun first: the German one then means little else."""
    entries: int
    """Pairs of the text and entries of the dictionary that have the German noun."""

    @property
    def rank(self) -> tuple[float, int, str]:
        return self.weight, -len(self.noun), self.noun

    @property
    def weight(self) -> float:
        """How likely it is to be said, up to a factor: counted where it was, otherwise guessed."""
        return self.together + (0.5 if self.is_first else 0.1) + min(self.entries, 50) / 50


@dataclass(frozen=True)
class Entry:
    """An English noun, and how it is said in German, best first."""

    source: str
    meanings: tuple[Meaning, ...]
    uses: int
    """Times that it stands behind a determiner in the text."""
    entries: int
    """Entries of the dictionary that have it."""

    @property
    def noun(self) -> Noun:
        best = self.meanings[0]
        return Noun(self.source, best.noun, best.gender, self.uses)

    @property
    def has_sure_gender(self) -> bool:
        """Whether translations of other genders are much less likely."""
        best = self.meanings[0]
        return best.weight >= 3 * sum(other.weight for other in self.meanings if other.gender != best.gender)


def used_nouns(
    pairs: Sequence[SentencePair],
    lexicon: Lexicon,
    terms: Sequence[SentencePair],
    genders: Mapping[str, Gender],
    things: Sequence[Noun],
) -> list[Entry]:
    """Nouns of the text and of the dictionary, which is the lexicon and the entries `terms`, in the singular; those
    first that the text has most, then those that the dictionary has most. Words that hardly stand in either are left
    out. `genders` and `things`: those of text and lexicon (`known_genders`, `things_in_text`)."""
    by_noun = translations(lexicon, terms, genders)
    for thing in things:
        by_noun[thing.target].add(thing.source)
    # English words are in lower case and German nouns are not, so that one counter holds both.
    uses, said = Counter[str](), Counter[str]()
    together = Counter[tuple[str, str]]()
    for pair in pairs:
        words = flat(pair.source)
        uses.update(after for before, after in pairwise(words) if before in DETERMINERS)
        known = set(words)
        nouns = {word.core for word in split(pair.target)} & by_noun.keys()
        said.update(known | nouns)
        together.update((word, noun) for noun in nouns for word in by_noun[noun] & known)
    entries = Counter(word for text in english_entries(lexicon, terms) for word in set(text.lower().split()))
    entries.update(word.core for term in terms for word in split(term.target) if word.core in by_noun)
    meanings: dict[str, list[Meaning]] = defaultdict(list)
    for noun, sources in by_noun.items():
        for source in sources:
            if uses[source] >= MIN_USES or (entries[source] >= MIN_ENTRIES and not source.endswith("ing")):
                is_first = noun in lexicon and lexicon[noun][1][:1] == (source,)
                count = said[noun] + entries[noun]
                meanings[source].append(Meaning(noun, genders[noun], together[source, noun], is_first, count))
    found = [
        Entry(source, several, uses[source], entries[source])
        for source, several in ((source, by_rank(some)) for source, some in meanings.items())
        if said[source] < COMMON or several[0].together >= MIN_SHARE * said[source]
    ]
    return sorted(found, key=lambda entry: (-entry.uses, -entry.entries, entry.source))


def by_rank(meanings: Sequence[Meaning]) -> tuple[Meaning, ...]:
    """The best first; a noun that is another one with an ending (a plural) left out."""
    nouns = {meaning.noun for meaning in meanings}
    inflected = {noun + ending for noun in nouns for ending in ENDINGS}
    kept = [meaning for meaning in meanings if meaning.noun not in inflected]
    return tuple(sorted(kept, key=lambda meaning: meaning.rank, reverse=True))


def english_entries(lexicon: Lexicon, terms: Sequence[SentencePair]) -> list[str]:
    """The English side of the dictionary: of the terms, which name more, or else of the lexicon."""
    return [term.source for term in terms] or [gloss for _, glosses in lexicon.values() for gloss in glosses]


def translations(
    lexicon: Lexicon, terms: Sequence[SentencePair], genders: Mapping[str, Gender]
) -> defaultdict[str, set[str]]:
    """German noun -> English words, each a single one in the singular, that the dictionary has for it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    pairs = [(gloss, noun) for noun, (_, glosses) in lexicon.items() for gloss in glosses]
    for source, noun in [*pairs, *((term.source, term.target) for term in terms)]:
        is_noun = source.isalpha() and source.islower() and len(source) > 2 and source not in FUNCTION
        if is_noun and noun in genders and noun.isalpha() and not is_plural(source):
            found[noun].add(source)
    return found


def rare_things(entries: Sequence[Entry], things: Sequence[Noun], genders: Mapping[str, Gender]) -> list[Noun]:
    """Nouns of a sure gender that "it" can stand for and that the text has too seldom for `things_in_text`."""
    known = {noun.source for noun in things}
    return [
        entry.noun
        for entry in entries
        if entry.has_sure_gender
        and entry.source not in known | NO_THINGS
        and not is_person(entry.source, entry.noun.target, genders)
    ]
