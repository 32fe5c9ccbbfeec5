"""Glossary terms in a translation through a pivot language: the first model copies a placeholder for each term, as it
copies a URL, and the placeholder becomes the term's translation at the end."""

from collections.abc import Iterable

from server.text.base.placeholders import TERM_PLACEHOLDER, TooManyPlaceholders, term_placeholders
from server.text.protect.masking import find_terms
from server.text.protect.terms import Match, Terms, with_first_letter


class PivotPlaceholders(Terms):
    """The same terms, each translated as a placeholder: in every sentence the first term has the first placeholder."""

    def __init__(self, terms: Terms, sentences: Iterable[str]) -> None:
        """Placeholders that `sentences` contain are not used."""
        used = {placeholder for sentence in sentences for placeholder in TERM_PLACEHOLDER.findall(sentence)}
        self._terms = terms
        self._free = [placeholder for placeholder in term_placeholders() if placeholder not in used]

    def find(self, text: str, taken: Iterable[tuple[int, int]] = ()) -> list[Match]:
        """As Terms.find. Raises TooManyPlaceholders."""
        matches = self._terms.find(text, taken)
        if len(matches) > len(self._free):
            raise TooManyPlaceholders(f"a sentence has more than {len(self._free)} terms of the glossary")
        return [Match(match.start, match.end, free) for match, free in zip(matches, self._free, strict=False)]

    def fill_terms(self, sentence: str, translation: str) -> str:
        """The sentence's `translation` with the translations of its terms in place of placeholders."""
        matches = find_terms(sentence, self._terms)
        first = translation[:1]
        targets = {
            free: with_first_letter(str.upper, match.target) if match.rises and free == first else match.target
            for match, free in zip(matches, self._free, strict=False)
        }
        return translation.translate({ord(free): target for free, target in targets.items()})
