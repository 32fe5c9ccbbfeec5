"""Makes documents of two to five sentences, one of which is ambiguous without the sentences before it. Every kind of
document becomes a corpus of its own."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, islice

from model.data.items import Antecedent
from model.synthetic.context.biographies import PEOPLE, life, work
from model.synthetic.context.frames import it_frame, noun_frame
from model.synthetic.context.german import GENDERS, Gender
from model.synthetic.context.impersonal import impersonal
from model.synthetic.context.it import AmbiguousSentence, Reference
from model.synthetic.context.material import Material
from model.synthetic.context.nouns import Noun
from model.synthetic.context.professions import Profession
from model.synthetic.context.two_nouns import Made as TwoNouns
from model.synthetic.context.two_nouns import by_action, by_animacy, by_number, by_repetition, by_selection
from model.synthetic.tables import Text


@dataclass(frozen=True)
class Document:
    context: tuple[Text, ...]
    ambiguous: AmbiguousSentence
    answer: Gender
    """The gender of the right translation among `ambiguous.targets`."""
    after: tuple[Text, ...] = ()
    antecedent: Antecedent | None = None
    """The antecedent of the ambiguous pronoun; None where it is not a noun."""

    @property
    def sentences(self) -> list[Text]:
        return [*self.context, (self.ambiguous.source, self.ambiguous.targets[self.answer]), *self.after]


class DocumentGenerator:
    """Draws documents; the same seed, kind and material give the same documents."""

    def __init__(self, material: Material, seed: str) -> None:
        self.material, self.words, self.numbers = material, material.words, random.Random(seed)
        self.concrete = [noun for noun in material.things if noun.is_concrete]
        self.weights = [min(noun.count + 1, 60) ** 0.5 for noun in self.concrete]
        self.profession_weights = list(accumulate(profession.weight for profession in material.professions))
        people = material.antecedents.people
        self.people_weights = {g: list(accumulate(len(text[0]) for text in people[g])) for g in PEOPLE}

    def document(self, text: Text, ambiguous: AmbiguousSentence, answer: Gender, noun: Noun | None = None) -> Document:
        """A document with random sentences without nouns before, between or after; for persons also without names.
        `noun`: the antecedent in `text`."""

        def meant(place: int) -> Antecedent | None:
            return None if noun is None else Antecedent(place, noun.source, noun.target)

        result, draw = self.material.antecedents, self.numbers
        none = result.no_name if ambiguous.is_about_person else result.no_noun
        if not none:
            return Document((text,), ambiguous, answer, antecedent=meant(0))
        before = [draw.choice(none)] * (draw.random() < 0.2)
        between = draw.choices(none, k=draw.choices((0, 1, 2, 3), (70, 17, 9, 4))[0])
        after = [draw.choice(none)] * (draw.random() < 0.1)
        return Document((*before, text, *between), ambiguous, answer, tuple(after), meant(len(before)))

    def thing(self) -> Noun:
        return self.numbers.choices(self.concrete, self.weights)[0]

    def antecedent(self, gender: Gender) -> tuple[Text, Noun] | None:
        """A real pair with one noun, of this gender, or a frame with such a noun; None where the text has none."""
        result = self.material.antecedents.one_noun[gender]
        if result and self.numbers.random() < 0.75:
            return self.numbers.choice(result)
        nouns = [number for number, noun in enumerate(self.concrete) if noun.gender == gender]
        if not nouns:
            return None
        weights = [self.weights[number] for number in nouns]
        noun = self.concrete[self.numbers.choices(nouns, weights)[0]]
        return noun_frame(noun, self.numbers), noun

    def pronominal(self) -> Iterator[Document]:
        """Pairs made pronominal, after a real pair with the same noun, a frame with it, or any noun of its gender."""
        by_noun, draw = self.material.antecedents.by_noun, self.numbers
        two: dict[Noun, list[Text]] = {}
        for text, first, second in self.material.antecedents.two_nouns:
            two.setdefault(first, []).append(text)
            two.setdefault(second, []).append(text)
        for pair in self.material.pronominal * 3:
            same = [text for text in by_noun.get(pair.noun, ()) if text[0] != pair.original]
            both = [text for text in two.get(pair.noun, ()) if text[0] != pair.original]
            dice, noun = draw.random(), pair.noun
            if both and dice < 0.2:
                text = draw.choice(both)  # the sentence itself decides between the two
            elif same and dice < 0.6:
                text = draw.choice(same)
            elif dice < 0.85:
                text = noun_frame(noun, draw)
            else:
                text, noun = self.antecedent(pair.answer) or (noun_frame(noun, draw), noun)
            yield self.document(text, pair.ambiguous, pair.answer, noun)

    def swap(self) -> Iterator[Document]:
        """Real pairs with a referential "it", in every gender in turn."""
        for ambiguous in self.material.referential * 2:
            for gender in GENDERS:
                result = self.antecedent(gender)
                if result:
                    yield self.document(result[0], ambiguous, gender, result[1])

    def keep(self, reference: Reference, sentences: Sequence[AmbiguousSentence]) -> Iterator[Document]:
        """Pleonastic and event "it" after nouns whose pronoun would be "er" or "sie": about a third of them are real
        pairs where there are some, the rest are made. They follow the same sentences as a referential "it"."""
        while True:
            made = not sentences or self.numbers.random() < 0.65
            ambiguous = impersonal(reference, self.words, self.numbers) if made else self.numbers.choice(sentences)
            yield self.document(self._nouns(), ambiguous, "n")

    def _nouns(self) -> Text:
        """A sentence with one noun or two, as each of the other kinds has them."""
        two, draw = self.material.antecedents.two_nouns, self.numbers
        dice = draw.random()
        if dice < 0.15 and two:
            return draw.choice(two)[0]
        if dice < 0.4:
            return by_action(self.words, draw)[0]
        if dice < 0.55:
            made = draw.choice((by_number, by_animacy, by_repetition))
            return made(self.words, self.concrete, draw)[0]
        if dice < 0.62:
            return by_selection(self.words, draw)[0]
        if dice < 0.8:
            return noun_frame(self.thing(), draw)
        result = self.antecedent(draw.choices(GENDERS, (45, 45, 10))[0])
        return result[0] if result else noun_frame(self.thing(), draw)

    def frame(self) -> Iterator[Document]:
        while True:
            noun = self.thing()
            ambiguous = it_frame(self.numbers, self.words.after)
            if self.material.referential and self.numbers.random() < 0.3:
                ambiguous = self.numbers.choice(self.material.referential)
            yield self.document(noun_frame(noun, self.numbers), ambiguous, noun.gender, noun)

    def two_nouns(self, made: Callable[[], TwoNouns]) -> Iterator[Document]:
        while True:
            text, ambiguous, noun, _ = made()
            yield self.document(text, ambiguous, noun.gender, noun)

    def professions(self, count: int) -> list[Profession]:
        return self.numbers.choices(self.material.professions, cum_weights=self.profession_weights, k=count)

    def person(self, gender: Gender) -> Text | None:
        """A real pair with he or she, long pairs more often: there a pronoun is harder to find. None where the text
        has none."""
        result = self.material.antecedents.people[gender]
        return self.numbers.choices(result, cum_weights=self.people_weights[gender])[0] if result else None

    def persons(self) -> Iterator[Document]:
        """Real pairs as they are, and with another profession, for he and for she."""
        for pair in self.material.persons * 2:
            changed = (pair.with_profession(other) for other in self.professions(3))
            for variant in (pair, *filter(None, changed)):
                for gender in PEOPLE:
                    before = self.person(gender)
                    if before is not None:
                        yield self.document(before, variant.ambiguous, gender)

    def biography(self) -> Iterator[Document]:
        """A frame with a profession after a frame, or after a real sentence, with he or she."""
        while self.material.professions:
            gender, surname = self.numbers.choice(PEOPLE), self.numbers.choice(self.words.surnames)
            profession, other = self.professions(2)
            ambiguous = work(profession, other, surname, self.words.work, self.numbers)
            real = self.person(gender) if self.numbers.random() < 0.4 else None
            yield self.document(real or life(gender, surname, self.words.lives, self.numbers), ambiguous, gender)

    def unrelated(self) -> Iterator[list[Text]]:
        """Unrelated sentences in a row: context that decides nothing."""
        shuffled = self.numbers.sample(self.material.everything, len(self.material.everything))
        for start in range(0, len(shuffled) - 3, 3):
            yield shuffled[start : start + 3]


SIZES: Mapping[str, int] = {
    "pronominal": 25_000, "swap": 10_000, "pleonastic": 14_000, "event": 14_000, "frame": 15_000, "selection": 8_000,
    "number": 4_000, "animacy": 5_000, "repetition": 4_000, "person": 16_000, "biography": 12_000,
}  # fmt: skip
"""The most documents of each kind; there are fewer where the text has fewer."""
UNRELATED = 25_000


def made_documents(
    material: Material, seed: int, share: float = 1.0, without: Set[str] = frozenset()
) -> dict[str, list[Document]]:
    """Kind -> documents; `share` of SIZES. No document has an ambiguous sentence of `without`."""
    results = {}
    for kind, size in SIZES.items():
        maker = DocumentGenerator(material, f"{seed}/{kind}")
        drawn = islice(_of_kind(maker, kind), round(size * share * 4))
        documents = [document for document in drawn if document.ambiguous.source not in without]
        maker.numbers.shuffle(documents)
        results[kind] = documents[: round(size * share)]
    return results


def ambiguous_sentences(documents: Mapping[str, Iterable[Document]]) -> frozenset[str]:
    """The English sides of ambiguous sentences."""
    return frozenset(document.ambiguous.source for made in documents.values() for document in made)


def _of_kind(maker: DocumentGenerator, kind: str) -> Iterator[Document]:
    material, words, numbers, things = maker.material, maker.words, maker.numbers, maker.concrete
    if not things and kind not in ("person", "biography"):
        return iter(())
    match kind:
        case "pronominal":
            return maker.pronominal()
        case "swap":
            return maker.swap()
        case "pleonastic":
            return maker.keep("pleonastic", material.pleonastic)
        case "event":
            return maker.keep("event", material.event)
        case "frame":
            return maker.frame()
        case "selection":
            return maker.two_nouns(lambda: (by_action if numbers.random() < 0.5 else by_selection)(words, numbers))
        case "number":
            return maker.two_nouns(lambda: by_number(words, things, numbers))
        case "animacy":
            return maker.two_nouns(lambda: by_animacy(words, things, numbers))
        case "repetition":
            return maker.two_nouns(lambda: by_repetition(words, things, numbers))
        case "person":
            return maker.persons()
        case _:
            return maker.biography()
