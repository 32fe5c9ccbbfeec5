"""Verbs in the place of others: in the infinitive at the end of a clause, with an object where they take one."""

import pytest

from model.synthetic.words.translations import Translation
from model.synthetic.words.verbs import objects_of_verbs, used_verbs, verb_frames, verbs_in_sentences
from tests.model.synthetic.words.some import pairs

BUY, SLEEP, HELP = (
    Translation("buy", "kaufen", 9),
    Translation("sleep", "schlafen", 3),
    Translation("help", "helfen", 2),
)
CHEW, YAWN = Translation("chew", "kauen", 1), Translation("yawn", "gähnen", 1)
VERBS = [BUY, SLEEP, HELP]


def test_a_verb_replaces_a_verb_with_the_same_objects() -> None:
    frames = verb_frames(
        pairs(("I want to buy it.", "Ich möchte es kaufen."), ("You can sleep now.", "Du kannst jetzt schlafen."),
              ("She must sleep.", "Sie muss schlafen.")), VERBS,
    )  # fmt: skip
    assert [frame.kind for frame in frames] == ["object", "nothing"]
    made = list(verbs_in_sentences(frames, [CHEW, YAWN], {"chew": "object", "yawn": "nothing"}, {"yawn"}, 5, seed=1))
    assert made == [
        ("I want to chew it.", "Ich möchte es kauen."), ("to chew", "kauen"), ("chew", "kauen"),
        ("She must yawn.", "Sie muss gähnen."), ("to yawn", "gähnen"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It is easy to buy it.", "Es ist leicht, es zu kaufen."),
        ("They buy it.", "Sie kaufen es."),
        ("They buy it.", "Dass sie es kaufen."),
        ("I want to buy it for you.", "Ich will es für dich kaufen."),
        ("I want to buy him.", "Ich will ihm kaufen."),
        ("I want to sleep.", "Ich will mich schlafen."),
        ("I must help.", "Ich muss helfen."),
        ("I want to buy and to sleep.", "Ich will kaufen und schlafen."),
        ("I want to buy more.", "Ich will mehr kaufen."),
    ],
)
def test_sentences_that_are_no_frame(source: str, target: str) -> None:
    assert verb_frames(pairs((source, target)), VERBS) == []


def test_objects_of_verbs_follow_from_the_dictionary_and_the_text() -> None:
    text = pairs(*[("He sleeps. They sleep.", "x"), ("We buy the car.", "x"), ("I bought; you were buying it.", "x")])
    terms = pairs(("to chew sth.", "etw. kauen"), ("to help sb.", "jdm. helfen"), ("to yawn", "gähnen"))
    assert objects_of_verbs(text, terms, [*VERBS, CHEW, YAWN]) == {
        "sleep": "nothing",
        "buy": "object",
        "chew": "object",
    }


def test_the_most_frequent_translation_of_a_verb_is_chosen() -> None:
    terms = pairs(
        ("to chew sth.", "etw. zermalmen"), ("to chew", "kauen"), ("to bite {bit; bitten}", "beißen"),
        ("to unsay", "zurücknehmen"), ("to chew the cud", "wiederkäuen"), ("to school", "schulen"),
    )  # fmt: skip
    text = pairs(
        ("He chewed.", "Er kaute."), ("You must chew it.", "Du musst es kauen."), ("Chewing is fun.", "Wir kauen."),
        ("It can bite.", "Es kann beißen."), ("He wants to bite.", "Er will beißen."),
        *[("I go to school.", "Ich besuche die Schule. Schulen")] * 20,
    )  # fmt: skip
    assert [(verb.source, verb.target, verb.uses) for verb in used_verbs(text, terms)] == [
        ("chew", "kauen", 3), ("bite", "beißen", 2),
    ]  # fmt: skip


def test_common_verbs_are_left_to_the_text() -> None:
    frames = verb_frames(pairs(("I want to buy it.", "Ich möchte es kaufen.")), VERBS)
    take, put = Translation("take", "nehmen", 201), Translation("put", "legen", 200)
    made = list(verbs_in_sentences(frames, [take, put], {"take": "object", "put": "object"}, set(), 5, seed=1))
    assert [pair for pair in made if pair[0].startswith("I")] == [("I want to put it.", "Ich möchte es legen.")]
