"""The material of documents, found in parallel text and divided between training and dev: no deciding noun or
profession is in both."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context.antecedents import Antecedents, find_antecedents
from model.synthetic.context.dictionary import rare_things, used_nouns
from model.synthetic.context.genders import Lexicon, known_genders
from model.synthetic.context.it import AmbiguousSentence, ThingPredicates, sort_pronouns
from model.synthetic.context.nouns import Noun, for_dev, things_in_text
from model.synthetic.context.persons import PersonPair, person_pairs
from model.synthetic.context.professions import Profession, feminines, person_word_counts, professions
from model.synthetic.context.pronominal import Pronominal, pronominal_pairs
from model.synthetic.context.wordlists import DEV_WORDS, TRAINING_WORDS, WordLists
from model.synthetic.tables import Text

MAX_WORDS = 25


@dataclass(frozen=True)
class Material:
    antecedents: Antecedents
    things: list[Noun]
    pronominal: list[Pronominal]
    referential: list[AmbiguousSentence]
    pleonastic: list[AmbiguousSentence]
    event: list[AmbiguousSentence]
    persons: list[PersonPair]
    professions: list[Profession]
    everything: list[Text]
    words: WordLists
    """Word lists, for sentences that are made without real pairs."""


def find_material(
    pairs: Sequence[SentencePair],
    lexicon: Lexicon,
    excluded: frozenset[str] = frozenset(),
    terms: Sequence[SentencePair] = (),
) -> tuple[Material, Material]:
    """For training and for dev. `excluded` are source sentences that are never used, for example of a test set; `terms`
    are entries of a dictionary. A noun or profession of the lists of training is none of dev."""
    pairs = [pair for pair in pairs if pair.source not in excluded]
    genders = known_genders((pair.target for pair in pairs), lexicon)
    things = things_in_text(pairs, genders, lexicon)
    entries = used_nouns(pairs, lexicon, terms, genders, things)
    things += rare_things(entries, things, genders)
    by_source: dict[str, list[Noun]] = defaultdict(list)
    for noun in things:
        by_source[noun.source].append(noun)
    forms = feminines(genders)
    known = professions(entries, forms, person_word_counts(pairs))
    pronominal = [pair for pair in pronominal_pairs(pairs, by_source) if pair.ambiguous.source not in excluded]
    sorts = sort_pronouns(pairs, ThingPredicates((pair.source for pair in pairs), set(by_source)))
    persons = person_pairs(pairs, known, forms)
    antecedents = find_antecedents(pairs, by_source, genders)
    everything = [(pair.source, pair.target) for pair in pairs if len(pair.source.split()) <= MAX_WORDS]

    def deal(dev: bool) -> Material:
        taken = TRAINING_WORDS.german_words if dev else frozenset()
        nouns = [noun for noun in things if noun.is_dev == dev and noun.target not in taken]
        here = {word for word in known if word.is_dev == dev and taken.isdisjoint((word.masculine, word.feminine))}
        return Material(
            antecedents=antecedents.of(set(nouns)),
            things=nouns,
            pronominal=[pair for pair in pronominal if pair.noun.is_dev == dev and pair.noun.target not in taken],
            referential=_deal(sorts["referential"], dev),
            pleonastic=_deal(sorts["pleonastic"], dev),
            event=_deal(sorts["event"], dev),
            persons=[pair for pair in persons if pair.profession in here],
            professions=[word for word in known if word in here],
            everything=everything,
            words=DEV_WORDS if dev else TRAINING_WORDS,
        )

    return deal(False), deal(True)


def _deal(sentences: Iterable[AmbiguousSentence], dev: bool) -> list[AmbiguousSentence]:
    return [sentence for sentence in sentences if for_dev(sentence.source) == dev]
