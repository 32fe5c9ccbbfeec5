"""Runs of punctuation come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.masking import mask
from server.text.protect.punctuation_runs import with_runs_of
from server.text.protect.restoring import restore
from tests.growth import Shape, assert_linear, check_growth


@pytest.mark.parametrize(
    ("source", "target", "shown"),
    [
        ("Help!!!!", "Hilfe!!!", "Hilfe!!!!"),
        ("What?!", "Was?", "Was?!"),
        ("Wait... what?", "Warte.. was?", "Warte... was?"),
        ("Wait\u2026 what?!", "Warte... was!", "Warte\u2026 was?!"),
        ("Save as...", "Sichern unter.", "Sichern unter..."),
        ("Open...", "\u00d6ffnen..", "\u00d6ffnen..."),
        ("Help!!!", "Hilfe", "Hilfe!!!"),
        ("Yes!", "Ja!!!!", "Ja!"),
        ("Yes?", "Ja!", "Ja!"),
        ('"Stop!!" he said.', '"Halt!" sagte er.', '"Halt!!" sagte er.'),
        ('She said: "No!!"', 'Sie sagte: "Nein!"', 'Sie sagte: "Nein!!"'),
        ("No!!!!", "\u4e0d\uff01\uff01", "\u4e0d\uff01\uff01\uff01\uff01"),
        ("At 5 p.m. sharp!!", "Um 17 Uhr!", "Um 17 Uhr!!"),
        ("One. Two.", "Eins. Zwei.", "Eins. Zwei."),
        ("Really? Yes!!", "Ja!", "Ja!!"),
    ],
)
def test_the_translation_has_the_runs_of_the_source(source: str, target: str, shown: str) -> None:
    assert with_runs_of(source, target) == shown


TEXTS = st.text(st.sampled_from(["a", " ", "!", "?", ".", "\u2026", '"', ",", "\uff01"]), max_size=30)


@given(TEXTS, TEXTS)
def test_nothing_but_runs_changes(source: str, target: str) -> None:
    done = with_runs_of(source, target)
    signs = str.maketrans(dict.fromkeys("!?.\u2026\uff01\uff1f"))
    assert done.translate(signs) == target.translate(signs)
    assert with_runs_of(source, source) == source


@given(st.lists(st.sampled_from(["!!!!", "?!", "...", "\u2026", "!!", "??"]), min_size=1, max_size=4))
def test_whatever_runs_a_model_writes_those_of_the_source_stay(runs: list[str]) -> None:
    source = " ".join(f"word{run}" for run in runs)
    target = " ".join("Wort!" for _ in runs)
    assert restore(mask(source, lambda character: True), target).text == source.replace("word", "Wort")


def test_runs_are_found_in_linear_time() -> None:
    def read(text: str) -> None:
        with_runs_of(text, text)
        with_runs_of(text + "!!", text)

    assert_linear(read, ("!", ".", "a", '"', "!(", "\u2026", "\uff01"), count=12, ordinary=None)
    check_growth(read, Shape(("!(",), "repeated"), most=64_000)
