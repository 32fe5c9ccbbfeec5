"""Translations that lack words of their source are found, and long sentences translated again in clauses."""

import asyncio
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.backends.alignment import coverage_of
from server.backends.arrays import Floats
from server.engine import coverage as engine_coverage
from server.settings import BUNDLED_MODELS, EngineSettings
from server.telemetry.metrics import Metrics
from server.translation import coverage, length_check
from server.translation.coverage import LEAST_ATTENTION, MIN_MISSING, num_missing
from server.translation.length_check import FEWER, is_aligned, is_short
from server.translation.planning import TextRequest
from server.translation.translator import Translator


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 3))
def test_runs_of_words_without_attention(is_read: list[bool], pieces_of_word: int) -> None:
    """Of each word the piece that is attended to most counts."""
    pieces = [piece for _ in is_read for piece in ("\u2581wo", *["rd"] * (pieces_of_word - 1))]
    weights = np.zeros((2, len(pieces) + 1), np.float32)
    for number, is_word_read in enumerate(is_read):
        weights[number % 2, number * pieces_of_word + pieces_of_word - 1] = LEAST_ATTENTION if is_word_read else 0.1
    runs = "".join("r" if is_word_read else "-" for is_word_read in is_read).split("r")
    assert num_missing(coverage_of(weights), pieces) == sum(len(run) for run in runs if len(run) >= MIN_MISSING)


def test_without_translation_all_words_are_missing() -> None:
    nothing = coverage_of(np.zeros((0, 6), np.float32))
    assert num_missing(nothing, ["\u2581a", "\u2581b", ",", "\u2581c", "\u2581d"]) == 4


def test_only_long_sources_are_short_of_words() -> None:
    assert is_short((tuple(range(31)), tuple(range(10))), usual_ratio=1.0)
    assert not is_short((tuple(range(31)), tuple(range(29))), usual_ratio=1.0)
    assert not is_short((tuple(range(8)), ()), usual_ratio=1.0)
    assert not is_short((tuple(range(21)), tuple(range(17))), usual_ratio=1.0)
    assert is_short((tuple(range(21)), tuple(range(16))), usual_ratio=1.0)


def test_the_limits_of_short_translations() -> None:
    """Nine tenths of what is usual, and FEWER pieces: of 20 pieces 17, of 60 pieces 54. The source has EOS beside."""
    for usual, least in ((20, 20 - FEWER), (60, 54)):
        source = tuple(range(usual + 1))
        assert [is_short((source, tuple(range(least - less))), 1.0) for less in (1, 0)] == [True, False]
    assert [is_short((tuple(range(length)), ()), 1.0) for length in (15, 16)] == [False, True]


def test_translations_of_long_sources_are_always_checked() -> None:
    assert is_aligned((tuple(range(90)), tuple(range(90))), usual_ratio=1.0)
    assert not is_aligned((tuple(range(30)), tuple(range(30))), usual_ratio=1.0)


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    translator = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(slots=4, num_workers=1), Metrics())
    yield translator
    translator.stop(1)


LONG = (
    "imitating in this the example of travellers who, when they have lost their way in a forest, ought not to wander "
    "from side to side, far less remain in one place, but proceed constantly towards the same side in as straight a "
    "line as possible, without changing their direction for slight reasons, although perhaps it might be chance alone "
    "which at first determined the selection;"
)
GARBLED = (
    "The committee, which had met in the spring in order to discuss the many complaints that had been sent by the "
    "people of the village, decided after a long debate that the old school should not be closed, that the road to "
    "the station should be repaired before the winter, that the library should remain open on Saturdays, and that "
    "the mayor should write a letter to the minister in which all of these decisions are explained, because nobody "
    "else would do it."
)
"""As a whole the model translates it to as many words, the last of which make no sense."""
SHORT = "She went to the market, bought a pound of apples, and then walked home through the park with her sister."


