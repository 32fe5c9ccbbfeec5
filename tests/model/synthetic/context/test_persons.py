"""Professions: which words name persons, their forms, and sentences that are made with them."""

import random
import re

import pytest

from model.data.corpus import SentencePair
from model.synthetic.context.biographies import work
from model.synthetic.context.dictionary import Entry, Meaning
from model.synthetic.context.german import Gender
from model.synthetic.context.persons import person_pairs
from model.synthetic.context.professions import Profession, feminines, person_word_counts, professions
from model.synthetic.context.wordlists import TRAINING_WORDS

AUTHOR = Profession("author", "Autor", "Autorin", 90)
TEACHER = Profession("teacher", "Lehrer", "Lehrerin", 800)
PRESIDENT = Profession("president", "Präsident", "Präsidentin", 70)
FORMS = {item.masculine: item.feminine for item in (AUTHOR, TEACHER, PRESIDENT)}


def test_a_masculine_noun_finds_its_feminine() -> None:
    genders: dict[str, Gender] = dict.fromkeys(("Lehrer", "Arzt", "Biologe", "Berlin", "Termin", "Führer"), "m")
    genders |= dict.fromkeys(("Lehrerin", "Ärztin", "Biologin", "Führerin"), "f")
    assert feminines(genders) == {"Lehrer": "Lehrerin", "Arzt": "Ärztin", "Biologe": "Biologin"}


def test_words_that_stand_where_a_person_stands() -> None:
    text = ("She is a famous singer.", "He was an actor.", "The mayor said no.", "The printer is a good one.")
    counts = person_word_counts(SentencePair(sentence, "", 0) for sentence in text)
    assert {"singer", "actor", "mayor"} <= counts.keys()
    assert "printer" not in counts


def entry(source: str, *nouns: tuple[str, int], uses: int = 9) -> Entry:
    return Entry(source, tuple(Meaning(noun, "m", together, True, 0) for noun, together in nouns), uses, 0)


def test_professions_are_words_of_persons_with_their_likely_translations() -> None:
    entries = [
        entry("writer", ("Schriftsteller", 20), ("Autor", 9), ("Schreiber", 1)),
        entry("printer", ("Drucker", 40)),
        entry("queen", ("Herrscher", 9)),
        entry("cellist", ("Cellist", 0), uses=0),
        entry("tiger", ("Tiger", 9)),
    ]
    nouns = ("Schriftsteller", "Autor", "Schreiber", "Drucker", "Herrscher", "Cellist", "Tiger")
    forms = {noun: f"{noun}in" for noun in nouns}
    result = professions(entries, forms, {"writer": 3, "queen": 2, "tiger": 1})
    assert [(sentence.source, sentence.masculine, sentence.feminine) for sentence in result] == [
        ("writer", "Schriftsteller", "Schriftstellerin"),
        ("writer", "Autor", "Autorin"),
        ("cellist", "Cellist", "Cellistin"),
    ]


@pytest.mark.parametrize(
    ("masculine", "oblique", "genitive"),
    [
        ("Lehrer", "Lehrer", "Lehrers"),
        ("Autor", "Autor", "Autors"),
        ("Arzt", "Arzt", "Arztes"),
        ("Präsident", "Präsidenten", "Präsidenten"),
        ("Biologe", "Biologen", "Biologen"),
        ("Nachbar", "Nachbarn", "Nachbarn"),
        ("Narr", "Narren", "Narren"),
    ],
)
def test_masculine_forms_are_those_of_a_grammar(masculine: str, oblique: str, genitive: str) -> None:
    profession = Profession("x", masculine, f"{masculine}in", 1)
    assert (profession.oblique, profession.genitive) == (oblique, genitive)


def found_pair(source: str, target: str) -> tuple[str, str, Profession] | None:
    """With "author" in the place of the profession, and what stood there."""
    pairs = person_pairs([SentencePair(source, target, 0)], (TEACHER, AUTHOR, PRESIDENT), FORMS)
    other = pairs[0].with_profession(AUTHOR) if pairs else None
    return None if other is None else (other.source, other.feminine, pairs[0].profession)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("A teacher spoke.", "Ein Lehrer sprach.", ("An author spoke.", "Eine Autorin sprach.", TEACHER)),
        ("I know the teacher.", "Ich kenne den Lehrer.", ("I know the author.", "Ich kenne die Autorin.", TEACHER)),
        ("The president left.", "Der Präsident ging.", ("The author left.", "Die Autorin ging.", PRESIDENT)),
        ("I saw the president.", "Ich sah den Präsident.", None),  # whose form would be another one
        ("The teacher's car.", "Das Auto des Lehrers.", None),
        ("The teacher and the author.", "Der Lehrer und der Autor.", None),
        ("She is a teacher.", "Sie ist Lehrer.", None),  # says itself who it is
    ],
)
def test_another_profession_takes_the_place(
    source: str, target: str, expected: tuple[str, str, Profession] | None
) -> None:
    assert found_pair(source, target) == expected


def test_a_weak_noun_takes_the_place_in_the_nominative_only() -> None:
    subject, thing = person_pairs(
        [
            SentencePair("The teacher left.", "Der Lehrer ging.", 0),
            SentencePair("See the teacher.", "Sieh den Lehrer.", 0),
        ],
        (TEACHER,),
        FORMS,
    )
    changed = subject.with_profession(PRESIDENT)
    assert changed is not None
    assert changed.ambiguous.targets == {"m": "Der Präsident ging.", "f": "Die Präsidentin ging."}
    assert thing.with_profession(PRESIDENT) is None


@pytest.mark.parametrize("profession", [AUTHOR, PRESIDENT])
def test_every_frame_has_the_profession_in_both_genders(profession: Profession) -> None:
    numbers, seen = random.Random(1), set[str]()
    patterns = {frame: re.sub(r"\\{\w+\\}", ".+", re.escape(frame)) for frame, _ in TRAINING_WORDS.work}
    masculine = {profession.masculine, profession.oblique, profession.genitive}
    for _ in range(40 * len(TRAINING_WORDS.work)):
        ambiguous = work(profession, TEACHER, "Miller", TRAINING_WORDS.work, numbers)
        assert not set("{}") & set(ambiguous.source + ambiguous.targets["m"] + ambiguous.targets["f"])
        men, women = (set(ambiguous.targets[gender].replace(".", "").replace(",", "").split()) for gender in ("m", "f"))
        assert masculine & men
        assert profession.feminine in women
        assert not masculine & women
        seen |= {frame for frame, pattern in patterns.items() if re.fullmatch(pattern, ambiguous.source)}
    assert seen == patterns.keys()


def test_forms_agree_in_every_case() -> None:
    numbers, sentences = random.Random(1), set[str]()
    for _ in range(4000):
        ambiguous = work(PRESIDENT, TEACHER, "Miller", TRAINING_WORDS.work, numbers)
        sentences |= set(ambiguous.targets.values())
    for expected in (
        "Das Buch handelt von der Kindheit des Präsidenten.",
        "Das Buch handelt von der Kindheit der Präsidentin.",
        "Man sprach stundenlang mit dem Präsidenten.",
        "Man sprach stundenlang mit der Präsidentin.",
        "Viele kennen den deutschen Präsidenten noch.",
        "Viele kennen die deutsche Präsidentin noch.",
        "Es ist das erste Werk des jungen Präsidenten.",
        "Miller arbeitete als Präsidentin und später als Lehrerin.",
    ):
        assert expected in sentences
