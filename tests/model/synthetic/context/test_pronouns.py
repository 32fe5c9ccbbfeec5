"""What "it" refers to, and pairs made pronominal."""

import pytest

from model.data.corpus import CorpusError, SentencePair
from model.synthetic.context.genders import genders_in_text, read_lexicon
from model.synthetic.context.german import Gender
from model.synthetic.context.it import ThingPredicates, answers, sort_pronouns
from model.synthetic.context.nouns import Noun, things_in_text
from model.synthetic.context.pronominal import pronominal

LAMP, KEY, BOOK = Noun("lamp", "Lampe", "f", 9), Noun("key", "Schlüssel", "m", 9), Noun("book", "Buch", "n", 9)
BY_SOURCE = {noun.source: [noun] for noun in (LAMP, KEY, BOOK)}


def pair(source: str, target: str) -> SentencePair:
    return SentencePair(source, target, 0)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("The lamp is broken.", "Die Lampe ist kaputt.", ("It is broken.", "Sie ist kaputt.", "Er ist kaputt.")),
        ("Is the key new?", "Ist der Schlüssel neu?", ("Is it new?", "Ist er neu?", "Ist er neu?")),
        (
            "I lost my key yesterday.",
            "Ich habe meinen Schlüssel gestern verloren.",
            ("I lost it yesterday.", "Ich habe ihn gestern verloren.", "Ich habe ihn gestern verloren."),
        ),
        ("Tom has read the book.", "Tom hat das Buch gelesen.", ("Tom has read it.", "Tom hat es gelesen.", "")),
    ],
)
def test_a_noun_becomes_the_pronoun_of_its_gender(source: str, target: str, expected: tuple[str, str, str]) -> None:
    made = pronominal(pair(source, target), BY_SOURCE)
    assert made is not None
    assert (made.ambiguous.source, made.ambiguous.targets[made.answer]) == expected[:2]
    if expected[2]:
        assert made.ambiguous.targets["m"] == expected[2]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The lamp of my aunt is broken.", "Die Lampe meiner Tante ist kaputt."),  # a genitive belongs to the noun
        ("He sat under the lamp.", "Er saß unter der Lampe."),  # no pronoun after a preposition
        ("This is the key.", "Das ist der Schlüssel."),  # a predicate
        ("The lamp and the key are new.", "Die Lampe und der Schlüssel sind neu."),
        ("She lost the key.", "Sie hat den Schlüssel verloren."),  # another third person
        ("The keys are new.", "Die Schlüssel sind neu."),
    ],
)
def test_only_the_noun_phrase_becomes_a_pronoun(source: str, target: str) -> None:
    assert pronominal(pair(source, target), BY_SOURCE) is None


def test_the_pronoun_has_a_form_for_every_gender() -> None:
    forms = answers("Ich glaube, es ist neu.", "nominative")
    assert forms == {"m": "Ich glaube, er ist neu.", "f": "Ich glaube, sie ist neu.", "n": "Ich glaube, es ist neu."}
    assert answers("Sie haben recht.", "nominative") is None  # "they", or "you"
    assert answers("Es weiß, dass es neu ist.", "nominative") is None


TEXT = [
    *(["The lamp is broken.", "The key is rusty.", "I lost the key.", "We sold the lamp."] * 2),
    "The book weighs a kilo.",
    "The lamp weighs too much.",
]


@pytest.mark.parametrize(
    ("source", "target", "reference"),
    [
        ("It is broken.", "Es ist kaputt.", "referential"),
        ("Where did you lose it? I lost it.", "Wo hast du es verloren? Ich habe es verloren.", None),
        ("We sold it.", "Wir haben es verkauft.", "referential"),
        ("It is raining.", "Es regnet.", "pleonastic"),
        ("It is hard to say.", "Es ist schwer zu sagen.", "pleonastic"),
        ("It's late.", "Es ist spät.", "pleonastic"),
        ("It happened yesterday.", "Es ist gestern passiert.", "event"),
        ("It was a mistake.", "Es war ein Fehler.", "event"),
        ("I know it.", "Ich weiß es.", "event"),
        ("It is raining.", "Es  regnet. ", "pleonastic"),
        ("It is raining.", "ES regnet.", None),
        ("He lost it.", "Er hat es verloren.", None),
        ("The lamp fell and I sold it.", "Die Lampe fiel, und ich verkaufte es.", None),
    ],
)
def test_sentences_are_sorted_by_the_reference_of_it(source: str, target: str, reference: str | None) -> None:
    predicates = ThingPredicates(TEXT, {"lamp", "key", "book"})
    result = sort_pronouns([pair(source, target)], predicates)
    assert {kind for kind, sentences in result.items() if sentences} == ({reference} if reference else set())


def test_genders_come_from_the_determiners() -> None:
    sentences = [
        *(["Der Schlüssel liegt auf dem Tisch.", "Ich suche einen Schlüssel.", "Das ist mein Schlüssel."] * 2),
        *(["Eine Lampe fehlt.", "Die neue Lampe ist da.", "Er steht neben der Lampe."] * 2),
        *(["Das Buch ist alt.", "In dem alten Buch steht es.", "Ein Buch fehlt."] * 2),
        *(["Die Leute lachen."] * 9),  # a plural has no gender
    ]
    assert genders_in_text(sentences) == {"Schlüssel": "m", "Lampe": "f", "Buch": "n"}


def test_things_are_found_where_they_translate_each_other() -> None:
    pairs = [
        pair(f"{word} the lamp.", f"{wort} die Lampe.")
        for word, wort in (("See", "Sieh"), ("Take", "Nimm"), ("Bring", "Bring"), ("Leave", "Lass"))
    ] + [pair(f"The teacher {word}.", f"Der Lehrer {wort}.") for word, wort in (("sings", "singt"), ("runs", "läuft"))]
    genders: dict[str, Gender] = {"Lampe": "f", "Lehrer": "m", "Lehrerin": "f"}
    things = things_in_text(pairs, genders, {})
    assert [(noun.source, noun.target, noun.gender) for noun in things] == [("lamp", "Lampe", "f")]


def test_a_lexicon_line_that_cannot_be_read_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lexicon") / "genders.tsv"
    path.write_text("Lampe\tf\tlamp; light\nTür\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2: expected NOUN, tab, m, f or n"):
        read_lexicon(path)
    path.write_text("Lampe\tf\tlamp; light\n", encoding="utf-8")
    assert read_lexicon(path) == {"Lampe": ("f", ("lamp", "light"))}
