"""Align graphs against the model, for every attention that cross-attention may be."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from export.align_graph import build_align_graph
from export.alignment import INT8_ALIGNMENT_TOLERANCE, alignment_difference, check_alignments, head_of
from export.calibration import Ranges, recorded_ranges
from export.manifest import graph_files, make_manifest
from export.onnx_graph.quantize import Traces
from export.onnx_writer import build_encode_graph, write_sharing
from export.parity import TOLERANCE, ParityError, graph_pairs, padded, sample_sources
from export.signature import align_signature, encode_signature, read_signature
from model.alignment import AlignmentHead
from model.data.batching import Pair, collate
from model.training.checkpoint import load_model
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import AlignmentKind
from server.backends.alignment import Aligner
from server.backends.load import load_backend
from server.backends.onnx.alignment import OnnxAligner
from server.backends.onnx.session import open_graph
from tests.graphs import ranges_of_random_words, write_graphs
from tests.models import lively_model, tiny_config
from tests.variants import RECURRENT, VARIANTS, lively_variant


def aligner_of(
    model: TranslationModel,
    at: AlignmentHead,
    folder: Path,
    ranges: Ranges | None = None,
    traces: Traces | None = None,
) -> Aligner:
    """The two graphs that an alignment needs, without the others."""
    files = graph_files("onnx", "fp32" if ranges is None else "int8")
    manifest = make_manifest(model, "x", ("en", "de"), (files,), "", "", 1.0, {})
    graphs = {
        files.encode: build_encode_graph(model, manifest, ranges, traces=traces),
        files.align: build_align_graph(model, manifest, ranges, at, traces),
    }
    write_sharing(graphs, folder, f"weights.{files.precision}.bin")
    planned = encode_signature(model)
    signatures = {
        files.encode: read_signature(folder / files.encode, planned),
        files.align: read_signature(folder / files.align, align_signature(planned)),
    }
    artifact = Artifact(folder, dataclasses.replace(manifest, signatures=signatures))
    aligner = OnnxAligner(artifact, files.align, open_graph(artifact, files.encode), "cpu")
    aligner.prepare()
    return aligner


HEADS = [AlignmentHead(2), AlignmentHead(1, 2, reads=True)]


@pytest.mark.parametrize("name", ["plain", *VARIANTS, *RECURRENT])
def test_the_graph_is_the_model(name: str, tmp_path: Path) -> None:
    layers = {"encoder_layers": 1}
    model = lively_model(tiny_config(**layers)) if name == "plain" else lively_variant(name, loudness=1, **layers)
    at, traces = HEADS[len(name) % 2], Traces(keep=True)
    difference, _ = alignment_difference(model, aligner_of(model, at, tmp_path, traces=traces), at)
    assert difference < TOLERANCE
    int8 = aligner_of(model, at, tmp_path, ranges_of_random_words(model), traces)
    _, moved = alignment_difference(model, int8, at)
    assert 0 < moved < INT8_ALIGNMENT_TOLERANCE


@pytest.mark.parametrize("changes", [{"norm": "after"}, {"source_embedding": "separate", "source_vocab_size": 90}])
def test_the_graph_is_the_model_by_other_conventions(changes: dict[str, object], tmp_path: Path) -> None:
    config = tiny_config(**changes, activation="swish", positions="interleaved", bos_id=0, ngram=None)
    model = TranslationModel(config).eval()
    at = AlignmentHead(2, 1, reads=True)
    difference, _ = alignment_difference(model, aligner_of(model, at, tmp_path), at)
    assert difference < TOLERANCE


@pytest.mark.parametrize("at", HEADS)
def test_int8_attention_is_near_fp32(at: AlignmentHead, tmp_path: Path) -> None:
    model = lively_model(tiny_config())
    batch = collate([Pair(source[:-1], source[-2::-1]) for source in sample_sources(320, 64)])
    with recorded_ranges(model) as ranges, torch.no_grad():
        model(batch.source, batch.source_keep, batch.target_in)
    _, moved = alignment_difference(model, aligner_of(model, at, tmp_path, ranges), at)
    assert 0 < moved < 0.1


@pytest.mark.parametrize("name", ["plain", "aw", "gauss-query-relative", "ssru-below"])
def test_the_graph_of_pytorch_is_the_model(name: str, tmp_path: Path) -> None:
    layers = {"encoder_layers": 1}
    model = lively_model(tiny_config(**layers)) if name == "plain" else lively_variant(name, loudness=1, **layers)
    artifact = write_graphs(model, tmp_path, ("torchscript", "fp32"), align=True)
    allowed = {"fp32": TOLERANCE, "fp16": 0.005, "bf16": 0.05}
    for precision, most in allowed.items():
        aligner = load_backend(artifact, "torchscript", precision).aligner
        assert aligner is not None
        aligner.prepare()
        difference, _ = alignment_difference(model, aligner, head_of(model, artifact.manifest))
        assert difference < most, precision


@pytest.mark.parametrize(("backend", "precision"), [("onnx", "fp32"), ("onnx", "int8"), ("torchscript", "fp32")])
def test_a_sentence_is_aligned_alone_as_in_company(tiny_artifact: Path, backend: str, precision: str) -> None:
    aligner = load_backend(Artifact.load(tiny_artifact), backend, precision, "off").aligner
    assert aligner is not None
    aligner.prepare()
    sources, targets = sample_sources(320, 60, 1), [[2, *ids[:-1]] for ids in reversed(sample_sources(320, 60, 2))]
    together = aligner.align(*padded(sources), padded(targets)[0])
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = aligner.align(*padded([source]), padded([target])[0])[0]
        np.testing.assert_allclose(alone, together[row, : len(target) - 1, : len(source)], atol=1e-6)
        assert not together[row, :, len(source) :].any()


def test_an_artifact_has_small_align_graphs_and_names_their_head(tiny_artifact: Path) -> None:
    artifact = Artifact.load(tiny_artifact)
    assert artifact.manifest.alignment == AlignmentKind(2, None, False, 0.0, 0)  # too few links among random words
    for graph in artifact.manifest.graphs:
        assert artifact.path(graph.align).stat().st_size < artifact.path(graph.step).stat().st_size


def test_an_align_graph_of_another_head_is_refused(tiny_artifact: Path) -> None:
    artifact = Artifact.load(tiny_artifact)
    model = load_model(tiny_artifact.with_name(f"{tiny_artifact.name}-checkpoint"))
    for way in graph_pairs(artifact):
        check_alignments(model.eval(), way)
    elsewhere = dataclasses.replace(artifact.manifest, alignment=AlignmentKind(1, 1, True, 0.9, 100))
    assert head_of(model, elsewhere) == AlignmentHead(1, 1, reads=True)
    for way in graph_pairs(Artifact(artifact.folder, elsewhere)):
        if way.kind in ("onnx fp32", "torchscript fp32"):
            with pytest.raises(ParityError, match=f"{way.kind}: alignments differ from the model's"):
                check_alignments(model, way)
