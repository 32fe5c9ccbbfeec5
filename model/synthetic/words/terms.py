"""Entries of a dictionary whose words occur in the text."""

from collections import Counter
from collections.abc import Iterator, Sequence

from model.data.corpus import SentencePair
from model.synthetic.context.words import flat

MIN_COUNT = 5
MAX_WORDS = 4
PLACEHOLDERS = frozenset(("etw", "jd", "jdm", "jdn", "jds"))
"""What German dictionaries write for "something" and "somebody"."""


def used_terms(terms: Sequence[SentencePair], text: Sequence[SentencePair]) -> Iterator[tuple[str, str]]:
    """Short entries, every English word of which the text has MIN_COUNT times, and one German word at least once.

    Most entries of a large dictionary are rare words.
    """
    source_counts, target_counts = Counter[str](), Counter[str]()
    for pair in text:
        source_counts.update(flat(pair.source))
        target_counts.update(flat(pair.target))
    for term in terms:
        source, target = flat(term.source), flat(term.target)
        is_short = len(source) <= MAX_WORDS and PLACEHOLDERS.isdisjoint(target)
        if (
            is_short
            and all(source_counts[word] >= MIN_COUNT for word in source)
            and any(target_counts[word] for word in target)
        ):
            yield term.source, term.target
