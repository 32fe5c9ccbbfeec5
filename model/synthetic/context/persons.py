"""Persons whose gender English leaves open, while German marks it ("Lehrer", "Lehrerin"). The pronoun of the sentence
before decides. Real pairs with a masculine profession are made feminine by rule,
and other professions are put in its place."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.data.corpus import SentencePair
from model.synthetic.context import english
from model.synthetic.context.german import feminine, is_nominative, only_person
from model.synthetic.context.it import AmbiguousSentence
from model.synthetic.context.professions import Profession, with_article
from model.synthetic.context.words import Word, capitalized, flat, join, like, split, unique_index

MAX_WORDS = 30


@dataclass(frozen=True)
class PersonPair:
    """A real pair with one profession and no other mark of its gender."""

    source: str
    masculine: str
    feminine: str
    """The translations."""
    profession: Profession
    takes_weak: bool
    """Whether a weak noun can stand in the profession's place: it is in the nominative."""

    @property
    def ambiguous(self) -> AmbiguousSentence:
        return AmbiguousSentence(self.source, {"m": self.masculine, "f": self.feminine}, "person")

    def with_profession(self, other: Profession) -> "PersonPair | None":
        """The pair with another profession in its place; None where the form is ambiguous."""
        if not self.takes_weak and (other.is_weak or self.profession.is_weak):
            return None
        source = _other_source(self.source, self.profession.source, other.source)
        masculine = _other_target(self.masculine, self.profession.masculine, other.masculine)
        made = _other_target(self.feminine, self.profession.feminine, other.feminine)
        if source is None or masculine is None or made is None:
            return None
        return PersonPair(source, masculine, made, other, self.takes_weak)


def person_pairs(
    pairs: Iterable[SentencePair], known: Sequence[Profession], forms: Mapping[str, str]
) -> list[PersonPair]:
    """Real pairs with one profession and no other person, masculine as they are and made feminine."""
    by_words = {(profession.source, profession.masculine): profession for profession in known}
    sources = {profession.source for profession in known}
    results = []
    for pair in pairs:
        words = set(flat(pair.source))
        here = words & sources
        if len(here) != 1 or words & english.GENDERED or len(pair.source.split()) > MAX_WORDS:
            continue
        target = split(pair.target)
        person, made = only_person(target, forms), feminine(target, forms)
        if person is None or made is None:
            continue
        index, masculine = person
        profession = by_words.get((here.pop(), masculine))
        if profession is not None:
            takes_weak = is_nominative(target, index)
            results.append(PersonPair(pair.source, pair.target, join(made), profession, takes_weak))
    return results


def _other_source(sentence: str, old: str, new: str) -> str | None:
    """`new` in the place of the only `old`, with the article that it needs; None where there is not exactly one."""
    words = split(sentence)
    index = _exchange(words, old, new)
    if index is None:
        return None
    if index and words[index - 1].lower in ("a", "an"):
        article = with_article(new).split()[0]
        words[index - 1] = words[index - 1]._replace(core=like(article, words[index - 1].core))
    return join(words)


def _other_target(sentence: str, old: str, new: str) -> str | None:
    """`new` in the place of the only `old`, in the same form; None where there is not exactly one."""
    words = split(sentence)
    return None if _exchange(words, old, new) is None else join(words)


def _exchange(words: list[Word], old: str, new: str) -> int | None:
    """Put `new` in the place of the only `old`, in `words` itself. Returns the place; None where there is not exactly
    one."""
    index = unique_index(words, lambda word: word.core in (old, capitalized(old)))
    if index is not None:
        words[index] = words[index]._replace(core=like(new, words[index].core))
    return index
