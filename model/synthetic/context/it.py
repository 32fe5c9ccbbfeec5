"""The pronoun "it" in a sentence pair: what it refers to, and its German forms.

Referential: a noun is its antecedent, and German agrees with the gender of its translation. Pleonastic ("It rains.")
and event ("It came as a surprise."): The German pronoun is always "es". Ambiguous cases are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from model.data.corpus import SentencePair
from model.synthetic.context import english
from model.synthetic.context.german import GENDERS, PRONOUNS, Case, Gender
from model.synthetic.context.words import flat, join, like, listed, split

Reference = Literal["referential", "pleonastic", "event"]


@dataclass(frozen=True)
class AmbiguousSentence:
    """A sentence with one ambiguous word, which context decides: its translation for each possible answer."""

    source: str
    targets: Mapping[Gender, str]
    """Answer -> translation."""
    kind: str

    @property
    def is_about_person(self) -> bool:
        return "n" not in self.targets


def one_it(words: Sequence[str]) -> int | None:
    """The place of the only third-person pronoun, if it is "it"."""
    indices = [index for index, word in enumerate(words) if word in english.THIRD_PERSON]
    return indices[0] if len(indices) == 1 and words[indices[0]] == "it" else None


def answers(target: str, case: Case) -> dict[Gender, str] | None:
    """The target with its only "es" (or er, sie, ihn) in every gender; None where there is not exactly one."""
    words = split(target)
    forms = set(PRONOUNS[case].values())
    third = [index for index, word in enumerate(words) if word.lower in {"er", "sie", "es", "ihn", "ihm", "sein"}]
    indices = [index for index in third if words[index].lower in forms]
    if len(indices) != 1 or len(third) != 1:
        return None
    index = indices[0]
    pronoun = words[index].core
    if pronoun == "Sie" and (index > 0 or _is_plural_verb(words[1].core if len(words) > 1 else "")):
        return None  # polite "you", or "they"
    return {
        gender: join([*words[:index], words[index]._replace(core=like(form, pronoun)), *words[index + 1 :]])
        for gender, form in PRONOUNS[case].items()
    }


def gender_of_answer(target: str, forms: Mapping[Gender, str]) -> Gender | None:
    """The gender of the answer that equals the target, up to blanks; None where no answer does ("ES")."""
    plain = " ".join(target.split())
    return next((gender for gender in GENDERS if forms[gender] == plain), None)


def _is_plural_verb(word: str) -> bool:
    return word.endswith("en") or word in ("sind", "sein", "tun")


class ThingPredicates:
    """Adjectives and verbs that the text uses with things: "The lamp is broken.", "I lost the key."."""

    def __init__(self, sentences: Iterable[str], things: Set[str]) -> None:
        adjectives, verbs, governing = Counter[str](), Counter[str](), Counter[str]()
        for sentence in sentences:
            words = flat(sentence)
            for index in range(1, len(words) - 1):
                if words[index] not in things or words[index - 1] not in english.DEFINITE:
                    continue
                rest = [word for word in words[index + 1 :] if word not in english.AUXILIARIES]
                if index == 1 and rest:
                    (adjectives if words[2] in ("is", "was", "'s") else verbs).update(rest[:1])
                if index > 1 and words[index - 2].isalpha() and words[index - 2] not in english.PREPOSITIONS:
                    governing[words[index - 2]] += 1
        judgements = english.JUDGEMENTS | english.TIME_AND_WEATHER
        known = english.FUNCTION | english.DETERMINERS | judgements
        self.things = things
        self.adjectives = {word for word in adjectives if word not in known and word.isalpha() and len(word) > 2}
        impersonal = english.EVENTS | english.IMPERSONAL | english.WEATHER | judgements
        self.verbs = {word for word, n in verbs.items() if n > 1 and word.isalpha() and word not in impersonal}
        self.governing = {word for word, n in governing.items() if n > 1 and word not in english.FUNCTION}

    def reference(self, words: Sequence[str], index: int) -> tuple[Reference, Case] | None:
        """The reference of the "it" at `index`, and the case of its translation; None where it is uncertain."""
        before = words[index - 1] if index else "."
        if index == 0 or before in ("is", "was", "does", "did", "will", "has", "that", "think", "hope", ",", "``", '"'):
            result = self._subject(words[index + 1 :])
            return (result, "nominative") if result else None
        after = words[index + 1] if index + 1 < len(words) else "."
        if before in english.EVENT_VERBS:
            return "event", "accusative"
        if self.things & set(words[:index]):
            return None  # the antecedent may stand in the same sentence
        if before in self.governing and (after in OBJECT_ENDS or not after.isalpha()):
            return "referential", "accusative"
        return None

    def _subject(self, rest: Sequence[str]) -> Reference | None:
        content_words = [word for word in rest if word.isalpha() and word not in english.AUXILIARIES]
        if not content_words:
            return None
        head = content_words[0]
        clause = any(word in english.CLAUSE for word in rest)
        if head in english.WEATHER | english.IMPERSONAL | english.TIME_AND_WEATHER:
            return "pleonastic"
        if clause and (head in english.JUDGEMENTS or head in self.adjectives):
            return "pleonastic"
        if head in english.EVENTS | english.JUDGEMENTS:
            return "event"
        if head in english.DETERMINERS and set(content_words[1:4]) & english.EVENT_NOUNS:
            return "event"
        is_state = any(word in ("is", "was", "'s", "been", "be") for word in rest[:3])
        if set(content_words) & (english.JUDGEMENTS | english.TIME_AND_WEATHER):
            return None
        if not clause and head in self.adjectives and is_state and len(content_words) <= 2:
            return "referential"
        if not clause and head in self.verbs and not is_state:
            return "referential"
        if not clause and head in ("in", "on", "under", "behind", "made", "mine", "yours", "here", "there", "called"):
            return "referential"
        return None


OBJECT_ENDS = frozenset(
    listed(
        "in on to from at again back now today yesterday tomorrow with for up down out away off here there"
        " myself yourself because anymore either too by without right very well alone last once already yet"
        " before after"
    )
)
_GERMAN_EXPLETIVE = re.compile(r", (dass|wenn|ob|wie|was|zu)\b|\b(es gibt|es gab|gibt es|gab es)\b|'s\b", re.IGNORECASE)


def sort_pronouns(
    pairs: Iterable[SentencePair], predicates: ThingPredicates, max_words: int = 16
) -> dict[Reference, list[AmbiguousSentence]]:
    """The pairs with one "it" whose reference is sure, without another third-person pronoun on either side."""
    results: dict[Reference, list[AmbiguousSentence]] = {"referential": [], "pleonastic": [], "event": []}
    for pair in pairs:
        words = flat(pair.source)
        index = one_it(words) if len(words) <= max_words else None
        sorted_as = predicates.reference(words, index) if index is not None else None
        if sorted_as is None:
            continue
        reference, case = sorted_as
        forms = answers(pair.target, case)
        if forms is None:
            continue
        gender = gender_of_answer(pair.target, forms)
        if gender and reference == "referential" and not _GERMAN_EXPLETIVE.search(pair.target):
            results[reference].append(AmbiguousSentence(pair.source, forms, "swap"))
        elif reference != "referential" and gender == "n":
            results[reference].append(AmbiguousSentence(pair.source, forms, reference))
    return results
