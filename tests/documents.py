"""A small document model for tests, documents of token ids for it, and its artifact."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from export.artifact_writer import ExportOptions, export_artifact
from export.context_parity import check_context_parity
from export.parity import graph_pairs
from model.config import ContextConfig
from model.data.batching import Pair
from model.document import DocumentModel
from model.training.document_checkpoint import save_document_model
from server.artifact.artifact import Artifact
from tests.models import SENTENCES, add_vocabulary, lively_model, tiny_config

ContextArtifact = Callable[[str, str], Path]
"""(attention, side) -> the folder of an artifact."""


def lively_document_model(
    attention: str = "sparse-soft", side: str = "encoder", seed: int = 0, decay: float | str | None = None
) -> DocumentModel:
    """Random weights in evaluation mode, with context that changes translations."""
    base = lively_model(tiny_config(), seed)
    config = ContextConfig(attention=attention, side=side, num_heads=2, ffn_dim=64, dropout=0.0, decay=decay)
    torch.manual_seed(seed + 1)
    model = DocumentModel(base, config).eval()
    with torch.no_grad():
        for parameter in model.context.attention.parameters():
            parameter.mul_(2)
        if model.context.decay.raw_rates is not None:
            model.context.decay.raw_rates.copy_(torch.tensor([-0.5, 1.0]))
        if side == "decoder":  # as large as the last norm, so that context changes more than the length of vectors
            model.context.ffn_norm.weight.copy_(2 * torch.randn(base.config.d_model))
    return model


def some_pairs(lengths: Sequence[int], seed: int = 0) -> list[Pair]:
    """Pairs of random ids; targets are one longer than sources."""
    generator = torch.Generator().manual_seed(seed)
    return [
        Pair(*(torch.randint(4, 320, (n,), generator=generator).tolist() for n in (length, length + 1)))
        for length in lengths
    ]


def write_document_checkpoint(model: DocumentModel, folder: Path) -> Path:
    """A checkpoint folder of a document model, like tests.models.write_checkpoint."""
    save_document_model(dict(model.named_parameters()), model.base.config, model.config, folder)
    add_vocabulary(model.base.config.vocab_size, folder)
    return folder


def write_document_artifact(
    model: DocumentModel,
    folder: Path,
    name: str = "documents",
    graphs: tuple[tuple[str, str], ...] = (("onnx", "fp32"), ("onnx", "int8")),
) -> Path:
    """An artifact with context and a shortlist, at folder/name."""
    options = ExportOptions(
        name=name,
        languages=("en", "de"),
        graphs=graphs,
        licence="CC0-1.0",
        shortlist=(64, 64),
        calibration=SENTENCES[:8],
        examples=SENTENCES[:4],
    )
    export_artifact(write_document_checkpoint(model, folder / f"{name}-checkpoint"), folder / name, options)
    return folder / name


def differences_in_context(model: DocumentModel, artifact: Artifact) -> dict[str, float]:
    """Kind of graphs -> difference between the model and these graphs. Raises ParityError."""
    differences: dict[str, float] = {}
    for pair in graph_pairs(artifact):
        differences |= check_context_parity(model, pair)
    return differences
