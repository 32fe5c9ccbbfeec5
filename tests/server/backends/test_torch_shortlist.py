"""Shortlists on the torch backend: the words and scores of ONNX Runtime's, of the reference search and of a step over
all words, at every precision, alone and in company, recorded and not."""

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from export.listed_step import ListedStepGraph
from export.onnx_graph.shortlist import ShortlistPlan, Widening
from export.parity import ParityError
from export.shortlists import check
from export.shortlists.check import check_listed
from loadtest.bench.shapes import random_lexicon
from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.artifact.signature import CONFIDENCE, LISTED_WORDS
from server.backends.base import Backend
from server.backends.context import full_context
from server.backends.load import load_backend
from server.backends.torchscript import backend as backend_module
from server.backends.torchscript import widening
from server.backends.torchscript.backend import TorchScriptBackend
from server.backends.torchscript.device import ON_CPU
from server.backends.torchscript.graph import Loader
from server.backends.torchscript.memory import TorchMemory
from server.backends.torchscript.place import Place
from server.backends.torchscript.shortlist import ListedStep
from server.backends.torchscript.step import DeviceStep
from server.engine.request import SearchOptions, SentenceRequest
from tests.documents import lively_document_model
from tests.export.test_shortlist import listed_words, padded
from tests.graphs import write_graphs
from tests.models import lively_model, tiny_config
from tests.server.backends.recording import RecordedRuns, Recording
from tests.server.backends.torch_devices import DEVICES
from tests.server.engine.runs import new_engine, play, random_arrival, run, translate
from tests.server.engine.test_scoring import score_request

CONFIDENT, OF_RARE = 0.2, 0.4
RARE = np.arange(320) % 5 == 0
SOURCES = [(5, 6, 7, 3), (301, 21, 3), (90, 14, 250, 9, 33, 3), (3,), (201, 202, 203, 204, 206, 207, 208, 3)]
LONGEST = 40
BOTH = (("onnx", "fp32"), ("torchscript", "fp32"))
HALF = {"fp16": 0.1, "bf16": 1.0}
"""Precision -> largest difference of the score of a translation of four steps, in nats."""


def plan_of(least: tuple[float, float] = (CONFIDENT, OF_RARE)) -> ShortlistPlan:
    plan = ShortlistPlan.of(random_lexicon(320), 64, 64)
    return dataclasses.replace(plan, widening=Widening(*least, RARE)) if any(least) else plan


@pytest.fixture(scope="module")
def model() -> TranslationModel:
    """Full attention, so that rings grow, and a bias for every word."""
    model = lively_model(tiny_config(ngram=None, output_bias=True))
    bias = model.embedding.output_bias
    assert bias is not None
    with torch.no_grad():
        bias.copy_(2 * torch.randn(len(bias), generator=torch.Generator().manual_seed(0)))
        bias[3] = 0
    return model


