"""Words that are no language are not given to the model; language is."""

import random
import string
from pathlib import Path

import pytest

from server.settings import BUNDLED_MODELS
from server.text.base.pieces import Pieces
from server.text.protect.garbled import LEAST_PIECES, garbled_words
from server.text.protect.restoring import restore
from server.text.split.plan import plan_sentence
from tests.growth import assert_linear

SAMPLE = Path(__file__).parents[3] / "sample"


@pytest.fixture(scope="module")
def large() -> Pieces:
    return Pieces(BUNDLED_MODELS / "en-de" / "vocabulary.model")


def at_random(seed: int) -> str:
    chance = random.Random(seed)
    letters = string.ascii_lowercase + chance.choice(("", string.digits, string.ascii_uppercase))
    words = ("".join(chance.choices(letters, k=chance.randint(4, 9))) for _ in range(chance.randint(5, 9)))
    return " ".join(words)


@pytest.mark.parametrize("name", ["dev.en", "dev.de", "manual.en", "tatoeba.en", "tatoeba.de"])
def test_no_sentence_of_a_language_is_garbled(large: Pieces, name: str) -> None:
    lines = (SAMPLE / name).read_text().split("\n")
    read = large.in_language(name[-2:])
    assert [line for line in lines if garbled_words(line, read)] == []
    assert [line for line in lines if garbled_words(line.upper(), read)] == []


def test_keys_struck_at_random_are(large: Pieces) -> None:
    sentences = [at_random(seed) for seed in range(300)]
    found = [sentence for sentence in sentences if garbled_words(sentence, large)]
    assert len(found) > 0.95 * len(sentences)


@pytest.mark.parametrize(
    ("sentence", "kept"),
    [
        ("asdkjh qwelkj zxcmnb poiqwe lkjasd", "asdkjh qwelkj zxcmnb poiqwe lkjasd"),
        ("ATGCGTACGTTAGCATCGATCGATCGATCGATTACG", "ATGCGTACGTTAGCATCGATCGATCGATCGATTACG"),
        ("The key is wqxzjk vbnhgf qwpzxv.", "wqxzjk vbnhgf qwpzxv"),
        ("We walk home.", ""),
        ("Aaaargh!", ""),
        ("STRASSE GESPERRT", ""),
    ],
)
def test_they_come_back_as_they_were(large: Pieces, sentence: str, kept: str) -> None:
    masked = plan_sentence(sentence, large).masked
    assert [span.text for span in masked.spans] == ([kept] if kept else [])
    if kept == sentence:
        assert restore(masked, "X2 Unsinn").text == sentence


def test_a_small_vocabulary_has_none(pieces: Pieces) -> None:
    assert len(pieces) < LEAST_PIECES
    assert not garbled_words(at_random(0), pieces)


def test_words_are_checked_in_linear_time(large: Pieces) -> None:
    def read(text: str) -> None:
        garbled_words(text, large)

    assert_linear(read, ("qx", "q ", "'", "q-", "1", "\u00e9"), count=8, ordinary=None)
