"""Sentences and their parts: nothing is lost between them."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.documents.cutting import cut, cut_text, joined, listed_sentences, shared_among
from server.stores.records import Part, Sentence
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.server.api.conftest import settings_for

TEXTS = [
    "",
    " ",
    "***",
    "Yes.",
    " One. Two!\n- Three? ",
    "we walk home " * 60,
    "See https://a.org/?b=1, now.",
    "a\0b\r\nc",
]


@pytest.fixture(scope="module")
def translator(document_artifact: Path) -> Iterator[Translator]:
    result = Translator.load(document_artifact, settings_for(document_artifact).engine, Metrics())
    yield result
    result.stop(0)


def copied(sentence: Sentence, translator: Translator) -> str:
    """The translation when the model copies what it reads."""
    return joined(
        sentence, translator.target_pieces.decode(part.source_ids[:-1] for part in sentence.parts), translator
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_sentence_is_what_its_parts_and_the_gaps_make(translator: Translator, text: str) -> None:
    [sentence] = listed_sentences([text], translator)
    assert [part.source_ids for part in sentence.parts] == list(translator.plan(text).source_ids)
    assert copied(sentence, translator) == text


@pytest.mark.parametrize("text", [*TEXTS, "".join(TEXTS), "\n\n".join(TEXTS)])
def test_a_text_is_what_its_sentences_and_the_gaps_make(translator: Translator, text: str) -> None:
    sentences, end = cut_text(text, translator)
    assert "".join(sentence.gap + sentence.source for sentence in sentences) + end == text
    assert "".join(sentence.gap + copied(sentence, translator) for sentence in sentences) + end == text
    assert all(len(sentence.parts) == 1 for sentence in sentences)


@pytest.mark.parametrize("text", TEXTS)
def test_a_sentence_of_an_older_store_is_cut_again(translator: Translator, text: str) -> None:
    """Its parts do not say where they are."""
    [new] = listed_sentences([text], translator)
    old = dataclasses.replace(new, parts=tuple(dataclasses.replace(part, span=None) for part in new.parts))
    assert copied(old, translator) == text


def test_a_sentence_of_an_older_store_that_is_cut_otherwise_by_now(translator: Translator) -> None:
    url = "https://a.org"
    [ids] = translator.source_pieces.encode([url])
    assert joined(Sentence(0, url, (Part(ids),)), ["Dort."], translator) == "Dort."
    assert joined(Sentence(0, url, (Part(ids), Part(ids))), ["Dort.", "Da."], translator) == "Dort. Da."


@pytest.mark.parametrize("translation", ["", "Eins.", "Eins. Zwei. Drei.", "Das Haus steht am Fluss. " * 50])
@pytest.mark.parametrize("source", ["", "Yes.", "One. Two. Three."])
def test_a_person_s_translation_is_shared_among_the_parts(
    translator: Translator, source: str, translation: str
) -> None:
    parts = shared_among(cut(source, translator), translation, translator)
    longest = translator.artifact.manifest.max_target_length - 1
    shares = [part.context_ids for part in parts]
    assert all(share is not None and len(share) <= longest for share in shares)
    said_again = translator.target_pieces.decode(share or () for share in shares)
    if source and len(translation) < longest:
        assert "".join(said_again).replace(" ", "") == translation.replace(" ", "")
    if len(parts) == 3 and translation.startswith("Eins. Zwei"):
        assert said_again == ["Eins.", "Zwei.", "Drei."]


@settings(deadline=None, max_examples=30)
@given(lengths=st.lists(st.integers(1, 30), min_size=2, max_size=5), words=st.integers(1, 60))
def test_parts_have_shares_in_proportion_to_their_lengths(
    translator: Translator, lengths: list[int], words: int
) -> None:
    """Of a translation that does not have a sentence for each of them; nothing of it is lost."""
    parts = [Part((5,) * (length - 1) + (3,)) for length in lengths]
    translation = " ".join(["Haus"] * words)
    [ids] = translator.target_pieces.encode([translation])
    longest = translator.artifact.manifest.max_target_length - 1
    given, total, before = len(ids) - 1, sum(lengths), 0
    for part, length in zip(shared_among(parts, translation, translator), lengths, strict=True):
        assert part.context_ids is not None
        assert abs(len(part.context_ids) - min(longest, given * length / total)) <= 1
        start = round(given * before / total)
        before += length
        assert part.context_ids == tuple(ids[start : round(given * before / total)])[:longest]
        assert part.target_ids is None


@settings(deadline=None, max_examples=30)
@given(text=st.text(alphabet="aB. \n-!1", max_size=40))
def test_any_text_comes_back(translator: Translator, text: str) -> None:
    sentences, end = cut_text(text, translator)
    assert "".join(sentence.gap + sentence.source for sentence in sentences) + end == text
    [alone] = listed_sentences([text], translator)
    spans = [part.span for part in alone.parts if part.span is not None]
    assert len(spans) == len(alone.parts)
    assert spans == sorted(spans)


def test_a_document_has_capitals_and_numbers_as_a_text_has(translator: Translator) -> None:
    [sentence] = listed_sentences(["It costs 1,234.56 euros"], translator)
    assert joined(sentence, ["es kostet 1.234.56 Euro"], translator) == "Es kostet 1.234,56 Euro"
