"""The graphs of every variant: eager and exported against the model, and as a whole search."""

from pathlib import Path

import numpy as np
import pytest
import torch

from export.artifact_writer import ExportOptions, export_artifact
from export.graphs import EncodeGraph, StepGraph
from export.manifest import graph_files, make_manifest
from export.parity import padded, sample_sources, step_difference, swap_beams
from export.signature import encode_signature, step_signature, traced_signature
from export.torchscript import FlatArguments, FlatStep
from model.config import BOS_ID
from model.masks import HIDDEN
from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import Manifest
from server.backends.base import Backend
from server.backends.load import load_backend
from server.backends.state import Floats, Ints
from server.backends.torchscript.backend import TorchScriptBackend
from server.backends.torchscript.device import ON_CPU
from server.backends.torchscript.graph import NamedGraph
from server.backends.torchscript.place import Place
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, translate_now
from tests.graphs import write_graphs
from tests.models import SENTENCES, write_checkpoint
from tests.variants import RECURRENT, VARIANTS, few_layers, lively_variant, variant_config

Rows = tuple[Floats, Ints]
FLOAT_GRAPHS = tuple(graph_files(backend, "fp32") for backend in ("torchscript", "onnx"))


class EagerBackend(TorchScriptBackend):
    """The graph modules without tracing."""

    def __init__(self, model: TranslationModel, manifest: Manifest) -> None:
        signature, place = traced_signature(step_signature(model)), Place(torch.device("cpu"), torch.float32)
        self._set(
            manifest,
            ON_CPU,
            NamedGraph(FlatArguments(EncodeGraph(model), (None, None)), encode_signature(model), place),
            NamedGraph(FlatStep(StepGraph(model), signature), signature, place),
        )


def manifest_of(model: TranslationModel) -> Manifest:
    return make_manifest(model, "x", ("en", "de"), FLOAT_GRAPHS, "", "", 1.0, {})


@pytest.mark.parametrize("name", VARIANTS | RECURRENT)
def test_steps_over_a_shared_ring_equal_teacher_forcing_along_the_ancestry(name: str) -> None:
    """Three beams a slot that change their parents at every step: the tokens of each row's own past, teacher-forced."""
    model = lively_variant(name, **few_layers(name))
    backend = EagerBackend(model, manifest_of(model))
    sources, beam = sample_sources(320, 40)[:3], 3
    ids, keep = padded(sources)
    state = backend.new_state(len(sources), beam, ids.shape[1])
    for slot, sentence in enumerate(backend.encode(ids, keep)):
        state.admit(slot, sentence, BOS_ID, beam)
    step = backend.bind(state)
    pasts: list[list[list[int]]] = [[[] for _ in range(beam)] for _ in sources]
    memory = model.encode(torch.from_numpy(ids), torch.from_numpy(keep > 0))
    for _ in range(11):
        rows = state.current
        scores = rows.score.copy()
        pasts = [
            [[*pasts[slot][rows.parent[slot, row]], int(rows.token[slot, row])] for row in range(beam)]
            for slot in range(len(sources))
        ]
        step()
        targets = torch.tensor(pasts).flatten(0, 1)
        hidden = model.decode(
            targets, memory.repeat_interleave(beam, dim=0), torch.from_numpy(keep > 0).repeat_interleave(beam, dim=0)
        )
        logits = model.embedding.logits(hidden[:, -1]).detach()
        logits[:, [0, 1, 2]] = HIDDEN
        expected = torch.log_softmax(logits, dim=-1).view(len(sources), beam, -1).numpy() + scores[:, :, None]
        slots = np.arange(len(sources))[:, None]
        given = state.candidates
        live = np.take_along_axis(scores, given.parent, axis=1) > -1e20
        np.testing.assert_allclose(given.score[live], expected[slots, given.parent, given.token][live], atol=1e-4)
        swap_beams(state)
        state.tick()