@pytest.fixture(scope="module")
def artifact(model: TranslationModel, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return write_graphs(model, tmp_path_factory.mktemp("listed"), *BOTH, score=True, plan=plan_of())


@pytest.fixture(scope="module", params=DEVICES)
def ours(artifact: Artifact, request: pytest.FixtureRequest) -> Backend:
    return load_backend(artifact, "torchscript", "fp32", "on", request.param)


@pytest.fixture(scope="module")
def onnx(artifact: Artifact) -> Backend:
    return load_backend(artifact, "onnx", "fp32", "on")


def is_rare(source: Sequence[int]) -> bool:
    return any(RARE[piece] for piece in source)


@pytest.mark.parametrize("beam", [1, 4])
def test_searches_are_those_of_the_reference_and_of_onnx_runtime_alone_and_in_company(
    ours: Backend, onnx: Backend, model: TranslationModel, beam: int
) -> None:
    options = SearchOptions(beam, num_hypotheses=beam, max_length=LONGEST)
    found, theirs = (translate(backend, SOURCES, options) for backend in (ours, onnx))
    alone = [translate(ours, [source], options)[0] for source in SOURCES]
    lexicon = random_lexicon(320)
    for index, source in enumerate(SOURCES):
        words = listed_words(lexicon, list(source), 64, 64)
        expected = reference_search(
            model, list(source), beam, beam, max_length=LONGEST, words=words,
            min_confidence=OF_RARE if is_rare(source) else CONFIDENT,
        )  # fmt: skip
        mine = found[index].hypotheses
        for other in (theirs[index].hypotheses, alone[index].hypotheses):
            assert [each.ids for each in mine] == [each.ids for each in other]
            assert [each.score for each in mine] == pytest.approx([each.score for each in other], abs=1e-4)
        assert [each.ids for each in mine] == [each.ids for each in expected]
        assert [each.score for each in mine] == pytest.approx([each.score for each in expected], abs=1e-3)


def test_some_steps_are_widened_and_some_are_not_and_rings_grow(model: TranslationModel) -> None:
    """So that the test above compares all of it."""
    lexicon = random_lexicon(320)
    never, here, always = (
        [
            reference_search(
                model, list(source), 4, max_length=LONGEST, words=listed_words(lexicon, list(source), 64, 64),
                min_confidence=of_rare if is_rare(source) else confident,
            )[0].ids
            for source in SOURCES
        ]
        for confident, of_rare in ((0, 0), (CONFIDENT, OF_RARE), (1, 1))
    )  # fmt: skip
    assert never != here != always
    assert len({*map(is_rare, SOURCES)}) == 2
    assert max(map(len, here)) > 16


def test_candidates_are_those_of_a_step_over_all_words_among_the_listed(
    artifact: Artifact, ours: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load_backend(artifact, "torchscript", "fp32", "off", ours.device.name)
    assert check_listed(ours, plain, SOURCES) < 1e-4
    for least in (-9.0, -0.1):  # as if steps were widened elsewhere
        monkeypatch.setattr(check, "thresholds", lambda sentences, least=least: np.full(len(sentences), least))
        with pytest.raises(ParityError, match="scores with the shortlist differ by"):
            check_listed(ours, plain, SOURCES)


@pytest.mark.parametrize("count", [33, 70])
def test_lists_of_many_sentences_are_those_of_each(ours: Backend, onnx: Backend, count: int) -> None:
    """More than are made in one run."""
    sources = [[4 + index, 5 + 2 * index, 3] for index in range(count)]
    for mine, theirs in zip(*(backend.encode(*padded(sources)) for backend in (ours, onnx)), strict=True):
        for name in (LISTED_WORDS, CONFIDENCE, "shortlist.weight", "shortlist.bias"):
            mine_on_host, theirs_on_host = mine.on_host(name), theirs.on_host(name)
            assert mine_on_host is not None
            np.testing.assert_array_equal(mine_on_host, theirs_on_host)
        assert mine.on_host("shortlist.scale") is None


@pytest.mark.parametrize("seed", [1, 2])
def test_batches_that_grow_and_move_give_what_onnx_runtime_gives(ours: Backend, onnx: Backend, seed: int) -> None:
    generator = random.Random(seed)
    schedule = [random_arrival(generator) for _ in range(14)]
    played = (play(backend, schedule, slots=5) for backend in (ours, onnx))
    for mine, theirs in zip(*played, strict=True):
        error = mine.future.exception(timeout=0)
        assert type(error) is type(theirs.future.exception(timeout=0))
        if error is None:
            mine_best, best = (each.future.result().hypotheses[0] for each in (mine, theirs))
            assert mine_best.ids == best.ids
            assert mine_best.score == pytest.approx(best.score, abs=1e-3)


@pytest.mark.parametrize("precision", HALF)
def test_half_precision_is_close_with_the_same_lists(artifact: Artifact, ours: Backend, precision: str) -> None:
    half = load_backend(artifact, "torchscript", precision, "on", ours.device.name)
    encoded = [backend.encode(*padded([list(source) for source in SOURCES])) for backend in (half, ours)]
    for mine, exact in zip(*encoded, strict=True):
        np.testing.assert_array_equal(mine.on_host(LISTED_WORDS), exact.on_host(LISTED_WORDS))
    options = SearchOptions(1, max_length=4)
    for mine, exact in zip(*(translate(backend, SOURCES, options) for backend in (half, ours)), strict=True):
        assert abs(mine.hypotheses[0].score - exact.hypotheses[0].score) < HALF[precision]


def test_a_step_its_lists_and_its_second_run_are_on_their_device_as_a_whole(artifact: Artifact) -> None:
    """Tensors on `meta` have shapes and no values, and do not mix with others."""
    files, place = artifact.manifest.graph("torchscript", "fp32"), Place(torch.device("meta"), torch.float16)
    loader = Loader(artifact, place, files.encode, files.step)
    listed = ListedStep.of(loader.load(files.step_shortlist), files.step_shortlist)
    backend = TorchScriptBackend.__new__(TorchScriptBackend)
    backend._set(artifact.manifest, ON_CPU, loader.encode, listed)
    state = backend.new_state(4, 2, 9)
    assert isinstance(state.memory, TorchMemory)
    for slot, sentence in enumerate(backend.encode(np.full((3, 7), 5), np.ones((3, 7), np.int32))):
        state.admit(slot, sentence, 2, 2)
    assert listed.widen is not None
    with torch.inference_mode():
        state.memory.settle()
        step = DeviceStep(listed.step.graph, listed.step.signature, state, state.memory)
        step.compute()
        second = widening.Widening(listed.widen, step, state.outputs(0), lambda run: run)
        widening.WidePart(listed.widen, step, second._layouts, 2, lambda run: run).compute()


@pytest.mark.parametrize("beam", [1, 4])
def test_recorded_steps_and_second_runs_find_the_same(
    artifact: Artifact, onnx: Backend, beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the operations of one run on the same tensors, as a CUDA graph: nothing may depend on a value, and second runs
    have room for more slots than are unsure."""
    monkeypatch.setattr(backend_module, "repeated", lambda function, device, recorder: RecordedRuns(function))
    monkeypatch.setattr(widening, "num_slots_for", lambda count, most, device: min(1 << (count - 1).bit_length(), most))
    before = RecordedRuns.made, RecordedRuns.replays
    backend, options = load_backend(artifact, "torchscript", "fp32", "on"), SearchOptions(beam, max_length=24)
    for mine, theirs in zip(*(translate(each, SOURCES, options) for each in (backend, onnx)), strict=True):
        assert mine.hypotheses[0].ids == theirs.hypotheses[0].ids
        assert mine.hypotheses[0].score == pytest.approx(theirs.hypotheses[0].score, abs=1e-3)
    assert RecordedRuns.made - before[0] >= 2, "a step and a second run"
    assert RecordedRuns.replays > before[1] + 10


def test_a_step_that_depends_on_a_value_is_not_recorded() -> None:
    with pytest.raises(RuntimeError, match="waits for the device"):
        Recording(lambda: print(torch.ones(2).nonzero()))


def test_few_second_runs_are_recorded() -> None:
    assert {widening.num_slots_for(count, 12, "cuda") for count in range(1, 13)} == {1, 2, 4, 8, 12}
    assert [widening.num_slots_for(count, 12, "cpu") for count in (1, 3, 12)] == [1, 3, 12]


def test_one_copy_comes_back_where_all_slots_are_sure(
    model: TranslationModel, ours: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Second runs only for slots that are unsure, and for no others."""
    ran = list[list[int]]()
    run_all = widening.Widening.run

    def seen(self: widening.Widening, slots: np.ndarray, results: dict[str, np.ndarray]) -> None:
        ran.append(slots.tolist())
        run_all(self, slots, results)

    monkeypatch.setattr(widening.Widening, "run", seen)
    sources = [list(source) for source in SOURCES]
    state = ours.new_state(len(sources) + 1, 2, max(map(len, sources)))
    encoded = ours.encode(*padded(sources))
    for slot, sentence in enumerate(encoded):
        state.admit(slot, sentence, 2, 2)
    step, plan, unsure = ours.bind(state), ListedStepGraph(model, plan_of()), list[int]()
    for slot, (source, sentence) in enumerate(zip(sources, encoded, strict=True)):
        memory = model.encode(torch.tensor([source]), torch.ones(1, len(source), dtype=torch.bool))
        hidden = model.decode(torch.tensor([[2]]), memory, torch.ones(1, len(source), dtype=torch.bool))
        words = torch.from_numpy(np.array(sentence.on_host(LISTED_WORDS)))
        chance = plan.score_words(hidden)[0, 0, words].softmax(0)
        unsure += [slot] if chance.max() < (OF_RARE if is_rare(source) else CONFIDENT) else []
    step()
    assert ran == ([unsure] if unsure else [])
    assert 0 < len(unsure) < len(sources)
    state.reset()
    ran.clear()
    step()
    assert not ran, "idle slots are never unsure"


def test_scores_are_over_all_words(artifact: Artifact, ours: Backend) -> None:
    results = []
    for backend in (ours, load_backend(artifact, "torchscript", "fp32", "off", ours.device.name)):
        backend.prepare_scores()
        engine = new_engine(backend)
        request = score_request((5, 6, 3), [(5, 6, 7, 3), (8, 3)])
        engine.queue.put([request])
        run(engine)
        results.append([hypothesis.log_probabilities for hypothesis in request.future.result(timeout=0).hypotheses])
    assert results[0] == results[1]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_sentences_in_context_keep_their_lists(side: str, tmp_path: Path) -> None:
    document = write_graphs(lively_document_model(side=side), tmp_path, *BOTH, plan=plan_of((0, 0)))
    found = []
    for kind in BOTH:
        backend = load_backend(document, *kind, "on")
        assert backend.context is not None
        states = [backend.context.compute_states((8, 9, 10, 3), (20, 21, 22))]
        context = full_context(states, [3])
        requests = [SentenceRequest((5, 6, 7, 3), SearchOptions(2, max_length=12), each) for each in (context, None)]
        engine = new_engine(backend)
        engine.queue.put(requests)
        run(engine)
        found.append([request.future.result(timeout=0).hypotheses[0] for request in requests])
    for mine, theirs in zip(*found, strict=True):
        assert mine.ids == theirs.ids
        assert mine.score == pytest.approx(theirs.score, abs=1e-2)


def test_auto_takes_the_list_and_other_files_are_refused(artifact: Artifact) -> None:
    assert load_backend(artifact, "torchscript", "fp32").shortlist
    assert not load_backend(artifact, "torchscript", "fp32", "off").shortlist
    manifest = artifact.manifest
    onnx, traced = manifest.graphs
    wrong = dataclasses.replace(traced, step_shortlist=traced.step)
    damaged = Artifact(artifact.folder, dataclasses.replace(manifest, graphs=(onnx, wrong)))
    with pytest.raises(ArtifactError, match=r"step\.fp32\.pt is no step over a shortlist"):
        load_backend(damaged, "torchscript", "fp32", "on")
