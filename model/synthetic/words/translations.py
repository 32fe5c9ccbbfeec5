"""The most frequent German translation of an English word among those of a dictionary."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context.words import flat, split

COMMON, MIN_SHARE = 20, 0.05
"""In this share of the pairs with a word, which occurs this often, its translation must occur: "plane" is not
"eben"."""
Forms = Callable[[str], Iterable[str]]
"""A word -> its forms in text, itself among them. German ones are compared with their case: a noun is no verb."""


@dataclass(frozen=True)
class Translation:
    """An English word of the dictionary and its most frequent translation."""

    source: str
    target: str
    uses: int
    """Pairs of the text that have both."""


def most_used_translations(
    text: Sequence[SentencePair],
    entries: Sequence[SentencePair],
    translations: Mapping[str, Sequence[str]],
    english: Forms,
    german: Forms,
) -> list[Translation]:
    """One translation of each English word, the most used words first, chosen by `text`, and by the dictionary's
    `entries` ("distant relative") for words that are rare in the text. A word with another meaning in the text is left
    out."""
    by_form: dict[str, set[str]] = defaultdict(set)
    forms_of = {target: frozenset(german(target)) for several in translations.values() for target in several}
    for source in translations:
        for form in english(source):
            by_form[form].add(source)

    def counted(pairs: Sequence[SentencePair]) -> tuple[Counter[str], Counter[tuple[str, str]]]:
        """Pairs with each English word, and with both it and each of its translations."""
        alone, together = Counter[str](), Counter[tuple[str, str]]()
        for pair in pairs:
            answer = {word.core for word in split(pair.target)}
            for source in {source for word in flat(pair.source) for source in by_form.get(word, ())}:
                alone[source] += 1
                together.update(
                    (source, target) for target in translations[source] if not forms_of[target].isdisjoint(answer)
                )
        return alone, together

    (pairs_with, text_counts), (_, entry_counts) = counted(text), counted(entries)
    results = []
    for source, several in translations.items():
        best = max(several, key=lambda target: text_counts[source, target] + min(entry_counts[source, target], 20) / 20)
        is_common = pairs_with[source] >= COMMON
        if text_counts[source, best] >= MIN_SHARE * pairs_with[source] if is_common else entry_counts[source, best]:
            results.append(Translation(source, best, text_counts[source, best]))
    return sorted(results, key=lambda translation: (-translation.uses, translation.source))


def single_words(terms: Sequence[SentencePair]) -> dict[str, tuple[str, ...]]:
    """English word -> its German words, each a single one in lower case, in the dictionary's order."""
    return grouped(
        (term.source, term.target)
        for term in terms
        if len(term.source) > 1 and all(word.isalpha() and word.islower() for word in (term.source, term.target))
    )


def grouped(entries: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    results: dict[str, dict[str, None]] = defaultdict(dict)
    for source, target in entries:
        results[source][target] = None
    return {source: tuple(targets) for source, targets in results.items()}
