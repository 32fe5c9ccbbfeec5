"""Nouns in the place of others: agreement stays, nothing else changes, the same seed gives the same text."""

import argparse
import gzip
from pathlib import Path

import pytest

from model.config import ConfigError
from model.data.context.nouns import Noun
from model.data.corpus import SentencePair
from model.data.words.command import make_word_data_command
from model.data.words.sentences import find_frames, nouns_in_sentences
from model.data.words.terms import used_terms

LAMP, CUP, CHAIR = Noun("lamp", "Lampe", "f", 9), Noun("cup", "Tasse", "f", 5), Noun("chair", "Stuhl", "m", 4)
APPLE, LION = Noun("apple", "Apfel", "m", 3), Noun("lion", "Löwe", "m", 2)
NOUNS = [LAMP, CUP, CHAIR, APPLE, LION]


def pairs(*texts: tuple[str, str]) -> list[SentencePair]:
    return [SentencePair(source, target, 0) for source, target in texts]


def test_only_the_noun_and_its_english_article_change() -> None:
    [lamp, chair] = find_frames(
        pairs(("The old lamp is mine.", "Die alte Lampe gehört mir."), ("I see a chair.", "Ich sehe einen Stuhl.")),
        NOUNS,
    )
    assert lamp.filled(CUP) == ("The old cup is mine.", "Die alte Tasse gehört mir.")
    assert chair.filled(APPLE) == ("I see an apple.", "Ich sehe einen Apfel.")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Lamps are expensive.", "Lampen sind teuer."),
        ("The lamp and the cup.", "Die Lampe und die Tasse."),
        ("A lamp, another lamp.", "Eine Lampe, noch eine."),
        ("Tom sees lamp.", "Tom sieht Lampe."),
        ("The lamp-shade is new.", "Die Lampe ist neu."),
        ("The lion sleeps.", "Der Löwe schläft."),
        ("The lamp " + "very " * 15 + "old.", "Die Lampe ist alt."),
    ],
)
def test_sentences_that_are_no_frame(source: str, target: str) -> None:
    assert find_frames(pairs((source, target)), NOUNS) == []


def test_a_noun_goes_into_sentences_of_its_gender_only() -> None:
    frames = find_frames(
        pairs(("The lamp is new.", "Die Lampe ist neu."), ("I broke the cup.", "Ich zerbrach die Tasse."),
              ("My chair is old.", "Mein Stuhl ist alt.")), NOUNS,
    )  # fmt: skip
    made = list(nouns_in_sentences(frames, [CUP, APPLE, LION], 5, seed=1))
    assert set(made) == {
        ("The cup is new.", "Die Tasse ist neu."), ("I broke the cup.", "Ich zerbrach die Tasse."),
        ("the cup", "die Tasse"), ("cup", "Tasse"),
        ("My apple is old.", "Mein Apfel ist alt."), ("the apple", "der Apfel"), ("apple", "Apfel"),
    }  # fmt: skip


def test_terms_are_those_that_the_text_uses() -> None:
    text = pairs(*[("The lamp is new.", "Die Lampe ist neu.")] * 5)
    terms = pairs(
        ("lamp", "Lampe"), ("lamp socket", "Lampenfassung"), ("new lamp", "Funzel"), ("the lamp", "die Lampe")
    )
    assert list(used_terms(terms, text)) == [("lamp", "Lampe"), ("the lamp", "die Lampe")]


def run(tmp_path: Path, out: str, source: str = "The lamp is new.") -> int:
    for language, line in (("en", source), ("de", "Die Lampe ist neu.")):
        (tmp_path / f"text.{language}").write_text(f"{line}\n" * 4, encoding="utf-8")
    (tmp_path / "lexicon.tsv").write_text("Lampe\tf\tlamp\nWanne\tf\ttub\n", encoding="utf-8")
    parser = argparse.ArgumentParser()
    make_word_data_command.add_arguments(parser)
    folder = str(tmp_path)
    return make_word_data_command.run(
        parser.parse_args(
            ["--data", folder, "--corpora", "text", "--lexicon", f"{folder}/lexicon.tsv", "--out", f"{folder}/{out}"]
        )
    )


def test_the_command_writes_the_same_text_twice_and_leaves_the_word_set_out(tmp_path: Path) -> None:
    assert run(tmp_path, "one") == run(tmp_path, "two") == 0
    made = [(tmp_path / out / "words-nouns.en.gz").read_bytes() for out in ("one", "two")]
    assert made[0] == made[1]
    lines = gzip.decompress(made[0]).decode().split("\n")
    assert "the lamp" in lines
    assert "lamp" not in lines  # an item of the bundled word set


def test_text_without_a_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give more text"):
        run(tmp_path, "out", "Lamps are new.")
