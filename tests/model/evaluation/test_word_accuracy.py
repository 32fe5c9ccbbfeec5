"""Word sets: their items, and which translations count as right."""

from pathlib import Path

import pytest

from model.data.word_sets import WordItem, WordSetError, read_word_set
from model.evaluation.word_accuracy import is_right, word_accuracy

WORDS = Path(__file__).parents[3] / "model" / "synthetic" / "words" / "en-de.tsv"


def test_a_word_gives_an_item_alone_and_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(
        "noun\tapple\tApfel\nnoun\tstairs\tTreppe|Stufen\ninterface\tSave as...\tSpeichern unter\n"
        "adjective\tugly\thässlich\nverb\tsew\tnähen\n", "utf-8",
    )  # fmt: skip
    assert [(item.kind, item.source) for item in read_word_set(path)] == [
        ("noun", "apple"), ("noun in a sentence", "Where is the apple?"),
        ("noun", "stairs"), ("noun in a sentence", "I can see the stairs."),
        ("interface", "Save as..."),
        ("adjective", "ugly"), ("adjective in a sentence", "This is an ugly house."),
        ("verb", "to sew"), ("verb in a sentence", "Can you sew it?"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "accepted", "translation", "right"),
    [
        ("noun", "Hut", "Der Hut ist neu.", True),
        ("noun", "Hut", "Das Hutgeschäft ist neu.", False),
        ("noun", "Hut", "Die hut ist neu.", False),
        ("interface", "Speichern unter", "speichern unter ...", True),
        ("interface", "Speichern unter", "Speichern", False),
        ("adjective", "still", "Still", False),
        ("adjective in a sentence", "dunkel", "Ein dunkler Hund.", True),
        ("adjective in a sentence", "dunkel", "Ein verdunkelter Hund.", False),
        ("verb in a sentence", "leihen", "Ich will es ausleihen.", False),
    ],
)
def test_whole_words_count(kind: str, accepted: str, translation: str, right: bool) -> None:
    assert is_right(WordItem(kind, "x", ("nothing", accepted)), translation) is right


def test_accuracy_by_kind_with_the_mistakes() -> None:
    items = [WordItem("noun", "lamp", ("Lampe",)), WordItem("interface", "Back", ("Zurück",)),
             WordItem("noun", "hat", ("Hut",))]  # fmt: skip
    nouns, interface = word_accuracy(items, lambda sources: ["Lampe" for _ in sources])
    assert (nouns.items, nouns.right, nouns.mistakes) == (2, 1, (("hat", "Lampe"),))
    assert (interface.items, interface.right) == (1, 0)


@pytest.mark.parametrize("line", ["noun\tlamp", "adverb\toften\toft", "noun\t\tLampe", ""])
def test_a_line_that_is_no_item_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words.tsv"
    path.write_text(f"noun\thut\tHütte\n{line}\n", "utf-8")
    with pytest.raises(WordSetError, match="line 2"):
        read_word_set(path)


def test_the_set_asks_nothing_twice() -> None:
    sources = [item.source for item in read_word_set(WORDS)]
    assert len(sources) == len(set(sources)) > 250
