"""Phrases without an article: the adjective has the strong ending of the noun's gender, the verb stands behind."""

from collections import Counter

from model.synthetic.context.nouns import Noun
from model.synthetic.words.phrases import DRAWN, phrases
from model.synthetic.words.translations import Translation

FILE, PAGE, BOOK = Noun("folder", "Ordner", "m", 9), Noun("page", "Seite", "f", 5), Noun("book", "Buch", "n", 4)
NEW, OPEN = Translation("new", "neu", 9), Translation("open", "öffnen", 3)


def test_adjectives_and_verbs_with_a_noun() -> None:
    assert set(phrases([FILE, PAGE, BOOK], [NEW], [OPEN], seed=1)) == {
        ("New folder", "Neuer Ordner"), ("New page", "Neue Seite"), ("New book", "Neues Buch"),
        ("Open folder", "Ordner öffnen"), ("Open page", "Seite öffnen"), ("Open book", "Buch öffnen"),
    }  # fmt: skip


def test_a_noun_that_changes_as_an_object_is_no_object() -> None:
    lion = Noun("lion", "Löwe", "m", 2)
    assert set(phrases([lion], [NEW], [OPEN], seed=1)) == {("New lion", "Neuer Löwe")}


def test_common_words_come_more_often_and_rare_ones_too() -> None:
    many = [Noun(f"n{number}", f"N{number}", "f", 1) for number in range(200)]
    made = list(phrases(many, [Translation("new", "neu", 99), Translation("odd", "seltsam", 3)], [], seed=1))
    counts = Counter(source.split()[0] for source, _ in made)
    assert len(made) == 200 * DRAWN
    assert counts["New"] > 2 * counts["Odd"] > 0
    assert made == list(phrases(many, [Translation("new", "neu", 99), Translation("odd", "seltsam", 3)], [], seed=1))
