"""Steps that score all words where a sentence's best listed word is improbable."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.onnx_graph.shortlist import ShortlistPlan, Widening
from export.parity import ParityError
from export.shortlists import check
from export.shortlists.artifact import add_shortlist
from export.shortlists.check import check_listed
from loadtest.bench.shapes import random_lexicon
from model.reference_search import ReferenceHypothesis, reference_search
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from tests.export.test_shortlist import listed_words
from tests.server.engine.runs import translate

CONFIDENCE, OF_RARE = 0.2, 0.4
RARE = np.arange(320) % 5 == 0
LENGTH = 16
SOURCES = [[5, 6, 7, 3], [300, 20, 3], [90, 14, 250, 9, 33, 3], [3], [200, 201, 202, 203, 204, 205, 206, 3]]
Drawn = st.lists(st.lists(st.integers(4, 319), max_size=12).map(lambda ids: [*ids, 3]), min_size=1, max_size=4)


def listing(tiny_artifact: Path, out: Path, least: float, of_rare: float) -> Artifact:
    """The tiny artifact with a random list."""
    plan = dataclasses.replace(ShortlistPlan.of(random_lexicon(320), 64, 64), widening=Widening(least, of_rare, RARE))
    add_shortlist(Artifact.load(tiny_artifact), plan, out)
    return Artifact.load(out)


@pytest.fixture(scope="module")
def artifact(tiny_artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return listing(tiny_artifact, tmp_path_factory.mktemp("widening") / "widened", CONFIDENCE, OF_RARE)


@pytest.fixture(scope="module")
def backends(artifact: Artifact) -> dict[str, Backend]:
    """Precision -> the backend with the list."""
    return {precision: load_backend(artifact, "onnx", precision, "on") for precision in ("fp32", "int8")}


def confidence(source: list[int]) -> float:
    return OF_RARE if any(RARE[piece] for piece in source) else CONFIDENCE


def slow(model: TranslationModel, source: list[int], beam: int, min_confidence: float) -> list[ReferenceHypothesis]:
    words = listed_words(random_lexicon(320), source, 64, 64)
    return reference_search(model, source, beam, beam, max_length=LENGTH, words=words, min_confidence=min_confidence)


@settings(max_examples=15)
@given(sources=Drawn, beam=st.integers(1, 5))
def test_search_is_the_reference_search(
    backends: dict[str, Backend], tiny_model: TranslationModel, sources: list[list[int]], beam: int
) -> None:
    options = SearchOptions(beam_size=beam, num_hypotheses=beam, max_length=LENGTH)
    for source, result in zip(sources, translate(backends["fp32"], [tuple(s) for s in sources], options), strict=True):
        expected = slow(tiny_model, source, beam, confidence(source))
        assert [h.ids for h in result.hypotheses] == [h.ids for h in expected]
        for ours, theirs in zip(result.hypotheses, expected, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-3)


def test_some_steps_are_widened_and_some_are_not(tiny_model: TranslationModel) -> None:
    """So that the test above compares both."""
    never, here, always = (
        [slow(tiny_model, source, 2, least(source))[0].ids for source in SOURCES]
        for least in (lambda source: 0.0, confidence, lambda source: 1.0)
    )
    assert never != here != always
    assert len({*map(confidence, SOURCES)}) == 2


def test_a_sentence_is_translated_alone_as_in_company(backends: dict[str, Backend]) -> None:
    for backend in backends.values():
        for beam in (1, 4):
            together = translate(backend, [tuple(source) for source in SOURCES], SearchOptions(beam, max_length=LENGTH))
            for source, result in zip(SOURCES, together, strict=True):
                (alone,) = translate(backend, [tuple(source)], SearchOptions(beam, max_length=LENGTH))
                assert result.hypotheses[0].ids == alone.hypotheses[0].ids
                assert result.hypotheses[0].score == pytest.approx(alone.hypotheses[0].score, abs=1e-4)


def test_a_model_that_is_never_sure_searches_all_words(tiny_artifact: Path, tmp_path: Path) -> None:
    artifact = listing(tiny_artifact, tmp_path / "unsure", 1, 1)
    options = SearchOptions(4, max_length=LENGTH)
    sources = [tuple(source) for source in SOURCES]
    listed, plain = (translate(load_backend(artifact, "onnx", "int8", use), sources, options) for use in ("on", "off"))
    for ours, theirs in zip(listed, plain, strict=True):
        assert ours.hypotheses[0].ids == theirs.hypotheses[0].ids
        assert ours.hypotheses[0].score == pytest.approx(theirs.hypotheses[0].score, abs=1e-4)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_graphs_that_widen_elsewhere_than_their_threshold_are_found(
    artifact: Artifact, backends: dict[str, Backend], precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, plain = backends[precision], load_backend(artifact, "onnx", precision, "off")
    sources = [tuple(source) for source in SOURCES]
    assert check_listed(listed, plain, sources) < 1e-4
    for least in (-9.0, -0.1):
        monkeypatch.setattr(check, "thresholds", lambda sentences, least=least: np.full(len(sentences), least))
        with pytest.raises(ParityError, match="scores with the shortlist differ by"):
            check_listed(listed, plain, sources)
