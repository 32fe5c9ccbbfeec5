"""`ringmt make-word-data`: the same seed gives the same text, without what the word set asks."""

import argparse
import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from model.config import ConfigError
from model.synthetic.words.command import make_word_data_command
from model.synthetic.words.terms import used_terms
from tests.model.synthetic.words.some import pairs


def test_terms_are_those_that_the_text_uses() -> None:
    text = pairs(*[("The lamp is new.", "Die Lampe ist neu.")] * 5)
    terms = pairs(
        ("lamp", "Lampe"), ("lamp socket", "Lampenfassung"), ("new lamp", "Funzel"), ("the lamp", "die Lampe"),
        ("new", "etw. neu"),
    )  # fmt: skip
    assert list(used_terms(terms, text)) == [("lamp", "Lampe"), ("the lamp", "die Lampe")]


TEXT = (
    ("The lamp is new.", "Die Lampe ist neu."),
    ("They saw a new car.", "Sie sahen ein neues Auto."),
    ("It was empty.", "Es war leer."),
    ("I can fix it.", "Ich kann es beheben."),
    ("He wants to paint it.", "Er will es malen."),
)
TERMS = (
    ("new", "neu"), ("new man", "neuer Mann"), ("new house", "neues Haus"),
    ("empty", "leer"), ("empty box", "leere Dose"), ("empty glass", "leeres Glas"),
    ("to fix sth.", "etw. beheben"), ("to paint", "malen"), ("fix", "Lösung"),
)  # fmt: skip


def run(tmp_path: Path, out: str, text: Sequence[tuple[str, str]] = TEXT) -> int:
    for name, some in (("text", text), ("terms", TERMS)):
        for side, language in enumerate(("en", "de")):
            lines = [both[side] for both in some] * 4
            (tmp_path / f"{name}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "lexicon.tsv").write_text("Lampe\tf\tlamp\nWanne\tf\ttub\nAuto\tn\tcar\n", encoding="utf-8")
    parser, folder = argparse.ArgumentParser(), str(tmp_path)
    make_word_data_command.add_arguments(parser)
    given = ["--data", folder, "--corpora", "text", "--lexicon", f"{folder}/lexicon.tsv", "--out", f"{folder}/{out}"]
    return make_word_data_command.run(parser.parse_args([*given, "--terms", "terms"]))


def test_the_command_writes_the_same_text_twice_and_leaves_the_word_set_out(tmp_path: Path) -> None:
    """`lamp`, `empty` and `to paint` are items of the bundled word set."""
    assert run(tmp_path, "one") == run(tmp_path, "two") == 0
    made = {}
    for name in ("nouns", "adjectives", "verbs", "phrases", "terms"):
        first, two = ((tmp_path / out / f"words-{name}.en.gz").read_bytes() for out in ("one", "two"))
        assert first == two
        made[name] = set(gzip.decompress(first).decode().split("\n"))
    assert "the lamp" in made["nouns"]
    assert {"They saw an empty car.", "It was new.", "new"} <= made["adjectives"]
    assert {"I can paint it.", "He wants to fix it.", "to fix"} <= made["verbs"]
    assert made["phrases"] & {"Fix lamp", "Paint lamp"}
    assert made["phrases"] & {"New lamp", "Empty lamp"}
    assert "new" in made["terms"]
    assert not {"lamp", "empty", "to paint", "paint"} & set[str]().union(*made.values())


def test_text_without_a_frame_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give more text"):
        run(tmp_path, "out", [("Lamps are new.", "Lampen sind neu.")])
