"""A context layer that looks only so many sentences far."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

from export.context_parity import half_precision
from export.parity import ParityError
from model import document_search
from model.config import CONTEXT_ATTENTIONS, ConfigError, ContextConfig
from model.document_search import search_document, stack_store
from server.backends.arrays import Array
from server.backends.base import Backend
from server.backends.context import SentenceContext, StoredDocument
from server.backends.load import load_backend
from server.backends.onnx.session import OnnxGraph
from server.documents.visibility import distances
from tests.documents import differences_in_context, lively_document_model
from tests.graphs import write_graphs
from tests.server.engine.test_context import translate_in_context
from tests.server.engine.test_engine import some_sources

REACH = 2


def seen_by_all(backend: Backend, sources: list[tuple[int, ...]], online: bool) -> list[SentenceContext | None]:
    assert backend.context is not None
    assert backend.context.reach == REACH
    states = [backend.context.compute_states(ids) for ids in sources]
    document, index = StoredDocument.of(states, [len(ids) - 1 for ids in sources]), np.arange(len(sources))
    seen = [distances("online" if online else "offline", own, index, REACH) for own in range(len(sources))]
    return [SentenceContext(document, item) if item.any() else None for item in seen]


@pytest.mark.parametrize(
    ("attention", "decay"),
    [("flat-word", None), *((kind, "learned") for kind in CONTEXT_ATTENTIONS), ("flat-word", 0.7)],
)
def test_documents_are_translated_as_the_reference_protocol_does(
    attention: str, decay: float | str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what lies out of reach is not even read: it costs as much in a document of 6 as in one of 12."""
    monkeypatch.setattr(document_search, "stack_store", lambda sentences: half_precision(stack_store(sentences)))
    model = lively_document_model(attention, decay=decay)
    model.config = dataclasses.replace(model.config, reach=REACH)
    artifact = write_graphs(model, tmp_path, ("onnx", "fp32"))
    assert artifact.manifest.context is not None
    assert artifact.manifest.context.reach == REACH
    backend = load_backend(artifact, "onnx", "fp32", "off")
    sources = [ids[-9:] for ids in some_sources(6, seed=2)]
    for online in (False, True):
        actual = translate_in_context(backend, sources, seen_by_all(backend, sources, online))
        expected = search_document(
            model, [ids[:-1] for ids in sources], online, beam_size=3, num_hypotheses=2, max_length=20
        )
        for own, (result, hypotheses) in enumerate(zip(actual, expected, strict=True)):
            assert [h.ids for h in result.hypotheses] == [h.ids for h in hypotheses]
            assert result.hypotheses[0].score == pytest.approx(hypotheses[0].score, abs=1e-3)
            if result.context is not None:
                looked = np.flatnonzero(result.context.weights.mean(axis=0))
                assert (np.abs(looked - own) <= REACH).all()
                assert result.context.weights.mean(axis=0).sum() == pytest.approx(1, abs=1e-4)
    read: list[int] = []
    run = OnnxGraph.run

    def counted(graph: OnnxGraph, outputs: list[str], feeds: Mapping[str, Array]) -> list[Array]:
        if graph.name.startswith(("context-attend", "context-near")):
            read.append(sum(array.nbytes for name, array in feeds.items() if "_" in name))
        return run(graph, outputs, feeds)

    monkeypatch.setattr(OnnxGraph, "run", counted)
    same = [sources[0]] * 12
    most = []
    for count in (6, 12):
        read.clear()
        translate_in_context(backend, same[:count], seen_by_all(backend, same[:count], online=False))
        assert len(read) == count
        most.append(max(read))
    assert most[0] == most[1]


def test_on_the_decoders_side_context_that_is_further_away_counts_less_too(tmp_path: Path) -> None:
    """What is exported is compared with the model, on a document of several sentences."""
    model = lively_document_model("sparse-soft", "decoder", decay="learned")
    artifact = write_graphs(model, tmp_path, ("onnx", "fp32"))
    assert differences_in_context(model, artifact)
    with torch.no_grad():
        model.context.decay.raw_rates.add_(2)  # type: ignore[union-attr]
    with pytest.raises(ParityError):
        differences_in_context(model, artifact)


@pytest.mark.parametrize("reach", [0, -1, 1.5, "far"])
def test_a_reach_is_a_number_of_sentences(reach: object) -> None:
    with pytest.raises(ConfigError, match="context reach must be a whole number from 1 on, or null"):
        ContextConfig.from_dict({"reach": reach})
