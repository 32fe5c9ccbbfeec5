"""Punctuation comes back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.masking import mask
from server.text.protect.punctuation import with_full_stop_of, with_runs_of, with_tight_quotes
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


@pytest.mark.parametrize(
    ("source", "target", "shown"),
    [
        ('"Hello," she said.', "\u201e Hallo\u201c, sagte sie.", "\u201eHallo\u201c, sagte sie."),
        ("\u00ab Bonjour \u00bb, dit-elle.", "\u201e Hallo \u201c", "\u201e Hallo \u201c"),
        ("He said 'no'.", "Er sagte \u201a nein\u2018.", "Er sagte \u201anein\u2018."),
        ('6" is 15 cm', "\u201e 15 cm", "\u201e15 cm"),
        ('a "nice" house', "ein \u201enice\u201c- Haus", "ein \u201enice\u201c Haus"),
        ('a "nice"-house', "ein \u201enice\u201c- Haus", "ein \u201enice\u201c- Haus"),
        ('a "nice" house', "ein \u201enice\u201c-Haus", "ein \u201enice\u201c-Haus"),
        ("No marks", "\u201e ...", "\u201e ..."),
    ],
)
def test_no_blank_stands_behind_an_opening_mark(source: str, target: str, shown: str) -> None:
    assert with_tight_quotes(source, target) == shown


@given(st.text("ab\u201e\u201a \"'\u00ab", max_size=20), st.text("ab\u201e\u201a \"'", max_size=20))
def test_only_blanks_go(source: str, target: str) -> None:
    done = with_tight_quotes(source, target)
    assert done.replace(" ", "") == target.replace(" ", "")
    assert with_tight_quotes(source, done) == done


@pytest.mark.parametrize(
    ("source", "target", "shown"),
    [
        ("The room is 5 m2.", "Das Zimmer ist 5 m2", "Das Zimmer ist 5 m2."),
        ("CO2.", "CO2", "CO2."),
        ("We meet in the old town.", "Wir treffen uns in der", "Wir treffen uns in der"),
        ("It is in CO2.", 'Es ist in "CO2"', 'Es ist in "CO2"'),
        ("The room is warm.", "\u90e8\u5c4b\u306f\u6696\u304b\u3044", "\u90e8\u5c4b\u306f\u6696\u304b\u3044"),
        ("The room is 5 m2.", "\u90e8\u5c4b\u306f5", "\u90e8\u5c4b\u306f5"),
        ("The room is of {name}.", "\u90e8\u5c4b X1", "\u90e8\u5c4b X1"),
        ("5 Jan.", "5. Januar", "5. Januar"),
        ("approx.", "ungef\u00e4hr", "ungef\u00e4hr"),
        ("Mr.", "Herr", "Herr"),
        ("The room is 5 m2", "Das Zimmer ist 5 m2", "Das Zimmer ist 5 m2"),
        ("The room is warm!", "Das Zimmer ist warm", "Das Zimmer ist warm"),
    ],
)
def test_a_sentence_keeps_its_full_stop(source: str, target: str, shown: str) -> None:
    assert with_full_stop_of(source, target) == shown


@given(TEXTS, TEXTS)
def test_nothing_but_a_full_stop_is_added(source: str, target: str) -> None:
    assert with_full_stop_of(source, target) in (target, f"{target}.")
    assert with_full_stop_of(source, source) == source
