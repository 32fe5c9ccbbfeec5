"""`ringmt make-everyday-data`: the same seed gives the same text, without what the word sets ask."""

import argparse
import re
from pathlib import Path

import pytest

from model.config import ConfigError
from model.data.corpus import read_corpus
from model.data.word_sets import read_word_set
from model.synthetic.everyday.command import HERE, make_everyday_data_command
from model.synthetic.words.command import WORD_SET, normalized_source
from tests.build_once import build_once

SAMPLE = Path(__file__).parents[3] / "sample"
KINDS = ("interfaces", "letters", "nationalities", "phrases", "places", "quantities", "spoken", "things", "verbs")
NAMES = [f"everyday-{kind}" for kind in KINDS]


Made = dict[str, list[tuple[str, str]]]
"""Name of a corpus -> its pairs, English first."""


def run(out: Path, *flags: str) -> Made:
    parser = argparse.ArgumentParser()
    make_everyday_data_command.add_arguments(parser)
    assert make_everyday_data_command.run(parser.parse_args(["--out", str(out), *flags])) == 0
    return read(out)


def read(out: Path) -> Made:
    names = sorted(path.name.removesuffix(".en.gz") for path in out.glob("*.en.gz"))
    return {name: [(pair.source, pair.target) for pair in read_corpus(out, name, "en", "de")] for name in names}


@pytest.fixture(scope="module")
def from_english(shared: Path) -> Made:
    return read(build_once(shared / "everyday-en", run))


@pytest.fixture(scope="module")
def from_german(shared: Path) -> Made:
    return read(build_once(shared / "everyday-de", lambda out: run(out, "--source", "de")))


def words(text: str) -> tuple[str, ...]:
    """What a sentence is compared by: neither case, spaces nor punctuation make it another one."""
    return tuple(re.findall(r"\w+", normalized_source(text).casefold()))


def sources_in(*paths: Path) -> set[tuple[str, ...]]:
    sources = {words(item.source) for path in paths for item in read_word_set(path)}
    assert len(sources) >= 60
    return sources


def texts_of(made: dict[str, list[tuple[str, str]]], side: int) -> set[tuple[str, ...]]:
    return {words(pair[side]) for pairs in made.values() for pair in pairs}


def test_the_text_is_deterministic_and_has_no_source_of_the_word_sets(
    from_english: Made, from_german: Made, tmp_path: Path
) -> None:
    made, again = from_english, run(tmp_path / "two")
    assert list(made) == NAMES
    assert made == again
    assert ("Merry Christmas!", "Frohe Weihnachten!") in made["everyday-phrases"]
    assert made != from_german
    assert not sources_in(
        WORD_SET, HERE / "held-out.tsv", HERE / "held-out-spoken.tsv", HERE / "held-out-typed.tsv"
    ) & texts_of(made, 0)


def test_towards_english_no_source_has_two_translations_or_is_in_a_word_set(from_german: Made) -> None:
    assert list(from_german) == NAMES
    for name, pairs in from_german.items():
        sources = [german for _, german in pairs]
        assert len(sources) == len(set(sources)), name
    assert not sources_in(
        HERE / "held-out-de.tsv", HERE / "held-out-spoken-de.tsv", HERE / "held-out-typed-de.tsv"
    ) & texts_of(from_german, 1)


def test_towards_english_the_first_form_is_the_translation(from_german: Made) -> None:
    phrases = from_german["everyday-phrases"]
    assert ("Many thanks!", "Vielen Dank!") not in phrases
    assert {("Thanks a lot!", "Vielen Dank!"), ("Thanks a lot", "vielen dank")} <= set(phrases)


@pytest.mark.parametrize(("source", "side"), [("en", 0), ("de", 1)])
def test_real_sentences_come_as_people_type_them(tmp_path: Path, source: str, side: int) -> None:
    flags = ["--data", str(SAMPLE), "--corpora", "dialogues", "--source", source]
    made = run(tmp_path, *flags)["everyday-typed"]
    real = {(pair.source, pair.target) for pair in read_corpus(SAMPLE, "dialogues", "en", "de")}
    assert len(made) > 100
    assert not real & set(made)
    targets = {pair[1 - side].rstrip(".!?") for pair in real}
    assert {pair[1 - side].rstrip(".!?") for pair in made} <= targets | {target.upper() for target in targets} | {
        pair[1 - side].upper() for pair in real
    }


def test_corpora_without_their_folder_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give it as --data"):
        run(tmp_path, "--corpora", "dialogues")


@pytest.mark.parametrize(("excluded", "is_said"), [("Hello!", False), ("Hallo!", False), ("Good night!", True)])
def test_own_word_sets_are_left_out(tmp_path: Path, excluded: str, is_said: bool) -> None:
    (tmp_path / "set.tsv").write_text(f"everyday\t{excluded}\tx\n", encoding="utf-8")
    made = run(tmp_path / "out", "--exclude", str(tmp_path / "set.tsv"), "--amount", "5")
    assert (("Hello!", "Hallo!") in made["everyday-phrases"]) is is_said
    assert len(made["everyday-quantities"]) <= 5 * 7