def test_a_removed_clause_is_found(translator: Translator) -> None:
    [source] = translator.source_pieces.encode([SHORT])
    whole = translator.target_pieces.encode(
        ["Sie ging zum Markt, kaufte ein Pfund \u00c4pfel und ging dann mit ihrer Schwester durch den Park nach Hause."]
    )[0]
    part = translator.target_pieces.encode(["Sie ging zum Markt, kaufte ein Pfund \u00c4pfel."])[0]
    result = asyncio.run(translator.find_incomplete([(source, whole[:-1]), (source, part[:-1])], None))
    assert list(result) == [1]


def test_words_of_many_sentences_are_counted_beside_the_event_loop(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set[threading.Thread]()

    def counted(coverage: Sequence[float], pieces: Sequence[str]) -> int:
        threads.add(threading.current_thread())
        return num_missing(coverage, pieces)

    def covered(weights: Floats) -> tuple[float, ...]:
        threads.add(threading.current_thread())
        return coverage_of(weights)

    monkeypatch.setattr(coverage, "num_missing", counted)
    monkeypatch.setattr(coverage, "coverage_of", covered)
    [source], [target] = translator.source_pieces.encode([LONG]), translator.target_pieces.encode([LONG])
    asyncio.run(translator.find_incomplete([(source, target[:4])] * 40, None))
    assert threads
    assert threading.main_thread() not in threads


def test_a_long_sentence_in_clauses(translator: Translator) -> None:
    """Its parts are the sentence, and they have what the whole sentence lacked."""
    request = TextRequest([f"Yes. {LONG}", SHORT], translator.options(), aligns=True)
    [text, other] = asyncio.run(translator.translate(request)).translations
    assert len(other.sentences) == 1
    assert [sentence.flags for sentence in text.sentences if "cut" not in sentence.flags] == [()]
    assert len(text.sentences) > 2
    assert " ".join(sentence.source for sentence in text.sentences) == f"Yes. {LONG}"
    assert text.text == " ".join(sentence.target for sentence in text.sentences)
    assert text.alignment is not None
    assert max(place[0][1] for place in text.alignment) > len(LONG) - 20


def test_a_long_sentence_whose_end_is_garbled_is_translated_in_clauses(translator: Translator) -> None:
    [text] = asyncio.run(translator.translate(TextRequest([GARBLED], translator.options()))).translations
    assert [sentence.flags for sentence in text.sentences] == [("cut",)] * len(text.sentences)
    assert "Minister" in text.text
    request = TextRequest([GARBLED], translator.options(), splits=False)
    planned = asyncio.run(translator.prepare(request))
    whole = asyncio.run(translator.finish(planned, asyncio.run(translator.run(planned.sentences, None))))
    assert [sentence.flags for sentence in whole.translations[0].sentences] == [("truncated",)]


def test_the_engine_finds_what_another_pass_finds(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the graph that aligns is loaded, translations are not aligned by a pass of their own."""
    texts = [SHORT, LONG, GARBLED, "Yes.", "The house is small."]
    translator.worker.side_tasks.prepare_alignments()
    monkeypatch.setattr(length_check, "LONG", 1)  # all are checked
    monkeypatch.setattr(engine_coverage, "MOST_PIECES", 10_000)
    options = translator.options(max_length=250)  # no other test has cached translations with these
    planned = asyncio.run(translator.prepare(TextRequest(texts, options)))
    results = asyncio.run(translator.run(planned.sentences, None))
    coverages = dict[int, Sequence[float]](enumerate(result.hypotheses[0].coverage or () for result in results))
    assert all(coverages.values())
    pairs = [
        (each.source_ids, result.hypotheses[0].ids) for each, result in zip(planned.sentences, results, strict=True)
    ]
    by_another_pass = asyncio.run(translator.find_incomplete(pairs, None))
    assert by_another_pass, "the garbled one lacks words"
    assert len(by_another_pass) < len(pairs)
    monkeypatch.setattr(translator.worker.side_tasks, "align", None)
    assert asyncio.run(translator.find_incomplete(pairs, None, coverages)) == by_another_pass
    asyncio.run(translator.finish(planned, results))
