"""Shortlists: which words are listed, and searches that are the same as plain ones among the listed words."""

import dataclasses
import random
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from export.artifact_writer import ExportOptions, default_shortlist, export_artifact, shortlist_plan
from export.onnx_graph.builder import GraphBuilder
from export.onnx_graph.shortlist import ShortlistPlan, extra_words
from export.onnx_graph.word_lists import WordLists
from loadtest.bench.ours import random_artifact
from loadtest.bench.shapes import random_lexicon, random_model, random_plan
from model.data.lexicon import LEXICON, NULL_ID, Lexicon
from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.artifact.signature import LISTED_WORDS
from server.backends.base import Backend
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from tests.models import SENTENCES, lively_model, tiny_config, write_checkpoint
from tests.server.engine.runs import translate

Source = list[int]
SOURCES = st.lists(st.lists(st.integers(4, 319), max_size=12).map(lambda ids: [*ids, 3]), min_size=1, max_size=4)


def listed_words(lexicon: Lexicon, source: Source, frequent: int, extra: int) -> list[int]:
    """Slow twin of the encode graph's choice."""
    always = {int(word) for word in lexicon.by_frequency[:frequent]}
    score = dict.fromkeys(range(3, lexicon.words.shape[0]), np.float32(0))
    for word in [NULL_ID, *source]:
        for target, chance in zip(lexicon.words[word], lexicon.probability[word], strict=True):
            score[int(target)] += np.float32(chance)
    others = sorted((word for word in score if word not in always), key=lambda word: (-score[word], word))
    return sorted(always) + sorted(others[:extra])


