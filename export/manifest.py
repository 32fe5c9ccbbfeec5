"""The fields of the manifest that follow from a model's configuration."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from export.signature import planned_signatures
from model.config import ModelConfig
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact, file_hash
from server.artifact.manifest import MANIFEST, ContextGraphs, ContextKind, GraphFiles, Manifest, SpecialIds
from server.engine.self_test import GOLDEN

GRAPHS = {
    ("onnx", precision): GraphFiles(
        "onnx",
        precision,
        f"encode.{precision}.onnx",
        f"step.{precision}.onnx",
        score=f"score.{precision}.onnx",
        align=f"align.{precision}.onnx",
    )
    for precision in ("int8", "fp32")
} | {
    ("torchscript", "fp32"): GraphFiles(
        "torchscript", "fp32", "encode.fp32.pt", "step.fp32.pt", score="score.fp32.pt", align="align.fp32.pt"
    )
}
"""Every kind of graph that can be written."""
ENDINGS = {"onnx": "onnx", "torchscript": "pt"}


def graph_files(format: str, precision: str, with_shortlist: bool = False) -> GraphFiles:
    """The entry of one kind of graphs, with a second step graph where there is a shortlist."""
    files = GRAPHS[format, precision]
    if not with_shortlist:
        return files
    return dataclasses.replace(files, step_shortlist=f"step-shortlist.{precision}.{ENDINGS[format]}")


CONTEXT_GRAPHS = {
    "encoder": ("store", "attend", "project", "pruned", "near"),
    "decoder": ("store", "attend", "step", "score"),
}
"""The graphs that context on each side needs."""
HAVE_ZEROS = ("sparse-soft", "sparse-sparse")
"""Kinds of context attention that give some sentences a weight of zero."""


FASTER = ("pruned", "near")
"""Those that compute the same in other ways, for many or few sentences: ONNX Runtime's alone."""


def with_context(graph: GraphFiles, document: DocumentModel) -> GraphFiles:
    """The entry with the graphs of the model's context."""
    left_out: tuple[str, ...] = () if document.config.attention in HAVE_ZEROS else ("pruned",)
    if graph.format == "torchscript":
        left_out = FASTER
    kinds = (kind for kind in CONTEXT_GRAPHS[document.config.side] if kind not in left_out)
    files = {kind: f"context-{kind}.{graph.precision}.{ENDINGS[graph.format]}" for kind in kinds}
    return dataclasses.replace(graph, context=ContextGraphs(**files))


def context_kind(document: DocumentModel) -> ContextKind:
    """The manifest's entry about a model's context."""
    config = document.config
    return ContextKind(config.attention, config.side, config.num_heads, document.base.config.d_model, config.reach)


def variant_name(config: ModelConfig) -> str:
    if not config.is_plain:
        return config.variant
    return "full" if config.ngram is None else f"ngram-{config.ngram}"


def make_manifest(
    model: TranslationModel,
    name: str,
    languages: tuple[str, str],
    graphs: tuple[GraphFiles, ...],
    vocabulary_file: str,
    licence: str,
    length_penalty: float,
    origin: dict[str, Any],
) -> Manifest:
    """The manifest of a model before its graphs are written: file hashes are empty, signatures planned."""
    config = model.config
    return Manifest(
        name=name,
        variant=variant_name(config),
        source_language=languages[0],
        target_language=languages[1],
        vocabulary_file=vocabulary_file,
        vocabulary_size=config.vocab_size,
        order=config.ngram,
        ring_capacity=config.ring_capacity,
        num_heads=config.num_heads,
        head_dim=config.head_dim,
        max_source_length=config.max_length,
        max_target_length=config.max_length,
        length_penalty=length_penalty,
        graphs=graphs,
        signatures=planned_signatures(model, graphs),
        licence=licence,
        files={},
        origin=origin,
        special_ids=SpecialIds(**config.ids._asdict()),
        source_vocabulary_size=config.source_vocab_size,
        source_eos=config.source_eos,
    )


LINE = 116
"""Characters of a manifest's line."""


def manifest_text(manifest: Manifest) -> str:
    """The manifest as JSON, one tensor per line."""
    return in_lines(dataclasses.asdict(manifest)) + "\n"


def complete(folder: Path, manifest: Manifest, goldens: Sequence[Mapping[str, Any]]) -> None:
    """Write the goldens and the manifest of an artifact whose other files are in `folder`, with the hashes of all.
    Raises ArtifactError if it cannot be loaded then."""
    (folder / GOLDEN).write_text(json.dumps(goldens, indent=1) + "\n", encoding="utf-8")
    hashes = {path.name: file_hash(path) for path in sorted(folder.iterdir())}
    whole = manifest_text(dataclasses.replace(manifest, files=hashes))
    (folder / MANIFEST).write_text(whole, encoding="utf-8")
    Artifact.load(folder)


def in_lines(value: Any, indent: str = "") -> str:
    """JSON in which every value that fits into a line is on one line."""
    flat, inner = json.dumps(value), indent + "  "
    if not isinstance(value, dict | list | tuple) or (indent and len(indent) + len(flat) <= LINE):
        return flat
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(name)}: {in_lines(part, inner)}" for name, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + in_lines(part, inner) for part in value) + f"\n{indent}]"
