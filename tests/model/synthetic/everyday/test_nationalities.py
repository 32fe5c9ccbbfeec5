"""Nationalities and languages in sentences."""

from pathlib import Path

import pytest

from model.config import ConfigError
from model.synthetic.everyday.command import HERE
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.nationalities import nationalities_in_sentences, read_nationalities

OWN = read_nationalities(HERE / "nationalities.tsv")
SAID = dict(nationalities_in_sentences(OWN))


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("She is Polish.", "Sie ist Polin."),
        ("He is German.", "Er ist Deutscher."),
        ("We watched an Italian film.", "Wir haben einen italienischen Film gesehen."),
        ("We watched a European film.", "Wir haben einen europäischen Film gesehen."),
        ("He has a Ukrainian passport.", "Er hat einen ukrainischen Pass."),
        ("I like Greek food.", "Ich mag griechisches Essen."),
        ("He speaks Arabic.", "Er spricht Arabisch."),
        ("Dutch is a difficult language.", "Niederländisch ist eine schwierige Sprache."),
        ("The book was translated from Spanish.", "Das Buch wurde aus dem Spanischen übersetzt."),
        ("Danish", "dänisch"),
    ],
)
def test_in_sentences(english: str, german: str) -> None:
    assert SAID[english] == german


def test_a_nationality_without_a_language_speaks_none() -> None:
    assert "He speaks Austrian." not in SAID
    languages = sum(item.language is not None for item in OWN)
    made = len(list(nationalities_in_sentences(OWN)))
    assert made == len(OWN) * len(FRAMES["nationalities"]) + languages * len(FRAMES["languages"]) > 1000


def test_a_line_that_is_no_nationality_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nationalities.tsv"
    path.write_text(
        "Dutch\tniederländisch\tNiederländer\tNiederländerin\tDutch\nThai\tthailändisch\n", encoding="utf-8"
    )
    with pytest.raises(ConfigError, match="line 2: a nationality is English, German adjective"):
        read_nationalities(path)