def padded(sources: list[Source]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    width = max(len(source) for source in sources)
    ids = np.array([[*source, *[0] * (width - len(source))] for source in sources])
    keep = np.array([[1] * len(source) + [0] * (width - len(source)) for source in sources], np.int32)
    return ids, keep


@pytest.fixture(scope="module")
def artifact(tiny_artifact: Path) -> Artifact:
    return Artifact.load(tiny_artifact)


@pytest.fixture(scope="module")
def listing(artifact: Artifact) -> dict[str, Backend]:
    """Format and precision -> the backend with the shortlist."""
    kinds = (("onnx", "fp32"), ("onnx", "int8"), ("torchscript", "fp32"))
    return {f"{format} {precision}": load_backend(artifact, format, precision, "on") for format, precision in kinds}


@settings(deadline=None, max_examples=30)
@given(sources=SOURCES)
def test_lists_are_those_of_the_slow_reference_in_any_batch(listing: dict[str, Backend], sources: list[Source]) -> None:
    lexicon = random_lexicon(320)
    for backend in listing.values():
        for source, encoded in zip(sources, backend.encode(*padded(sources)), strict=True):
            words = encoded.on_host(LISTED_WORDS)
            assert words is not None
            assert words.tolist() == listed_words(lexicon, source, 64, 64)


@settings(deadline=None, max_examples=10)
@given(sources=SOURCES, beam=st.integers(1, 5), kind=st.sampled_from(["onnx fp32", "torchscript fp32"]))
def test_search_is_the_reference_search_among_the_listed_words(
    listing: dict[str, Backend], tiny_model: TranslationModel, sources: list[Source], beam: int, kind: str
) -> None:
    options = SearchOptions(beam_size=beam, num_hypotheses=beam, max_length=16)
    lexicon = random_lexicon(320)
    for source, result in zip(sources, translate(listing[kind], [tuple(s) for s in sources], options), strict=True):
        words = listed_words(lexicon, source, 64, 64)
        expected = reference_search(tiny_model, source, beam, beam, max_length=16, words=words)
        assert [h.ids for h in result.hypotheses] == [h.ids for h in expected]
        for ours, theirs in zip(result.hypotheses, expected, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-3)


def test_an_output_bias_counts_among_the_listed_words(tmp_path: Path) -> None:
    model = lively_model(tiny_config(output_bias=True))
    bias = model.embedding.output_bias
    assert bias is not None
    with torch.no_grad():
        bias.copy_(3 * torch.randn(len(bias), generator=torch.Generator().manual_seed(0)))
        bias[3] = 0
    options = ExportOptions(
        "biased", ("en", "de"), (("onnx", "fp32"), ("onnx", "int8")), shortlist=(64, 64), calibration=SENTENCES[:4]
    )
    export_artifact(write_checkpoint(model, tmp_path / "checkpoint"), tmp_path / "biased", options)
    artifact = Artifact.load(tmp_path / "biased")
    assert artifact.manifest.shortlist is not None
    sources = [[5, 6, 7, 3], [300, 20, 3]]
    lexicon = random_lexicon(320)
    actual = translate(load_backend(artifact, "onnx", "fp32", "on"), [tuple(ids) for ids in sources], SearchOptions(4))
    for source, result in zip(sources, actual, strict=True):
        words = listed_words(lexicon, source, 64, 64)
        (expected,) = reference_search(model, source, beam_size=4, max_length=64, words=words)
        assert result.hypotheses[0].ids == expected.ids
        assert result.hypotheses[0].score == pytest.approx(expected.score, abs=1e-3)


@pytest.mark.parametrize("vocabulary", [32_767 + 64 + 3, 32_767 + 64 + 4, 70_000])
def test_lists_from_any_vocabulary_are_those_of_the_slow_reference(vocabulary: int) -> None:
    """Also where the place after the last is the first that 16 bits cannot hold, and above 65,536 words."""
    lexicon = random_lexicon(vocabulary)
    plan = ShortlistPlan.of(lexicon, 64, 64)
    last = vocabulary - 1
    sources = [[5, last, 35, 3], [last - 6000, 3]]
    for source, extra in zip(sources, extra_of(plan, sources), strict=True):
        assert sorted(plan.frequent.tolist()) + extra == listed_words(lexicon, source, 64, 64)


def extra_of(plan: ShortlistPlan, sources: list[Source]) -> list[list[int]]:
    """The extra words of every source, by a graph of nothing else."""
    graph = GraphBuilder("list")
    ids, keep = graph.input("ids", "int64", ["batch", "source"]), graph.input("keep", "int32", ["batch", "source"])
    graph.output(extra_words(graph, ids, keep, plan), "extra", "int64", ["batch", plan.num_extra])
    session = onnxruntime.InferenceSession(graph.model().SerializeToString())
    values, kept = padded(sources)
    result: list[list[int]] = session.run(None, {"ids": values, "keep": kept})[0].tolist()
    return result


@settings(deadline=None, max_examples=8)
@given(
    seed=st.integers(0, 99),
    sources=st.lists(st.lists(st.integers(0, 299), min_size=1, max_size=6), min_size=1, max_size=3),
)
def test_rows_of_any_length_count_as_in_loops(seed: int, sources: list[Source]) -> None:
    """Empty rows, words that are listed twice, words that are never generated, and sentences that list nothing."""
    generator = random.Random(seed)
    lists = [
        [(generator.randrange(300), generator.randrange(1, 9)) for _ in range(generator.randrange(9))]
        for _ in range(300)
    ]
    words = [word for row in lists for word, _ in row]
    weight = np.array([chance / 8 for row in lists for _, chance in row], np.float16)
    begin = np.concatenate([[0], np.cumsum([len(row) for row in lists])])
    generated = np.array([7, *range(20, 300), *range(4, 7), *range(8, 20)])
    plan = ShortlistPlan.of(WordLists(begin, np.array(words, np.int64), weight, {9: 0.5}), 64, 64, generated)
    for source, extra in zip(sources, extra_of(plan, sources), strict=True):
        score = dict.fromkeys(generated.tolist(), 0.0) | {9: 0.5}
        for word, chance in (entry for piece in source for entry in lists[piece]):
            score[word] = score.get(word, 0.0) + chance / 8
        others = [word for word in score if word in plan.others]
        assert extra == sorted(sorted(others, key=lambda word: (-score[word], word))[:64])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((256, 64), r"256\+64 words is longer than the vocabulary \(317\)"), ((100, 64), r"multiples of 64, not 100\+64")],
)
def test_sizes_that_do_not_fit_are_refused(sizes: tuple[int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ShortlistPlan.of(random_lexicon(320), *sizes)


def test_auto_takes_the_list_and_off_does_without(artifact: Artifact) -> None:
    assert load_backend(artifact, "onnx", "int8", "auto").shortlist
    assert not load_backend(artifact, "onnx", "int8", "off").shortlist
    assert load_backend(artifact, "torchscript", "fp32", "auto").shortlist
    assert not load_backend(artifact, "torchscript", "fp32", "off").shortlist
    graphs = tuple(dataclasses.replace(graph, step_shortlist="") for graph in artifact.manifest.graphs)
    older = Artifact(artifact.folder, dataclasses.replace(artifact.manifest, graphs=graphs))
    assert not load_backend(older, "torchscript", "fp32", "auto").shortlist
    with pytest.raises(ArtifactError, match="no shortlist for torchscript fp32: use shortlist auto or off"):
        load_backend(older, "torchscript", "fp32", "on")


def test_small_vocabularies_and_checkpoints_without_lexicon_have_no_list(tmp_path: Path) -> None:
    assert shortlist_plan(tmp_path, "auto") is None
    random_lexicon(320).save(tmp_path / LEXICON)
    assert shortlist_plan(tmp_path, "auto") is None
    random_lexicon(7000).save(tmp_path / LEXICON)
    plan = shortlist_plan(tmp_path, "auto")
    assert plan is not None
    assert (len(plan.frequent), plan.num_extra) == default_shortlist(7000) == (3072, 64)
    assert shortlist_plan(tmp_path, None) is None
    assert default_shortlist(32_000) == (2560, 192)


@pytest.mark.parametrize("vocabulary", [40_000, 70_000])
def test_search_among_the_words_of_a_large_vocabulary(vocabulary: int, tmp_path: Path) -> None:
    config = tiny_config(vocab_size=vocabulary, d_model=16, ffn_dim=16)
    artifact = random_artifact(config, "fp32", tmp_path, True)
    source = [vocabulary - 1, 5, 33_000, 3]
    plan = random_plan(vocabulary)
    words = listed_words(random_lexicon(vocabulary), source, len(plan.frequent), plan.num_extra)
    assert max(words) > 32_767
    (expected,) = reference_search(random_model(config), source, 2, max_length=8, words=words)
    (result,) = translate(load_backend(artifact, "onnx", "fp32", "on"), [tuple(source)], SearchOptions(2, max_length=8))
    assert result.hypotheses[0].ids == expected.ids
    assert result.hypotheses[0].score == pytest.approx(expected.score, abs=1e-3)
