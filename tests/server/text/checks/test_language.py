"""Which language a text is in, among the ones that are served."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.checks.language import identify, is_written_in

SENTENCES = {
    "en": ["The cat sat on the mat.", "Where is the nearest station?", "Please close the door.", "I have no idea."],
    "de": ["Die Katze saß auf der Matte.", "Wo ist der nächste Bahnhof?", "Bitte schließen Sie die Tür."],
    "fr": ["Le chat était assis sur le tapis.", "Où est la gare la plus proche ?", "Fermez la porte, s'il vous plaît."],
    "es": ["El gato estaba sentado en la alfombra.", "¿Dónde está la estación más cercana?"],
    "cs": ["Kočka seděla na rohožce.", "Kde je nejbližší nádraží?"],
}
CODES = sorted(SENTENCES)


@pytest.mark.parametrize(("code", "sentence"), [(code, sentence) for code in CODES for sentence in SENTENCES[code]])
def test_languages_of_short_sentences_are_identified(code: str, sentence: str) -> None:
    result, confidence = identify(sentence, CODES)
    assert result == code
    assert 0.5 < confidence <= 1


def test_only_candidates_are_answered() -> None:
    code, confidence = identify(SENTENCES["fr"][0], ["en", "de"])
    assert code in ("en", "de")
    assert 0 < confidence < 1


@pytest.mark.parametrize(("code", "sentence"), [(code, sentence) for code in CODES for sentence in SENTENCES[code]])
def test_a_sentence_is_surely_in_its_own_language_only(code: str, sentence: str) -> None:
    """Also beside languages that are nothing like it: an unserved language is taken for none of those that are."""
    for language in CODES:
        others = [other for other in ("en", "de") if other != language]
        assert is_written_in(sentence, language, others) <= (language == code)
    assert is_written_in(f"{sentence} {sentence}", code, ["en" if code == "de" else "de"])


@pytest.mark.parametrize("text", ["", "12:30", "OK", "Berlin Hotel", "\ud800"])
def test_short_texts_are_surely_in_no_language(text: str) -> None:
    assert not is_written_in(text, "de", ["en"])


def test_what_may_be_either_is_surely_neither() -> None:
    assert identify("Lock it.", ["de", "en"])[0] == "en"
    assert not is_written_in("Lock it.", "en", ["de"])


@pytest.mark.parametrize(
    "text", [sentence for code in CODES for sentence in SENTENCES[code]] + ["Lock it.", "in", "Name"]
)
def test_sure_is_what_is_likely_by_nine_tenths(text: str) -> None:
    for language in CODES:
        for other in CODES:
            result, confidence = identify(text, [language, other])
            may = result == language and (language == other or confidence >= 0.9)
            assert is_written_in(text, language, [other]) <= may


def test_titles_in_capitals() -> None:
    assert identify("DIE KATZE SASS AUF DER MATTE", ["en", "de"])[0] == "de"


def test_regions_and_scripts_are_the_candidates_own() -> None:
    assert identify("O gato estava sentado no tapete.", ["en-GB", "pt-BR", "pt-PT"])[0] == "pt-BR"


@pytest.mark.parametrize("text", ["", "   ", "12:30", "🙂", "\ud800"])
def test_a_text_without_letters_is_the_first_candidate_with_no_confidence(text: str) -> None:
    assert identify(text, ["de", "en"]) == ("de", 0.0)


def test_unknown_candidates_are_no_error() -> None:
    assert identify("The cat sat on the mat.", ["tlh", "xx"]) == ("tlh", 0.0)
    assert identify("The cat sat on the mat.", ["tlh", "en"])[0] == "en"
    with pytest.raises(ValueError, match="no candidate"):
        identify("Hello", [])


@given(st.text(max_size=40), st.lists(st.sampled_from(["en", "de", "fr", "tlh"]), min_size=1, unique=True))
def test_every_text_gets_a_candidate_and_a_probability(text: str, candidates: list[str]) -> None:
    code, confidence = identify(text, candidates)
    assert code in candidates
    assert 0 <= confidence <= 1


def test_the_language_of_a_megabyte_is_identified() -> None:
    assert identify("Die Katze saß auf der Matte. " * 40_000, ["en", "de"])[0] == "de"


def test_threads_do_not_disturb_each_other() -> None:
    wrong: list[str] = []

    def ask(code: str, others: list[str]) -> None:
        wrong.extend(sentence for sentence in SENTENCES[code] * 20 if identify(sentence, others)[0] != code)

    threads = [threading.Thread(target=ask, args=(code, [code, other])) for code in CODES for other in CODES[:2]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
