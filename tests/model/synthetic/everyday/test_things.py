"""Things in sentences: articles, adjectives, pronouns and numbers of German."""

from pathlib import Path

import pytest

from model.config import ConfigError
from model.data.word_sets import read_word_set
from model.synthetic.everyday.command import HERE
from model.synthetic.everyday.things import Thing, ThingSentence, read_sentences, read_things, things_in_sentences

THINGS, SENTENCES = read_things(HERE / "things.tsv"), read_sentences(HERE / "sentences.tsv")
PAIRS = list(things_in_sentences(THINGS, SENTENCES))
SAID = dict(PAIRS)


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("Cut the onions into cubes.", "Schneiden Sie die Zwiebeln in Würfel."),
        ("Cut the leek into cubes.", "Schneiden Sie den Lauch in Würfel."),
        ("Chop the cucumber and put it in a bowl.", "Hacken Sie die Gurke und geben Sie sie in eine Schüssel."),
        ("Chop the carrots and put them in a bowl.", "Hacken Sie die Karotten und geben Sie sie in eine Schüssel."),
        ("Chop the garlic and put it in a bowl.", "Hacken Sie den Knoblauch und geben Sie ihn in eine Schüssel."),
        ("Cook the pasta until it is soft.", "Kochen Sie die Nudeln, bis sie weich sind."),
        ("Cook the vegetables until they are soft.", "Kochen Sie das Gemüse, bis es weich ist."),
        ("Mix everything with the lemon juice.", "Vermischen Sie alles mit dem Zitronensaft."),
        ("Sprinkle with almonds.", "Mit Mandeln bestreuen."),
        ("Sprinkle with nuts.", "Mit Nüssen bestreuen."),
        ("Do you have fresh fish?", "Haben Sie frischen Fisch?"),
        ("Do you have fresh parsley?", "Haben Sie frische Petersilie?"),
        ("Do you have fresh meat?", "Haben Sie frisches Fleisch?"),
        ("Do you have fresh strawberries?", "Haben Sie frische Erdbeeren?"),
        ("There are no eggs left.", "Es sind keine Eier mehr da."),
        ("There is no rice left.", "Es ist kein Reis mehr da."),
        ("We bought a new wardrobe.", "Wir haben einen neuen Kleiderschrank gekauft."),
        ("We bought a new sofa.", "Wir haben ein neues Sofa gekauft."),
        ("We bought a new mattress.", "Wir haben eine neue Matratze gekauft."),
        ("I need a dress for the wedding.", "Ich brauche ein Kleid für die Hochzeit."),
        ("I found an umbrella.", "Ich habe einen Schirm gefunden."),
        ("The trousers are too small.", "Die Hose ist zu klein."),
        ("Are these your keys?", "Sind das deine Schlüssel?"),
        ("Here are your glasses.", "Hier ist Ihre Brille."),
        ("I have a pain in my back.", "Ich habe Schmerzen im Rücken."),
        ("I have a pain in my feet.", "Ich habe Schmerzen in den Füßen."),
        ("I get on well with my parents.", "Ich verstehe mich gut mit meinen Eltern."),
        ("I get on well with my sister.", "Ich verstehe mich gut mit meiner Schwester."),
        ("Unfortunately, I cannot come to the concert.", "Leider kann ich nicht zum Konzert kommen."),
        ("Unfortunately, I cannot come to the wedding.", "Leider kann ich nicht zur Hochzeit kommen."),
        ("There is a mistake in the contract.", "Im Vertrag ist ein Fehler."),
        ("There is a mistake in the figures.", "In den Zahlen ist ein Fehler."),
        ("Where is the nearest pharmacy?", "Wo ist die nächste Apotheke?"),
        ("Where is the nearest zoo?", "Wo ist der nächste Zoo?"),
        ("Where is the nearest hospital?", "Wo ist das nächste Krankenhaus?"),
        ("Does this train stop at the airport?", "Hält dieser Zug am Flughafen?"),
        ("The train is late because of the rain.", "Der Zug hat wegen des Regens Verspätung."),
        ("The train is late because of the black ice.", "Der Zug hat wegen des Glatteises Verspätung."),
        ("The train is late because of the drought.", "Der Zug hat wegen der Dürre Verspätung."),
        ("The cause of the protests is unknown.", "Die Ursache der Proteste ist unbekannt."),
        ("He was promoted to head of department.", "Er wurde zum Abteilungsleiter befördert."),
        ("The fees have risen.", "Die Gebühren sind gestiegen."),
        ("Keep away from fire.", "Von Feuer fernhalten."),
        ("Keep away from children.", "Von Kindern fernhalten."),
    ],
)
def test_in_sentences(english: str, german: str) -> None:
    assert SAID[english] == german


def test_an_english_sentence_has_one_translation() -> None:
    assert len(set(PAIRS)) == len(SAID) > 7000
    assert not any(mark in text for pair in PAIRS for text in pair for mark in "{}[]|")


def test_every_sentence_and_every_thing_is_used() -> None:
    for sentence in SENTENCES:
        assert any(sentence.suits(thing) for thing in THINGS), sentence
    for thing in THINGS:
        assert any(sentence.suits(thing) for sentence in SENTENCES), thing


def test_a_source_of_a_word_set_is_not_made() -> None:
    sources = {item.source for item in read_word_set(HERE / "held-out-things.tsv")}
    assert len(sources) == 50
    assert sources.isdisjoint(SAID)


def test_a_sentence_does_not_speak_of_a_thing_twice() -> None:
    oven = Thing(frozenset({"hot"}), "oven", "Ofen", "m", several=False)
    assert not ThingSentence(frozenset({"hot"}), "Put the {} in the oven.", "Stell {den} hin.").suits(oven)
    assert ThingSentence(frozenset({"hot"}), "Put the {} in the ovenproof dish.", "Stell {den} hin.").suits(oven)
    assert not ThingSentence(frozenset({"hot"}), "Put the {} in.", "Schieben Sie {den} in den Ofen.").suits(oven)


def test_a_is_for_singular_things() -> None:
    new, a = (ThingSentence(frozenset({"worn"}), text, "{einen}") for text in ("I want a new {}.", "I want {a}."))
    for several, article in ((True, "f"), (False, "p"), (True, "p")):
        thing = Thing(frozenset({"worn"}), "x", "X", article, several)  # type: ignore[arg-type]
        assert not new.suits(thing)
        assert not a.suits(thing)
    assert new.suits(Thing(frozenset({"worn"}), "x", "X", "f", several=False))


@pytest.mark.parametrize(
    "line", ["cut\tleek\tLauch", "cut\tleek\tLauch\tx", "cut\tleek", "cut\tleek\tLauch\tm\tf", "\ta\tb\tm"]
)
def test_a_line_that_is_no_thing_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "things.tsv").write_text(f"cut,fry\tonions\tZwiebeln\tp\n# more\n{line}\n", encoding="utf-8")
    with pytest.raises(
        ConfigError, match=r"things.tsv, line 3: a thing is its kinds, English, German, one of m, f, n, p"
    ):
        read_things(tmp_path / "things.tsv")


@pytest.mark.parametrize(
    "line", ["cut\tCut it.\tSchneiden Sie {den}.", "cut\tCut {}.\tSchneid!", "cut\tCut {the}.\t{den}", "cut\tCut {}."]
)
def test_a_line_that_is_no_sentence_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "sentences.tsv").write_text(f"cut\tCut the {{}}.\tSchneiden Sie {{den}}.\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"sentences.tsv, line 2: a sentence is its kinds, English with {} or {a}"):
        read_sentences(tmp_path / "sentences.tsv")
