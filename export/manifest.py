"""What a model looks like from outside: the manifest's fields that follow from its configuration."""

import dataclasses
from typing import Any

from export.onnx_path import FAST, GENERAL
from model.config import ModelConfig
from model.document import DocumentModel
from model.translation_model import TranslationModel
from server.artifact import ContextFiles, GraphFiles, Manifest

GRAPHS = {
    ("onnx", "int8"): GraphFiles("onnx", "int8", "encode.int8.onnx", "step.int8.onnx"),
    ("onnx", "fp32"): GraphFiles("onnx", "fp32", "encode.fp32.onnx", "step.fp32.onnx"),
    ("torchscript", "fp32"): GraphFiles("torchscript", "fp32", "encode.fp32.pt", "step.fp32.pt"),
}
"""Every kind of graph that can be written."""


def graph_files(backend: str, precision: str, onnx_path: str, with_shortlist: bool = False) -> GraphFiles:
    """The entry of one kind of graphs, saying how they were built; fast ones have a second step graph where there is a
    shortlist."""
    files = dataclasses.replace(GRAPHS[backend, precision], built=onnx_path if backend == "onnx" else GENERAL)
    if not with_shortlist or files.built != FAST:
        return files
    return dataclasses.replace(files, step_shortlist=f"step-shortlist.{precision}.onnx")


def ring_tensors(model: TranslationModel) -> tuple[str, ...]:
    layers = enumerate(model.decoder.decoder_layers())
    return tuple(f"ring.{index}.{name}" for index, layer in layers for name in layer.self_attention.memory_names)


def source_tensors(model: TranslationModel) -> tuple[str, ...]:
    layers = enumerate(model.decoder.decoder_layers())
    return tuple(f"source.{index}.{name}" for index, layer in layers for name in layer.cross_attention.memory_names)


CONTEXT_FILES = {
    "encoder": {
        "store": "context-store.onnx",
        "attend": "context-attend.onnx",
        "project": "context-project.onnx",
        "pruned": "context-pruned.onnx",
    },
    "decoder": {
        "store": "context-store.onnx",
        "attend": "context-attend.onnx",
        "step": "context-step.onnx",
    },
}
"""Of each side, in the order in which their writers take them."""
HAVE_ZEROS = ("sparse-soft", "sparse-sparse")
"""Kinds of attention that leave sentences without a weight."""


def context_files(document: DocumentModel) -> ContextFiles:
    """What the manifest says of a model's context."""
    files = dict(CONTEXT_FILES[document.config.side])
    if document.config.attention not in HAVE_ZEROS:
        files.pop("pruned", None)
    return ContextFiles(
        attention=document.config.attention,
        side=document.config.side,
        num_heads=document.config.num_heads,
        width=document.base.config.d_model,
        store_tensors=document.context.attention.store_names,
        **files,
    )


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
    """The manifest of a model, its file hashes still empty."""
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
        ring_tensors=ring_tensors(model),
        source_tensors=source_tensors(model),
        graphs=graphs,
        licence=licence,
        files={},
        origin=origin,
    )
