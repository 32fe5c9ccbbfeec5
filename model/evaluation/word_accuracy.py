"""Accuracy on single words and short phrases (`model.data.word_sets`)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from model.data.word_sets import PHRASES, WordItem
from model.synthetic.context.german import ADJECTIVE_ENDINGS, inflected


@dataclass(frozen=True)
class WordAccuracy:
    kind: str
    items: int
    right: int
    mistakes: tuple[tuple[str, str], ...]
    """(source, translation) of every item that is wrong."""


def is_right(item: WordItem, translation: str) -> bool:
    """Whether one of the accepted translations is in `translation`. Whole words count. A noun keeps its capital, others
    have none; an adjective may have any ending; a phrase may begin in any case, and end as it likes."""
    flags = re.IGNORECASE if item.kind in PHRASES else 0
    texts = {form for text in item.accepted for form in _forms(item.kind, text)}
    return any(re.search(rf"\b{re.escape(text)}\b", translation, flags) for text in texts)


def _forms(kind: str, text: str) -> list[str]:
    return [inflected(text, ending) for ending in ("", *ADJECTIVE_ENDINGS)] if "adjective" in kind else [text]


def word_accuracy(items: Sequence[WordItem], translate: Callable[[list[str]], list[str]]) -> list[WordAccuracy]:
    """One result for every kind, in the order of their first items."""
    translations = translate([item.source for item in items])
    results = []
    for kind in dict.fromkeys(item.kind for item in items):
        of_kind = [(item, text) for item, text in zip(items, translations, strict=True) if item.kind == kind]
        mistakes = tuple((item.source, text) for item, text in of_kind if not is_right(item, text))
        results.append(WordAccuracy(kind, len(of_kind), len(of_kind) - len(mistakes), mistakes))
    return results
