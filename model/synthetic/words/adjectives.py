"""Real sentences with another adjective: in front of a noun, and behind "is".

The ending of a German adjective depends on its noun, so another adjective takes the same ending.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

from model.data.corpus import SentencePair
from model.synthetic.context.english import BEING, DETERMINERS, FUNCTION, PREPOSITIONS
from model.synthetic.context.german import ADJECTIVE_ENDINGS, inflected
from model.synthetic.context.words import Word, split, unique_index
from model.synthetic.words.frames import Frame, filled_frames, short_sentences, unique_word_index
from model.synthetic.words.translations import Translation, most_used_translations, single_words

MIN_USES = 2
"""Least number of uses in positions of adjectives."""
SHARE, SHARE_OF_PARTICIPLES = 0.12, 0.2
"""Least share of these positions among all uses; for participles."""
MIN_FORMS = 2
"""Inflected forms in front of a noun, in text or dictionary, by which a word is known as an adjective."""
DEGREES = frozenset(("very", "so", "too", "quite", "really", "rather"))

AdjectiveFrame = Frame[str]
"""`kind`: the ending; "" behind "is"."""


def used_adjectives(pairs: Sequence[SentencePair], terms: Sequence[SentencePair]) -> list[Translation]:
    """Adjectives of the dictionary's entries `terms` that text or entries use, each with the most frequent
    translation, the most frequent first."""
    listed = single_words(terms)
    words, sources = {target for several in listed.values() for target in several}, _uses_as_adjectives(pairs)
    listed = {
        source: tuple(target for target in several if target.removesuffix("e") not in words - {target})
        for source, several in listed.items()
        if source in sources
    }
    base = {form: target for several in listed.values() for target in several for form in _inflections(target)}
    forms: dict[str, set[str]] = defaultdict(set)
    for pair in (*pairs, *terms):
        for word, after in pairwise(pair.target.split()):
            if word in base and after[:1].isupper():
                forms[base[word]].add(word)
    adjectives = {
        source: known
        for source, several in listed.items()
        if (known := tuple(target for target in several if len(forms[target]) >= MIN_FORMS))
    }
    result = most_used_translations(
        pairs, terms, adjectives, lambda word: (word,), lambda word: (word, *_inflections(word))
    )
    german = {adjective.source: adjective.target for adjective in result}
    return [
        adjective
        for adjective in result
        if adjective.target not in {german.get(other) for other in _without_ly(adjective.source)}
    ]


def _without_ly(word: str) -> tuple[str, ...]:
    """Adjectives from which the adverb may be derived: probably, probable."""
    stem = word.removesuffix("ly")
    return () if stem == word else (stem, f"{stem}le", f"{stem.removesuffix('i')}y")


def _uses_as_adjectives(pairs: Sequence[SentencePair]) -> set[str]:
    """English words that stand in the text where adjectives do: "the distant hills", "is distant"."""
    result, all_words = Counter[str](), Counter[str]()
    for pair in pairs:
        words = split(pair.source)
        all_words.update(word.lower for word in words)
        for index, word in enumerate(words):
            if word.lower in FUNCTION or not index:
                continue
            is_last = bool(word.after) or index + 1 == len(words)
            in_front = not is_last and words[index + 1].lower not in FUNCTION | PREPOSITIONS
            if (in_front and words[index - 1].lower in DETERMINERS) or _is_predicate(words, index):
                result[word.lower] += 1
    return {
        word
        for word, times in result.items()
        if times >= max(MIN_USES, all_words[word] * (SHARE_OF_PARTICIPLES if word.endswith(("ed", "ing")) else SHARE))
    }


def _inflections(adjective: str) -> list[str]:
    return [inflected(adjective, ending) for ending in ADJECTIVE_ENDINGS]


def adjective_frames(pairs: Sequence[SentencePair], adjectives: Sequence[Translation]) -> list[AdjectiveFrame]:
    """Short sentences with one adjective of `adjectives`, once on both sides."""
    by_form: dict[str, tuple[Translation, str]] = {}
    for adjective in reversed(adjectives):  # the most frequent last: it keeps a shared form
        by_form[adjective.target] = adjective, ""
        by_form |= {inflected(adjective.target, ending): (adjective, ending) for ending in ADJECTIVE_ENDINGS}
    frames = []
    for source, target in short_sentences(pairs):
        index = unique_index(target, lambda word: word.core in by_form)
        if index is None:
            continue
        adjective, ending = by_form[target[index].core]
        source_index = unique_word_index(source, adjective.source)
        if source_index is not None and (
            _is_in_front(source, source_index, target, index) if ending else _is_predicate(source, source_index)
        ):
            frames.append(Frame(tuple(source), tuple(target), source_index, index, ending))
    return frames


def _is_in_front(source: Sequence[Word], source_index: int, target: Sequence[Word], index: int) -> bool:
    """Of a noun, on both sides."""
    is_tied = not source[source_index].after and not target[index].after
    return (
        is_tied and source_index + 1 < len(source) and index + 1 < len(target) and target[index + 1].core[:1].isupper()
    )


def _is_predicate(source: Sequence[Word], source_index: int) -> bool:
    """Behind "is" or "is very", at the end of a clause: elsewhere the uninflected form may be an adverb."""
    before = [word.lower for word in source[max(0, source_index - 2) : source_index]]
    if before and before[-1] in DEGREES:
        before.pop()
    is_last = bool(source[source_index].after) or source_index + 1 == len(source)
    return is_last and bool(before) and (before[-1] in BEING or before[-1].endswith(("'s", "'m", "'re")))


def adjectives_in_sentences(
    frames: Sequence[AdjectiveFrame], adjectives: Sequence[Translation], sentences: int, seed: int
) -> Iterator[tuple[str, str]]:
    """Every adjective in so many different frames (fewer where there are fewer), and alone."""
    for source, german in ((adjective.source, adjective.target) for adjective in adjectives):
        yield from filled_frames(frames, source, partial(inflected, german), sentences, f"{seed}/{source}")
        yield source, german
