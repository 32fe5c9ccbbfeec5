"""Marks of accelerators."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect.accelerators import accelerator_of
from server.text.protect.masking import mask
from server.text.protect.restoring import restore
from tests.growth import Shape, assert_linear, check_growth


def translated(label: str, translation: str) -> str:
    return restore(mask(label, lambda character: True), translation).text


@pytest.mark.parametrize(
    ("label", "read", "translation", "shown"),
    [
        ("&File", "File", "Datei", "&Datei"),
        ("_File", "File", "Datei", "_Datei"),
        ("Fil&e", "File", "Datei", "Dat&ei"),
        ("~Edit", "Edit", "Bearbeiten", "B~earbeiten"),
        ("E&xit", "Exit", "Beenden", "&Beenden"),
        ("E_xit", "Exit", "Beenden", "_Beenden"),
        ("_Save As...", "Save As...", "Sichern unter...", "_Sichern unter..."),
        ("Find _Next", "Find Next", "Als n\u00e4chstes", "Als _n\u00e4chstes"),
        ("Pre_ferences...", "Preferences...", "Einstellungen ...", "_Einstellungen ..."),
        ("Search && Replace", "Search & Replace", "Suchen & Ersetzen", "Suchen && Ersetzen"),
        ("Search && &Edit", "Search & Edit", "Suchen & Editieren", "Suchen && &Editieren"),
        ("&Open %s", "Open X1", "X1 \u00f6ffnen", "%s &\u00f6ffnen"),
        ("&Open", "Open", "\u958b\u304f...", "\u958b\u304f(&O)..."),
        ("&\u0424\u0430\u0439\u043b", "\u0424\u0430\u0439\u043b", "File", "&File"),
    ],
)
def test_the_model_reads_the_label_and_a_letter_of_the_translation_gets_the_mark(
    label: str, read: str, translation: str, shown: str
) -> None:
    assert mask(label, lambda character: True).text == read
    assert translated(label, translation) == shown


@pytest.mark.parametrize(
    "text",
    [
        "A & B", "AT&T", "R&D", "Q&A", "Tom&Jerry", "black&white", "Salt & Pepper", "user_id", "First_name", "_id",
        "_blank", "__init__", "de_DE", "Use the option file_name here", "&nbsp;", "&#169;", "https://a.org/?x=1&y=2",
        "~/notes.txt", "~five of them", "_Foo_", "a < b",
        "We walked home & nobody minded it, or so &they said to us then.",
    ],
)  # fmt: skip
def test_what_is_no_accelerator(text: str) -> None:
    assert accelerator_of(text) is None


LABELS = st.lists(
    st.sampled_from(["File", "&Open", "_Save", "as", "Re&fresh", "%s", "&&", "~View", "...", "X1", "e"]), max_size=5
)
LETTERS = st.text("ABCdefgh\u00e4\u00d6 .", max_size=20)


@given(LABELS.map(" ".join))
def test_a_model_that_copies_gives_the_label_back(label: str) -> None:
    masked = mask(label, lambda character: True)
    assert restore(masked, masked.text).text == label


@given(LETTERS, st.sampled_from(["&Open the file", "Re_fresh", "~View all", "Sa&ve %s"]))
def test_a_translation_with_letters_has_one_mark_before_a_letter(translation: str, label: str) -> None:
    accelerator = accelerator_of(label)
    assert accelerator is not None
    shown = translated(label, translation).replace("%s", "")
    if any(map(str.isalpha, translation)):
        assert shown.count(accelerator.mark) == 1
        assert shown[shown.index(accelerator.mark) + 1].isalpha()
        assert "".join(shown.replace(accelerator.mark, "").split()) == "".join(translation.split())


def test_a_mark_is_put_on_in_linear_time() -> None:
    """Also where no letter of the translation is on a keyboard, so that the key follows before its last signs."""
    label = accelerator_of("&File...")
    assert label is not None
    assert_linear(
        lambda text: label.write_into(text, [], False), ("\u732b", ".", " ", ":", "f"), count=8, ordinary=None
    )
    check_growth(lambda text: label.write_into(f"{text}\u732b", [], False), Shape((".",), "repeated"))
