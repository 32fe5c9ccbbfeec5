"""Professions, and other gender-neutral English words for a person: the English word, and the
masculine and the feminine German noun with their forms."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context import english
from model.synthetic.context.dictionary import Entry
from model.synthetic.context.german import Gender
from model.synthetic.context.nouns import for_dev
from model.synthetic.context.words import flat

LIKELY = 0.25
"""Least weight of a translation relative to the best: "Schriftsteller" and "Autor" are both writers."""
NOT_NEUTRAL = re.compile(r".*(man|men|ess|woman|ette|trix|boy|father|son|king|lord)")
PERSON_ENDINGS = ("ist", "ian", "eer")
"""Endings of words for persons, also where the text does not have them."""
WEAK = re.compile(
    r".*(e|ent|ant|ist|oge|at|et|it|ot|soph|graf|graph|nom|arch|urg|ekt)|Held|Narr|Bauer|Nachbar|Fürst|Bär|Prinz"
)
"""Nouns of the n-declension, and some that only look like them."""


@dataclass(frozen=True)
class Profession:
    """English word and German nouns; `uses`: how often the English word stands behind a determiner in the text."""

    source: str
    masculine: str
    feminine: str
    uses: int

    @property
    def is_weak(self) -> bool:
        """Whether the masculine is of the n-declension, or may be: "den Soldaten"."""
        return WEAK.fullmatch(self.masculine) is not None

    @property
    def oblique(self) -> str:
        """The masculine in accusative and dative."""
        if not self.is_weak:
            return self.masculine
        return self.masculine + ("n" if self.masculine.endswith(("e", "Bauer", "Nachbar")) else "en")

    @property
    def genitive(self) -> str:
        """The masculine in the genitive."""
        return self.oblique if self.is_weak else self.masculine + ("es" if self.masculine[-1] in "tdszß" else "s")

    @property
    def weight(self) -> float:
        """Its sampling weight: it grows with the frequency, but less than linearly."""
        return float((min(self.uses, 60) + 1) ** 0.5)

    @property
    def is_dev(self) -> bool:
        return for_dev(self.masculine)


def feminines(genders: Mapping[str, Gender]) -> dict[str, str]:
    """Masculine nouns with a feminine in -in (Lehrer, Arzt, Biologe) -> the feminine."""
    results: dict[str, str] = {}
    for noun in sorted(noun for noun in genders if noun.endswith("in") and genders[noun] == "f"):
        stem = noun.removesuffix("in")
        masculine = next((form for form in _stems(stem) if genders.get(form) == "m"), None)
        if masculine is not None and masculine != "Führer":
            results.setdefault(masculine, noun)
    return results


def _stems(stem: str) -> tuple[str, ...]:
    plain = stem
    for umlaut, vowel in (("ä", "a"), ("ö", "o"), ("ü", "u"), ("Ä", "A"), ("Ö", "O"), ("Ü", "U")):
        plain = plain.replace(umlaut, vowel)
    return stem, f"{stem}e", plain, f"{plain}er"


def person_word_counts(pairs: Iterable[SentencePair]) -> Counter[str]:
    """English words -> how often they occur in the position of a person: "she is a singer", "the mayor said"."""
    result = Counter[str]()
    for pair in pairs:
        words = flat(pair.source)
        for index, word in enumerate(words):
            if word in english.PERSON_VERBS and index:
                result[words[index - 1]] += 1
            if (
                word in ("a", "an")
                and index > 1
                and words[index - 1] in english.BEING
                and words[index - 2] in english.PERSON_SUBJECTS
            ):
                result.update(after for after in words[index + 1 : index + 4] if after.isalpha())
    return result


def professions(entries: Sequence[Entry], forms: Mapping[str, str], persons: Mapping[str, int]) -> list[Profession]:
    """The entries whose likely translations have a feminine, and whose English word denotes persons (`persons`) of
    either gender. `forms`: masculine -> feminine."""
    results = []
    for entry in entries:
        word = entry.source
        is_person = persons.get(word, 0) > 0 or (word.endswith(PERSON_ENDINGS) and not entry.uses)
        if not is_person or len(word) < 4 or NOT_NEUTRAL.fullmatch(word) or word in english.GENDERED | english.ANIMALS:
            continue
        best = entry.meanings[0]
        for meaning in entry.meanings:
            if meaning.noun in forms and meaning.weight >= LIKELY * best.weight:
                results.append(Profession(word, meaning.noun, forms[meaning.noun], entry.uses))
    return results


def with_article(words: str) -> str:
    """English words behind their indefinite article."""
    return f"{'an' if words[0] in 'aeioAEIO' else 'a'} {words}"
