"""How German sentences address their reader."""

import pytest

from server.text.checks.address import Address, SourceHints, address_of
from server.text.checks.address_words import IMPERATIVES, INFORMAL, POLITE, VERBS

FORMAL = [
    ("Can you help me?", "Können Sie mir helfen?"),
    ("You are late.", "Sie sind spät dran."),
    ("Your bag is here.", "Ihre Tasche ist hier."),
    ("Open the file.", "Öffnen Sie die Datei."),
    ("I will help you.", "Ich werde Ihnen helfen."),
    ("He asked: where is your car?", "Er fragte: Wo ist Ihr Wagen?"),
    ("Where do you want to be picked up?", "Wo möchten sie abgeholt werden?"),
    ("You can tell them that.", "Sie können es ihnen sagen."),
]
INFORMAL_ONES = [
    ("Can you help me?", "Kannst du mir helfen?"),
    ("Your bag is here.", "Deine Tasche ist hier."),
    ("Are you coming?", "Kommt ihr?"),
    ("I saw you.", "Ich habe Euch gesehen."),
    ("Open the file.", "Öffne die Datei."),
    ("Please wait here.", "Bitte warte hier."),
    ("If I am late, let me know.", "Wenn ich zu spät bin, sag Bescheid."),
    ("You have time.", "Ihr habt Zeit."),
]
NEITHER = [
    ("Thank you.", "Danke."),
    ("She is here.", "Sie ist hier."),
    ("They are here.", "Sie sind hier."),
    ("I gave it to her.", "Ich gab es ihr."),
    ("Her house is old.", "Ihr Haus ist alt."),
    ("The company is yours.", "Sie ist es."),
    ("How do you say that?", "Wie sagt man das?"),
    ("I am going home.", "Ich gehe nach Hause."),
    ("If I come, I will ask.", "Wenn ich komme, frage ich."),
    ("It was dark.", "Es war dunkel."),
]
MIXED = [
    ("Let me know if you need help.", "Sag mir Bescheid, wenn Sie Hilfe brauchen."),
    ("You can bring your car.", "Du kannst Ihren Wagen mitbringen."),
]


@pytest.mark.parametrize(
    ("source", "text", "form"),
    [
        *((*pair, Address.FORMAL) for pair in FORMAL),
        *((*pair, Address.INFORMAL) for pair in INFORMAL_ONES),
        *((*pair, Address.NONE) for pair in NEITHER),
        *((*pair, Address.MIXED) for pair in MIXED),
    ],
)
def test_the_form_of_a_sentence(source: str, text: str, form: Address) -> None:
    assert address_of(text, source) is form


def test_words_of_the_tables_are_in_one_form() -> None:
    assert all(word == word.lower() for word in INFORMAL | VERBS | IMPERATIVES)
    assert all(word[0].isupper() for word in POLITE)
    assert not INFORMAL & VERBS | INFORMAL & IMPERATIVES | VERBS & IMPERATIVES


def test_hints_of_a_source() -> None:
    assert SourceHints.of("You see them") == SourceHints(True, False, False, True)
    assert SourceHints.of("They see you") == SourceHints(False, False, False, True)
    assert SourceHints.of("We see you and it") == SourceHints(True, True, False, False)
    assert SourceHints.of("") == SourceHints(False, True, False, True)
