"""Nothing that a dev item asks about stands in training: neither the nouns nor the predicates, whatever list or text
they are drawn from."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from model.data.corpus import read_corpus
from model.synthetic.context.biographies import ADJECTIVES as LIFE_ADJECTIVES
from model.synthetic.context.biographies import CITIES, FIRST_NAMES, PEOPLE
from model.synthetic.context.frames import ADJECTIVES, BEFORE
from model.synthetic.context.genders import read_lexicon
from model.synthetic.context.german import GENDERS
from model.synthetic.context.make import Document, ambiguous_sentences, made_documents
from model.synthetic.context.material import Material, find_material
from model.synthetic.context.nouns import Noun
from model.synthetic.context.professions import Profession
from model.synthetic.context.two_nouns import ACTIONS, APART, BESIDE_PERSON, BESIDE_PLURAL, TOGETHER
from model.synthetic.context.wordlists import DEV_WORDS, TRAINING_WORDS, SemanticClass
from model.synthetic.context.words import listed
from tests.model.synthetic.context.test_make import LEXICON, SAMPLE

FRAMES_BEFORE = (BEFORE, TOGETHER, ACTIONS, BESIDE_PLURAL, BESIDE_PERSON, APART)
"""Frames of the sentence before, which decide nothing: training and dev share them."""
FILLERS = (ADJECTIVES, LIFE_ADJECTIVES, CITIES, *FIRST_NAMES.values(), PEOPLE, GENDERS)
FUNCTION_WORDS = set(listed("Der Die Das Eine Er Ich In Mein Meine Wer Wir The My A C G I N P Q S Y"))
"""Words and slots at the beginning of a sentence: no nouns."""
MORE = "Lampe\tf\tlamp\nBriefmarke\tf\tstamp\nBett\tn\tbed\nGabel\tf\tfork\nInsel\tf\tisland\nSofa\tn\tsofa\n"
"""Nouns beside those of test_make."""


class Recorder(random.Random):
    """Keeps everything that was drawn."""

    drawn: ClassVar[list[Any]] = []

    def choice(self, seq: Any) -> Any:
        self.drawn.append(result := super().choice(seq))
        return result

    def choices(self, population: Any, *args: Any, **more: Any) -> list[Any]:
        result = super().choices(population, *args, **more)
        self.drawn.extend(result)
        return result

    def sample(self, population: Any, *args: Any, **more: Any) -> list[Any]:
        result = super().sample(population, *args, **more)
        self.drawn.extend(result)
        return result


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> tuple[Material, Material]:
    path: Path = tmp_path_factory.mktemp("lexicon") / "genders.tsv"
    path.write_text(LEXICON + MORE, encoding="utf-8")
    pairs = [pair for name in ("tatoeba", "dialogues") for pair in read_corpus(SAMPLE, name, "en", "de")]
    return find_material(pairs, read_lexicon(path))


def with_class_nouns(half: Material) -> Material:
    """The small sample has few things for dev: the nouns of the lists stand in for them."""
    return Material(**(vars(half) | {"things": [*half.things, *half.words.nouns]}))


Made = tuple[dict[str, list[Document]], list[Any]]


@pytest.fixture(scope="module")
def halves(material: tuple[Material, Material]) -> tuple[Made, Made]:
    """Documents of training and of dev, and what was drawn for each."""
    training, dev = map(with_class_nouns, material)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random, "Random", Recorder)
        Recorder.drawn = []
        documents = made_documents(training, seed=1, share=0.05)
        drawn, Recorder.drawn = Recorder.drawn, []
        items = made_documents(dev, seed=1, share=0.05, without=ambiguous_sentences(documents))
        return (documents, drawn), (items, Recorder.drawn)


def names(drawn: Iterable[Any]) -> set[str]:
    """Every noun and every text that was drawn, a class with all that it holds."""
    results: set[str] = set()
    for sentence in drawn:
        match sentence:
            case Noun():
                results.add(sentence.target)
            case Profession():
                results |= {sentence.masculine, sentence.feminine}
            case SemanticClass():
                results |= {noun.target for noun in sentence.nouns} | {source for source, _ in sentence.predicates}
            case str():
                results.add(sentence)
            case (str(), *_):
                results |= set(filter(lambda part: isinstance(part, str), sentence))
            case ((str(), str()), Noun()):
                results |= {*sentence[0], sentence[1].target}
            case _ if hasattr(sentence, "source"):
                results.add(sentence.source)
    return results


def texts(lists: Iterable[Iterable[Any]]) -> set[str]:
    return names(item for some in lists for item in some)


def test_nothing_that_was_drawn_for_dev_was_drawn_for_training(
    material: tuple[Material, Material], halves: tuple[Made, Made]
) -> None:
    (_, drawn), (_, drawn_for_dev) = halves
    assert min(len(drawn), len(drawn_for_dev)) > 1000
    real: Sequence[Sequence[Any]] = [half.everything for half in material]  # sentences without a noun that is meant
    both = names(drawn) & names(drawn_for_dev) - texts((*FRAMES_BEFORE, *FILLERS, *real))
    assert both == set()


def test_no_sentence_that_dev_asks_about_is_decided_in_training(halves: tuple[Made, Made]) -> None:
    (documents, _), (items, _) = halves
    assert {kind for kind, made in items.items() if made} >= {
        "pleonastic", "event", "frame", "selection", "number", "animacy", "repetition",
    }  # fmt: skip
    assert not ambiguous_sentences(documents) & ambiguous_sentences(items)


def test_a_sentence_that_training_decides_is_left_out_whatever_drew_it(material: tuple[Material, Material]) -> None:
    """Real pairs of different nouns may become the same sentence: "It is broken." """
    dev = with_class_nouns(material[1])
    ambiguous = sorted(ambiguous_sentences(made_documents(dev, seed=1, share=0.01)))
    gone = frozenset(ambiguous[::2])
    left = ambiguous_sentences(made_documents(dev, seed=1, share=0.01, without=gone))
    assert left
    assert not left & gone


def test_the_lists_share_no_noun_and_no_predicate() -> None:
    assert all(noun.is_dev for noun in DEV_WORDS.nouns)
    shared = DEV_WORDS.german_words & TRAINING_WORDS.german_words
    assert shared <= FUNCTION_WORDS
    assert not {source for source, _ in DEV_WORDS.predicates} & {source for source, _ in TRAINING_WORDS.predicates}
    for side in (0, 1):
        assert not {text[side] for text in DEV_WORDS.lives} & {text[side] for text in TRAINING_WORDS.lives}
    assert not set(DEV_WORDS.surnames) & set(TRAINING_WORDS.surnames)


def test_a_noun_of_the_training_lists_is_none_of_dev(material: tuple[Material, Material]) -> None:
    """The nouns "ship" and "owl" are nouns that the hash keeps for dev, and stand in the lists of training."""
    _, dev = material
    assert any(noun.is_dev for noun in TRAINING_WORDS.nouns)
    assert not {noun.target for noun in dev.things} & TRAINING_WORDS.german_words
    assert not {profession.masculine for profession in dev.professions} & TRAINING_WORDS.german_words


@pytest.mark.parametrize("lists", [TRAINING_WORDS, DEV_WORDS])
def test_a_class_has_an_animal_things_within_reach_and_two_genders(lists: Any) -> None:
    """What the drawing of two nouns relies on."""
    assert not lists.classes[0].within_reach
    assert sum(class_.within_reach for class_ in lists.classes) >= 3
    assert all(len({noun.gender for noun in class_.nouns}) > 1 for class_ in lists.classes)
