"""Places in sentences: articles, cases and contractions of German."""

from pathlib import Path

import pytest

from model.config import ConfigError
from model.synthetic.everyday.command import HERE
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.places import Place, places_in_sentences, read_places

OWN = read_places(HERE / "places.tsv")
SAID = dict(places_in_sentences(OWN))


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("I live in Poland.", "Ich wohne in Polen."),
        ("I live in Switzerland.", "Ich wohne in der Schweiz."),
        ("I live in the Netherlands.", "Ich wohne in den Niederlanden."),
        ("I live in the USA.", "Ich wohne in den USA."),
        ("I live in the United States.", "Ich wohne in den Vereinigten Staaten."),
        ("I live in the United Kingdom.", "Ich wohne im Vereinigten Königreich."),
        ("She comes from Turkey.", "Sie kommt aus der Türkei."),
        ("She comes from the Czech Republic.", "Sie kommt aus der Tschechischen Republik."),
        ("She comes from Iraq.", "Sie kommt aus dem Irak."),
        ("They are travelling to France.", "Sie reisen nach Frankreich."),
        ("They are travelling to Alsace.", "Sie reisen ins Elsass."),
        ("They are travelling to the Middle East.", "Sie reisen in den Nahen Osten."),
        ("They are travelling to the Alps.", "Sie reisen in die Alpen."),
        ("I know the European Union well.", "Ich kenne die Europäische Union gut."),
        ("Turkey is not far away.", "Die Türkei ist nicht weit weg."),
        ("The Netherlands is not far away.", "Die Niederlande sind nicht weit weg."),
        ("The train to Cologne is late.", "Der Zug nach Köln hat Verspätung."),
        ("The city lies on the Rhine.", "Die Stadt liegt am Rhein."),
        ("The city lies on the Danube.", "Die Stadt liegt an der Donau."),
        ("The city lies on Lake Geneva.", "Die Stadt liegt am Genfer See."),
        ("We swam in the Black Sea.", "Wir schwammen im Schwarzen Meer."),
        ("I would like to see the Atlantic Ocean.", "Ich möchte den Atlantischen Ozean sehen."),
        ("We hiked in the Bavarian Forest.", "Wir wanderten im Bayerischen Wald."),
        ("The Black Sea", "Das Schwarze Meer"),
        ("Venice", "Venedig"),
    ],
)
def test_in_sentences(english: str, german: str) -> None:
    assert SAID[english] == german


def test_every_place_stands_in_every_frame_of_its_kind() -> None:
    assert len(list(places_in_sentences(OWN))) == sum(len(FRAMES[f"places {place.kind}"]) for place in OWN) > 3000
    assert not any("{" in text or "in dem " in text for pair in SAID.items() for text in pair)


@pytest.mark.parametrize("line", ["planet\tMars\tMars", "city\tRome", "city\tRome\tRom\tx", "city"])
def test_a_line_that_is_no_place_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "places.tsv"
    path.write_text(f"country\tIran\tIran\tm\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 2: a place is its kind \(country, city, water, mountains\)"):
        read_places(path)


def test_a_line_that_is_a_place(tmp_path: Path) -> None:
    path = tmp_path / "places.tsv"
    path.write_text("# Countries\ncountry\tIran\tIran\tm\n\ncity\tRome\tRom\n", encoding="utf-8")
    assert read_places(path) == [Place("country", "Iran", "Iran", "m"), Place("city", "Rome", "Rom", None)]
