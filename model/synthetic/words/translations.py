"""The German word that people use most for an English one, of those that a dictionary has."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context.words import flat, split

COMMON, MIN_SHARE = 20, 0.05
"""Where so many pairs of the text have a word, such a share must have its translation: "plane" is not "eben"."""
Forms = Callable[[str], Iterable[str]]
"""A word -> its forms in text, itself among them. German ones are compared with their case: a noun is no verb."""


@dataclass(frozen=True)
class Translation:
    """An English word of the dictionary, and how it is said most."""

    source: str
    target: str
    uses: int
    """Pairs of the text that have both."""


def most_said(
    text: Sequence[SentencePair],
    entries: Sequence[SentencePair],
    translations: Mapping[str, Sequence[str]],
    english: Forms,
    german: Forms,
) -> list[Translation]:
    """One translation of each English word, the most used words first, chosen by `text`, and by the dictionary's
    `entries` ("distant relative") where that is silent. A word that means something else in text is left out."""
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

    (pairs_with, said), (_, listed) = counted(text), counted(entries)
    found = []
    for source, several in translations.items():
        best = max(several, key=lambda target: said[source, target] + min(listed[source, target], 20) / 20)
        is_common = pairs_with[source] >= COMMON
        if said[source, best] >= MIN_SHARE * pairs_with[source] if is_common else listed[source, best]:
            found.append(Translation(source, best, said[source, best]))
    return sorted(found, key=lambda one: (-one.uses, one.source))


def single_words(terms: Sequence[SentencePair]) -> dict[str, tuple[str, ...]]:
    """English word -> its German words, each a single one in lower case, in the dictionary's order."""
    return grouped(
        (term.source, term.target)
        for term in terms
        if len(term.source) > 1 and all(word.isalpha() and word.islower() for word in (term.source, term.target))
    )


def grouped(entries: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for source, target in entries:
        found[source][target] = None
    return {source: tuple(targets) for source, targets in found.items()}
