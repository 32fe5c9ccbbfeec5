"""German grammar and the words of a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.synthetic.context.german import CASES, GENDERS, determiner, feminine
from model.synthetic.context.words import flat, join, split


@given(st.text(alphabet=st.sampled_from("aÄß „“.,!?()'-"), max_size=30))
def test_split_words_joined_are_the_sentence_with_single_blanks(sentence: str) -> None:
    assert join(split(sentence)) == " ".join(sentence.split())


def test_contractions_and_punctuation_are_words_of_their_own() -> None:
    assert flat("It's late, isn't it?") == ["it", "'s", "late", ",", "is", "n't", "it", "?"]
    assert flat("He can’t.") == ["he", "ca", "n't", "."]  # noqa: RUF001 - the other apostrophe


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("der", "der den dem des die die der der das das dem des"),
        ("ein", "ein einen einem eines eine eine einer einer ein ein einem eines"),
        ("euer", "euer euren eurem eures eure eure eurer eurer euer euer eurem eures"),
        ("dies", "dieser diesen diesem dieses diese diese dieser dieser dieses dieses diesem dieses"),
    ],
)
def test_determiners_are_those_of_a_grammar(stem: str, expected: str) -> None:
    forms = [determiner(stem, gender, case) for gender in GENDERS for case in CASES]
    assert forms == expected.split()


NOUNS = {"Lehrer": "Lehrerin", "Arzt": "Ärztin"}


@pytest.mark.parametrize(
    ("masculine", "expected"),
    [
        ("Der Lehrer lacht.", "Die Lehrerin lacht."),
        ("Ich kenne den alten Lehrer.", "Ich kenne die alte Lehrerin."),
        ("Das ist ein guter Arzt.", "Das ist eine gute Ärztin."),
        ("Er hilft dem neuen Arzt.", "Er hilft der neuen Ärztin."),
        ("Das Auto des Lehrers ist rot.", "Das Auto der Lehrerin ist rot."),
        ("Ich ging zum Arzt.", "Ich ging zur Ärztin."),
        ("Das ist der Arzt, der mir half.", "Das ist die Ärztin, die mir half."),
        ("Maria ist Lehrer.", "Maria ist Lehrerin."),
        ("Maria will Lehrer sein.", "Maria will Lehrerin sein."),
    ],
)
def test_a_profession_becomes_feminine_with_its_agreeing_words(masculine: str, expected: str) -> None:
    made = feminine(split(masculine), NOUNS)
    assert made is not None
    assert join(made) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Lehrer und der Arzt lachen.",
        "Das Haus ist rot.",
        "Guter Lehrer lacht.",
        "Ein amerikanischer Apologe und Lehrer starb.",
        "Ein Lehrer sieht sein Feld.",
    ],
)
def test_ambiguous_forms_are_left_out(sentence: str) -> None:
    assert feminine(split(sentence), NOUNS) is None
