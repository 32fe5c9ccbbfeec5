"""The words and frames that made sentences are drawn from. Training and dev have separate lists: no dev item tests a
noun or a predicate that stands in training documents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from model.synthetic.context.german import GENDERS, Gender
from model.synthetic.context.nouns import Noun
from model.synthetic.tables import Text, first_cells, read_sections, texts


@dataclass(frozen=True)
class SemanticClass:
    """Nouns that the same predicates select. `within_reach`: an animal can sniff at them."""

    nouns: tuple[Noun, ...]
    predicates: tuple[Text, ...]
    within_reach: bool = False


@dataclass(frozen=True)
class WordLists:
    """The nouns and the predicates of made sentences. Frames of the sentence before, which do not decide the
    antecedent, are the same for training and dev, and so are the cities, first names and adjectives in them."""

    classes: tuple[SemanticClass, ...]
    """The first are the animals."""
    plurals: tuple[Text, ...]
    persons: tuple[Text, ...]
    places: tuple[Text, ...]
    after: tuple[Text, ...]
    """Predicates of any thing."""
    repeated: tuple[Text, ...]
    """Predicates of a place."""
    event: tuple[Text, ...]
    pleonastic: tuple[Text, ...]
    choices: Mapping[str, tuple[tuple[str, ...], ...]]
    """What fills the slots of `event` and `pleonastic`: names of slots between bars -> their words, chosen together."""
    lives: tuple[Text, ...]
    work: tuple[Text, ...]
    surnames: tuple[str, ...]

    @property
    def nouns(self) -> list[Noun]:
        """Those of all classes."""
        return [noun for cls in self.classes for noun in cls.nouns]

    @property
    def predicates(self) -> list[Text]:
        """Every frame of an ambiguous sentence."""
        selecting = [predicate for cls in self.classes for predicate in cls.predicates]
        return [*selecting, *self.after, *self.repeated, *self.event, *self.pleonastic, *self.work]

    @cached_property
    def german_words(self) -> frozenset[str]:
        """Every German word with a capital letter: all nouns are among them."""
        return frozenset(word for text in self._german() for word in _words(text) if word[:1].isupper())

    def _german(self) -> Iterator[str]:
        yield from (noun.target for noun in self.nouns)
        for _, text in (*self.predicates, *self.plurals, *self.persons, *self.places, *self.lives):
            yield text
        for forms in self.choices.values():
            yield from (form for choice in forms for form in choice)
        yield from self.surnames


def _words(text: str) -> list[str]:
    return "".join(sign if sign.isalpha() or sign == "-" else " " for sign in text).split()


def read_word_lists(path: Path) -> WordLists:
    """The lists of a file of sections, in the form of training.tsv."""
    sections = read_sections(path)
    classes = {name: rows for name, rows in sections.items() if name.startswith("class ")}
    choices = {name.removeprefix("choice "): rows for name, rows in sections.items() if name.startswith("choice ")}
    pairs = ("plurals", "persons", "places", "after", "repeated", "event", "pleonastic", "lives", "work")
    return WordLists(
        classes=tuple(_semantic_class(*rows, within_reach="within reach" in name) for name, rows in classes.items()),
        choices=choices,
        surnames=first_cells(sections["surnames"]),
        **{name: texts(sections[name]) for name in pairs},
    )


def _semantic_class(nouns: tuple[str, ...], *predicates: tuple[str, ...], within_reach: bool) -> SemanticClass:
    """`nouns`: "english/German/gender" each."""
    genders: dict[str, Gender] = {gender: gender for gender in GENDERS}
    parts = (noun.split("/") for noun in nouns)
    return SemanticClass(tuple(Noun(s, t, genders[g], 1) for s, t, g in parts), texts(predicates), within_reach)


TRAINING_WORDS, DEV_WORDS = (read_word_lists(Path(__file__).with_name(f"{name}.tsv")) for name in ("training", "dev"))