@pytest.mark.parametrize("name", VARIANTS | RECURRENT)
def test_a_search_equals_the_reference_search(name: str) -> None:
    model = lively_variant(name, **few_layers(name))
    sources = [Source(tuple(ids)) for ids in sample_sources(320, 40)]
    results = translate_now(EagerBackend(model, manifest_of(model)), sources, SearchOptions(beam_size=3, max_length=14))
    for source, result in zip(sources, results, strict=True):
        (expected,) = reference_search(model, list(source.ids), beam_size=3, max_length=14)
        assert tuple(result.hypotheses[0].ids) == expected.ids
        assert result.hypotheses[0].normalized_score == pytest.approx(expected.normalized_score, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        *((name, 4) for name in (*VARIANTS, "ssru-below")),
        ("ssru", None),
        ("gauss-query-relative", None),
        ("mw", None),
        ("aw", None),
    ],
)
def test_exported_graphs_equal_the_model(name: str, order: int | None, tmp_path: Path) -> None:
    """TorchScript and ONNX: other numbers of slots and pieces than were traced, a padded batch, wrapped rings."""
    model = lively_variant(name, loudness=1, ngram=order, **few_layers(name))
    artifact = write_graphs(model, tmp_path, ("torchscript", "fp32"), ("onnx", "fp32"))
    for graph in artifact.manifest.graphs:
        exported = load_backend(artifact, graph.format, graph.precision)
        assert step_difference(model, exported, 9) < 1e-4, graph.format


def candidates(backend: Backend, sources: list[list[int]], steps: int = 9) -> list[Rows]:
    """What every step of a search with beam 2 finds, [slot, ...]."""
    ids, keep = padded(sources)
    state = backend.new_state(len(sources), 2, ids.shape[1])
    for slot, sentence in enumerate(backend.encode(ids, keep)):
        state.admit(slot, sentence, BOS_ID, 2)
    step, result = backend.bind(state), []
    for _ in range(steps):
        step()
        result.append((state.candidates.score.copy(), state.candidates.token.copy()))
        state.tick()
    return result


@pytest.mark.parametrize("name", VARIANTS | RECURRENT)
def test_int8_is_close_to_the_model_and_a_sentence_alone_is_the_sentence_in_company(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = TranslationModel(variant_config(name, max_length=40, **few_layers(name))).eval()
    sources = sample_sources(320, 40)
    backend = load_backend(write_graphs(model, tmp_path, ("onnx", "int8")), "onnx", "int8")
    assert step_difference(model, backend, 9) < 0.5  # nats, summed over nine tokens
    together = candidates(backend, sources)
    for slot in (0, 2, 4):
        for alone, all_of_them in zip(candidates(backend, [sources[slot]]), together, strict=True):
            np.testing.assert_array_equal(alone[0][0], all_of_them[0][slot])
            np.testing.assert_array_equal(alone[1][0], all_of_them[1][slot])


def test_an_artifact_of_a_variant_can_be_written_and_read(tmp_path: Path) -> None:
    """At int8 with a shortlist, parity and goldens included."""
    model = lively_variant("segments", loudness=1, **few_layers("segments"))
    checkpoint = write_checkpoint(model, tmp_path / "checkpoint")
    options = ExportOptions(
        "segments",
        ("en", "de"),
        (("torchscript", "fp32"), ("onnx", "fp32"), ("onnx", "int8")),
        shortlist=(64, 64),
        calibration=SENTENCES[:4],
        examples=SENTENCES[:2],
    )
    differences = export_artifact(checkpoint, tmp_path / "artifact", options)
    assert max(differences["torchscript fp32"], differences["onnx fp32"]) < 1e-4
    assert "onnx int8 shortlist" in differences
    assert Artifact.load(tmp_path / "artifact").manifest.variant == "Enc(AW,Seg,full)-Cr(AW,Seg,full)-Dec(AW,full) N=4"


def test_the_manifest_lists_the_cached_tensors_of_windows() -> None:
    manifest = manifest_of(lively_variant("aw"))
    assert manifest.variant == "Enc(AW,full)-Cr(AW,full)-Dec(AW,full) N=4"
    names = ("key", "value", "local_key", "left_key", "right_key")
    assert manifest.ring_tensors[:5] == tuple(f"ring.0.{name}" for name in names)
    assert manifest.source_tensors[5:] == tuple(f"source.1.{name}" for name in names)
