"""Artifacts of document models: context beside graphs that stay as they are."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from export import context_parity
from export.artifact_writer import ExportOptions, export_artifact
from export.context_parity import CONTEXT_TOLERANCE, context_difference
from export.parity import ParityError, padded, sample_sources
from model.config import CONTEXT_ATTENTIONS
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import MANIFEST, parse_manifest
from server.backends.load import load_backend
from server.engine.self_test import GOLDEN, SelfTestResult, read_goldens, run_self_test
from tests.documents import (
    ContextArtifact,
    differences_in_context,
    lively_document_model,
    write_document_artifact,
    write_document_checkpoint,
)
from tests.models import SENTENCES


def test_the_manifest_says_what_the_context_is(document_artifact: Path) -> None:
    manifest = Artifact.load(document_artifact).manifest
    assert manifest.context is not None
    assert (manifest.context.attention, manifest.context.num_heads, manifest.context.width) == ("sparse-soft", 2, 32)
    assert manifest.store_tensors == ("sentence_key", "word_key", "word_value")
    for graph in manifest.graphs:
        assert graph.context is not None
        assert set(graph.context.files) <= set(manifest.files)
        assert all(graph.precision in file for file in graph.context.files)
    assert parse_manifest(json.dumps(dataclasses.asdict(manifest)), "here") == manifest


def test_a_manifest_without_context_still_loads(tiny_artifact: Path) -> None:
    values = json.loads((tiny_artifact / MANIFEST).read_text(encoding="utf-8"))
    del values["context"]  # as it was before there was context
    assert parse_manifest(json.dumps(values), "here").context is None


def test_the_sentence_model_is_the_base_of_the_document_model(
    document_model: DocumentModel, tiny_model: TranslationModel
) -> None:
    """Whose artifacts are compared below."""
    assert tiny_model.config == document_model.base.config
    base = document_model.base.state_dict()
    assert all(torch.equal(tensor, base.pop(name)) for name, tensor in tiny_model.state_dict().items())
    assert not base


def test_step_graphs_are_those_of_the_sentence_model(document_artifact: Path, tiny_artifact: Path) -> None:
    for name in ("step.int8.onnx", "step-shortlist.int8.onnx", "step.fp32.onnx"):
        assert (document_artifact / name).read_bytes() == (tiny_artifact / name).read_bytes()


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_without_context_encoding_is_the_sentence_models_bit_for_bit(
    document_artifact: Path, tiny_artifact: Path, precision: str
) -> None:
    sentences = Artifact.load(tiny_artifact)
    batch = padded(sample_sources(320, 64))
    plain = load_backend(sentences, "onnx", precision).encode(*batch)
    ours = load_backend(Artifact.load(document_artifact), "onnx", precision).encode(*batch)
    for first, other in zip(plain, ours, strict=True):
        assert first.tensors.keys() == other.tensors.keys()
        for tensor, expected in first.tensors.items():
            np.testing.assert_array_equal(other.tensors[tensor], expected)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
def test_every_attention_is_exported_and_equals_the_model(
    attention: str, side: str, context_artifact: ContextArtifact
) -> None:
    model = lively_document_model(attention, side)
    whole = Artifact.load(context_artifact(attention, side))
    graphs = tuple(graph for graph in whole.manifest.graphs if graph.precision == "fp32")
    artifact = Artifact(whole.folder, dataclasses.replace(whole.manifest, graphs=graphs))
    differences = differences_in_context(model, artifact)
    assert set(differences) == {"onnx fp32 context", "onnx fp32 shortlist context"}
    assert max(differences.values()) < CONTEXT_TOLERANCE
    other = lively_document_model(attention, side, seed=3)
    other.base.load_state_dict(model.base.state_dict())
    assert context_difference(other, load_backend(artifact, "onnx", "fp32"), 9) > 10 * CONTEXT_TOLERANCE


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_the_graphs_of_pytorch_are_compared_and_have_examples_in_context(side: str, tmp_path: Path) -> None:
    model = lively_document_model(side=side)
    options = ExportOptions("x", ("en", "de"), (("torchscript", "fp32"),), examples=SENTENCES[:3])
    differences = export_artifact(write_document_checkpoint(model, tmp_path / "checkpoint"), tmp_path / "x", options)
    assert differences["torchscript fp32 context"] < CONTEXT_TOLERANCE
    artifact = Artifact.load(tmp_path / "x")
    backend = load_backend(artifact, "torchscript", "fp32")
    assert run_self_test(artifact, backend, "torchscript", "fp32") == SelfTestResult(5, 5)


def test_another_document_model_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context_parity, "context_difference", lambda *arguments: 0.5)
    with pytest.raises(ParityError, match="onnx fp32 context: log-probabilities differ"):
        write_document_artifact(lively_document_model(), tmp_path, graphs=(("onnx", "fp32"),))
    assert not (tmp_path / "documents").exists()


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_goldens_hold_documents(document_artifacts: dict[str, Path], side: str) -> None:
    artifact = Artifact.load(document_artifacts[side])
    goldens = [g for g in read_goldens(artifact.path(GOLDEN)) if (g.precision, g.shortlist) == ("fp32", False)]
    alone, in_context = ([g for g in goldens if bool(g.source.preceding) == flag] for flag in (False, True))
    assert (len(alone), len(in_context)) == (4, 3)
    assert len(in_context[-1].source.preceding) == 3
    assert len(in_context[-1].source.translations) == (3 if side == "decoder" else 0)
    assert any(a.target_ids != b.target_ids for a, b in zip(alone[1:], in_context, strict=True))
    backend = load_backend(artifact, "onnx", "fp32", "off")
    assert run_self_test(artifact, backend, "onnx", "fp32") == SelfTestResult(7, 7)
