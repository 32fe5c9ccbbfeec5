"""Terms on their way through a third language: each stands there as a mark, which models carry over as they do a URL,
and which becomes the term's translation at the end."""

import dataclasses
from collections.abc import Iterable

from server.text.base.placeholders import TERM_PLACEHOLDER, TooManyPlaceholders, term_placeholders
from server.text.protect.protection import find_terms
from server.text.protect.terms import Match, Terms


class PivotPlaceholders(Terms):
    """The same terms, each with a mark as its translation: in every sentence the first term has the first mark."""

    def __init__(self, terms: Terms, sentences: Iterable[str]) -> None:
        """No mark is one that `sentences` have anyway."""
        taken = {mark for sentence in sentences for mark in TERM_PLACEHOLDER.findall(sentence)}
        self._terms, self._marks = terms, [mark for mark in term_placeholders() if mark not in taken]

    def find(self, text: str, taken: Iterable[tuple[int, int]] = ()) -> list[Match]:
        """As Terms.find. Raises TooManyPlaceholders."""
        found = self._terms.find(text, taken)
        if len(found) > len(self._marks):
            raise TooManyPlaceholders(f"a sentence has more than {len(self._marks)} terms of the glossary")
        return [dataclasses.replace(match, target=mark) for match, mark in zip(found, self._marks, strict=False)]

    def filled(self, sentence: str, translation: str) -> str:
        """The translation of a sentence with the translations of its terms in place of their marks."""
        targets = [match.target for match in find_terms(sentence, self._terms)]
        return translation.translate({ord(mark): target for mark, target in zip(self._marks, targets, strict=False)})
