"""Which nouns people use, and how they are said."""

from model.data.corpus import SentencePair
from model.synthetic.context.dictionary import Entry, rare_things, used_nouns
from model.synthetic.context.genders import Lexicon, known_genders
from model.synthetic.context.german import Gender
from model.synthetic.context.nouns import things_in_text

LEXICON: Lexicon = {
    "Gabe": ("f", ("gift",)),
    "Geschenk": ("n", ("present", "gift")),
    "Teekessel": ("m", ("teapot", "kettle")),
    "Kessel": ("m", ("kettle",)),
    "Wal": ("m", ("whale",)),
    "Wale": ("m", ("whale",)),
    "Pottwal": ("m", ("sperm whale",)),
    "Blauwal": ("m", ("blue whale",)),
    "Heuschrecke": ("f", ("grasshopper",)),
    "Grashüpfer": ("m", ("grasshopper",)),
    "Gut": ("n", ("good",)),
    "Nachbar": ("m", ("neighbor",)),
    "Nachbarin": ("f", ("neighbor",)),
    "Scheren": ("n", ("shearing",)),
}


def pairs(*texts: tuple[str, str]) -> list[SentencePair]:
    return [SentencePair(source, target, 0) for source, target in texts]


TEXT = pairs(
    ("He bought a gift.", "Er kaufte ein Geschenk."),
    ("Her gift was big.", "Ihr Geschenk war groß."),
    ("The kettle boils.", "Es kocht."),
    ("A kettle sings.", "Da singt etwas."),
    ("I saw a grasshopper and the grasshopper saw me.", "Ich habe etwas gesehen."),
    ("The neighbor and her neighbor left.", "Sie sind gegangen."),
    *[("A good day.", "Heute war es schön.")] * 10,
)


def entries(text: list[SentencePair] = TEXT, terms: tuple[tuple[str, str], ...] = ()) -> dict[str, Entry]:
    genders = known_genders((pair.target for pair in text), LEXICON)
    things = things_in_text(text, genders, LEXICON)
    return {entry.source: entry for entry in used_nouns(text, LEXICON, pairs(*terms), genders, things)}


def test_counts_of_the_text_precede_the_dictionary() -> None:
    assert entries()["gift"].noun.target == "Geschenk"
    assert entries(pairs(("A gift of the gods.", "Von oben."), ("My gift.", "Von mir.")))["gift"].noun.target == "Gabe"


def test_without_text_the_noun_with_a_single_meaning_is_chosen() -> None:
    kettle = entries()["kettle"]
    assert [meaning.noun for meaning in kettle.meanings] == ["Kessel", "Teekessel"]
    assert kettle.noun.gender == "m"


def test_nouns_that_the_text_lacks_are_those_of_many_entries() -> None:
    assert entries()["whale"].uses == 0  # three entries of the lexicon
    assert "teapot" not in entries()
    terms = (("teapot", "Teekanne"), ("teapot lid", "Deckel"), ("silver teapot", "Silberkanne"), ("teapots", "Kannen"))
    assert entries(terms=terms)["teapot"].noun.target == "Teekessel"


def test_words_that_are_hardly_nouns_and_plurals_are_left_out() -> None:
    assert "good" not in entries()  # behind a determiner ten times, and "Gut" never said
    assert "shearing" not in entries(terms=(("shearing", "Schafschur"),) * 3)
    assert [meaning.noun for meaning in entries()["whale"].meanings] == ["Wal"]
    terms = (("whales", "Wale"),) * 3
    assert "whales" not in entries(terms=terms)


def test_a_pronoun_needs_a_sure_gender_and_a_thing() -> None:
    result = entries()
    assert result["whale"].has_sure_gender
    assert not result["grasshopper"].has_sure_gender
    genders: dict[str, Gender] = {noun: gender for noun, (gender, _) in LEXICON.items()}
    things = rare_things(list(result.values()), [result["gift"].noun], genders)
    assert [noun.source for noun in things] == ["kettle", "whale"]
