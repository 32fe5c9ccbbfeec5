"""The general graphs of every variant: eager and traced against the model, and as a whole search."""

from pathlib import Path

import numpy as np
import pytest
import torch

from export.artifact_writer import ExportOptions, export_artifact, write_graph
from export.graphs import EncodeGraph, StepGraph
from export.manifest import graph_files, make_manifest
from export.onnx_path import GENERAL
from export.parity import padded, sample_sources, step_difference, swap_beams
from model.config import BOS_ID
from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.artifact import Artifact, Manifest
from server.backends.load import load_backend
from server.backends.state import DecoderState
from server.backends.torchscript import TorchScriptBackend
from server.engine.golden import Source, search
from server.engine.request import SearchOptions
from tests.models import SENTENCES, write_checkpoint
from tests.variants import VARIANTS, lively_variant

GENERAL_GRAPHS = tuple(graph_files(backend, "fp32", GENERAL) for backend in ("torchscript", "onnx"))


class EagerBackend(TorchScriptBackend):
    """The graph modules without tracing."""

    def __init__(self, model: TranslationModel, manifest: Manifest) -> None:
        self.manifest = manifest
        self.shortlist = {}
        self._encode = EncodeGraph(model)  # type: ignore[assignment]
        self._step = StepGraph(model)  # type: ignore[assignment]


def manifest_of(model: TranslationModel) -> Manifest:
    return make_manifest(model, "x", ("en", "de"), GENERAL_GRAPHS, "", "", 1.0, {})


@pytest.mark.parametrize("name", VARIANTS)
def test_steps_over_a_shared_ring_equal_teacher_forcing_along_the_ancestry(name: str) -> None:
    """Three beams a slot that change their parents at every step: the tokens of each row's own past, teacher-forced."""
    model = lively_variant(name)
    backend = EagerBackend(model, manifest_of(model))
    sources, beam = sample_sources(320, 40)[:3], 3
    ids, keep = padded(sources)
    state = DecoderState(backend.manifest, len(sources), beam, ids.shape[1])
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
            targets,
            memory.repeat_interleave(beam, dim=0),
            torch.from_numpy(keep > 0).repeat_interleave(beam, dim=0),
        )
        logits = model.embedding.logits(hidden[:, -1]).detach()
        logits[:, [0, 1, 2]] = -1e9
        expected = torch.log_softmax(logits, dim=-1).view(len(sources), beam, -1).numpy() + scores[:, :, None]
        slots = np.arange(len(sources))[:, None]
        given = state.candidates
        live = np.take_along_axis(scores, given.parent, axis=1) > -1e20
        np.testing.assert_allclose(given.score[live], expected[slots, given.parent, given.token][live], atol=1e-4)
        swap_beams(state)
        state.tick()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_search_finds_what_the_reference_finds(name: str) -> None:
    model = lively_variant(name)
    sources = [Source(tuple(ids)) for ids in sample_sources(320, 40)]
    results = search(EagerBackend(model, manifest_of(model)), sources, SearchOptions(beam_size=3, max_length=14))
    for source, result in zip(sources, results, strict=True):
        (expected,) = reference_search(model, list(source.ids), beam_size=3, max_length=14)
        assert tuple(result.hypotheses[0].ids) == expected.ids
        assert result.hypotheses[0].normalized_score == pytest.approx(expected.normalized_score, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "order"), [*((name, 4) for name in VARIANTS), ("gauss-query-relative", None), ("mw", None), ("aw", None)]
)
def test_exported_graphs_equal_the_model(name: str, order: int | None, tmp_path: Path) -> None:
    """TorchScript and ONNX: other numbers of slots and pieces than were traced, a padded batch, wrapped rings."""
    model = lively_variant(name, loudness=1, ngram=order)
    manifest = manifest_of(model)
    for graph in manifest.graphs:
        write_graph(model, manifest, graph, {}, tmp_path)
        exported = load_backend(Artifact(tmp_path, manifest), graph.backend, graph.precision)
        assert step_difference(model, exported, 9) < 1e-4, graph.backend


def test_an_artifact_of_a_variant_can_be_written_and_read(tmp_path: Path) -> None:
    """Parity and goldens included."""
    checkpoint = write_checkpoint(lively_variant("segments", loudness=1), tmp_path / "checkpoint")
    options = ExportOptions(
        "segments", ("en", "de"), (("torchscript", "fp32"), ("onnx", "fp32")), examples=SENTENCES[:2]
    )
    differences = export_artifact(checkpoint, tmp_path / "artifact", options)
    assert max(differences["torchscript fp32"], differences["onnx fp32"]) < 1e-4
    assert Artifact.load(tmp_path / "artifact").manifest.variant == "Enc(AW,Seg,full)-Cr(AW,Seg,full)-Dec(AW,full) N=4"


def test_the_manifest_lists_what_the_window_caches() -> None:
    manifest = manifest_of(lively_variant("aw"))
    assert manifest.variant == "Enc(AW,full)-Cr(AW,full)-Dec(AW,full) N=4"
    names = ("key", "value", "local_key", "left_key", "right_key")
    assert manifest.ring_tensors[:5] == tuple(f"ring.0.{name}" for name in names)
    assert manifest.source_tensors[5:] == tuple(f"source.1.{name}" for name in names)
