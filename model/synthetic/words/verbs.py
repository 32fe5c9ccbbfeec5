"""Real sentences with another infinitive behind "to" and modal verbs.

German has the infinitive at the end of its clause, where verbs with a separable prefix are one word too. Transitive
verbs replace verbs with an object, others verbs without.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from model.data.corpus import SentencePair
from model.synthetic.context.english import FUNCTION
from model.synthetic.context.german import CONTRACTED, DATIVE_PRONOUNS, DATIVE_VERBS, REFLEXIVE
from model.synthetic.context.words import Word, listed, split, unique_index
from model.synthetic.words.frames import Frame, constant_form, filled_frames, short_sentences, unique_word_index
from model.synthetic.words.translations import Translation, grouped, most_used_translations

ENTRY = re.compile(r"to ([a-z]{2,})(?: (?:sth|sb)\..*| \{.*)?\t((?:etw|jdn)\.(?:/(?:etw|jdn)\.)? )?([a-zäöüß]+n)")
"""An entry of the dictionary: "to borrow sth.", "etw. leihen"."""
MODALS = frozenset(
    listed("can can't cannot could couldn't will won't would wouldn't must mustn't should shouldn't may")
)
OBJECTS = frozenset(
    listed("it him her them this that these those the a an my your his its our their something anything some")
)
GERMAN_PREPOSITIONS = frozenset(
    listed("an auf aus bei durch für gegen hinter in mit nach neben um über unter von vor zu")
)
MIN_USES, MIN_SHARE = 2, 0.6
"""Uses of a verb with an object, or without, and their share of all, by which it is known what it takes."""

COMMON = 200
"""Pairs of the text with a verb and its translation, above which no sentences are made: "take" has many
meanings."""

Takes = Literal["object", "nothing"]
VerbFrame = Frame[Takes]


def used_verbs(pairs: Sequence[SentencePair], terms: Sequence[SentencePair]) -> list[Translation]:
    """Verbs of the dictionary's entries `terms`, each with the most frequent translation, the most
    frequent first."""
    counts = Counter(verb for pair in pairs for verb in _verbs_used(split(pair.source)))
    known = grouped(
        (entry[1], entry[3])
        for entry in _entries(terms)
        if entry[1] not in FUNCTION and sum(counts[form] for form in english_forms(entry[1])) >= MIN_USES
    )
    return most_used_translations(pairs, terms, known, english_forms, german_forms)


def _entries(terms: Sequence[SentencePair]) -> Iterator[re.Match[str]]:
    """Verbs of the dictionary: English, a mark of its object, German's mark, and German."""
    return filter(None, (ENTRY.fullmatch(f"{term.source}\t{term.target}") for term in terms))


def _verbs_used(words: Sequence[Word]) -> Iterator[str]:
    """Words behind "to" and "can", and others that are forms of a verb alone."""
    for before, word in pairwise(words):
        if before.lower in MODALS | {"to"} or word.lower.endswith(("ed", "ing")):
            yield word.lower


def english_forms(verb: str) -> tuple[str, ...]:
    """Of a regular verb; others are counted by those that they have."""
    stem = verb.removesuffix("e")
    return verb, f"{verb}s", f"{verb}es", f"{stem}ed", f"{stem}ing"


def german_forms(infinitive: str) -> tuple[str, ...]:
    """Of a regular verb without a separable prefix; others are counted by those that they have."""
    stem = infinitive.removesuffix("n").removesuffix("e")
    return infinitive, f"{stem}e", f"{stem}t", f"{stem}te", f"ge{stem}t", f"ge{infinitive}"


def objects_of_verbs(
    pairs: Sequence[SentencePair], terms: Sequence[SentencePair], verbs: Sequence[Translation]
) -> dict[str, Takes]:
    """English verb -> whether it takes an object, where dictionary or text show it."""
    with_object = {(entry[1], entry[3]) for entry in _entries(terms) if entry[2]}
    known = {form: verb.source for verb in verbs for form in english_forms(verb.source)}
    seen = Counter[tuple[str, Takes]]()
    for pair in pairs:
        words = split(pair.source)
        for index, word in enumerate(words):
            takes = _takes(words, index) if word.lower in known else None
            if takes is not None:
                seen[known[word.lower], takes] += 1
    results: dict[str, Takes] = {}
    for verb in verbs:
        with_one, alone = seen[verb.source, "object"], seen[verb.source, "nothing"]
        least = max(MIN_USES, MIN_SHARE * (with_one + alone))
        if (verb.source, verb.target) in with_object or with_one >= least:
            results[verb.source] = "object"
        elif alone >= least:
            results[verb.source] = "nothing"
    return results


def _takes(words: Sequence[Word], index: int) -> Takes | None:
    """What the verb at `index` takes; None where the next word leaves it open."""
    if words[index].after or index + 1 == len(words):
        return "nothing"
    return "object" if words[index + 1].lower in OBJECTS else None


def verb_frames(pairs: Sequence[SentencePair], verbs: Sequence[Translation]) -> list[VerbFrame]:
    """Short sentences with the infinitive of one of `verbs`, once on both sides."""
    taking = [verb for verb in verbs if verb.target not in DATIVE_VERBS]
    by_target = {verb.target: verb for verb in reversed(taking)}  # the most frequent last: it keeps a shared form
    frames = []
    for source, target in short_sentences(pairs):
        index = unique_index(target, lambda word: word.core in by_target)
        if index is None or not _ends_clause(target, index) or _has_other_objects(target):
            continue
        source_index = unique_word_index(source, by_target[target[index].core].source)
        if source_index is None or not source_index or source[source_index - 1].lower not in MODALS | {"to"}:
            continue
        takes = _takes(source, source_index)
        if takes is not None:
            frames.append(Frame(tuple(source), tuple(target), source_index, index, takes))
    return frames


def _ends_clause(words: Sequence[Word], index: int) -> bool:
    """Not behind "zu", which a separable prefix would take into the word."""
    is_last = bool(words[index].after) or index + 1 == len(words)
    return is_last and index > 0 and words[index - 1].lower != "zu"


def _has_other_objects(words: Sequence[Word]) -> bool:
    """Whether a reflexive or dative pronoun or a preposition may belong to the verb."""
    return any(
        word.lower in REFLEXIVE | DATIVE_PRONOUNS | GERMAN_PREPOSITIONS or word.lower in CONTRACTED for word in words
    )


def verbs_in_sentences(
    frames: Sequence[VerbFrame],
    verbs: Sequence[Translation],
    takes: dict[str, Takes],
    nouns: set[str],
    sentences: int,
    seed: int,
) -> Iterator[tuple[str, str]]:
    """Every verb in so many different frames of what it takes (fewer where there are fewer); with "to"; and alone
    unless it is one of the `nouns`."""
    by_kind = {kind: [frame for frame in frames if frame.kind == kind] for kind in ("object", "nothing")}
    for source, german, uses in ((verb.source, verb.target, verb.uses) for verb in verbs):
        if source in takes and german not in DATIVE_VERBS and uses <= COMMON:
            yield from filled_frames(
                by_kind[takes[source]], source, constant_form(german), sentences, f"{seed}/{source}"
            )
        yield f"to {source}", german
        if source not in nouns:
            yield source, german
