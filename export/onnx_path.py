"""Which of the two ways makes a model's ONNX graphs: built by hand (fast), or exported from PyTorch (general)."""

from collections.abc import Iterable

from torch import nn

from model.attention.multi_head import MultiHeadAttention
from model.decoder import Decoder, DecoderLayer
from model.encoder import Encoder, EncoderLayer
from model.layers import Dropout, FeedForward, TokenEmbedding
from model.translation_model import TranslationModel

FAST, GENERAL = "fast", "general"
PATHS = (FAST, GENERAL)
PLAIN_PARTS = {
    TranslationModel, TokenEmbedding, Encoder, EncoderLayer, Decoder, DecoderLayer, MultiHeadAttention, FeedForward,
    Dropout, nn.Linear, nn.LayerNorm, nn.ModuleList,
}  # fmt: skip
"""What export.onnx_graph builds by hand; subclasses are something else."""


class PathError(ValueError):
    """Graphs that cannot be made in the way that was asked for; the message says what can."""


def unknown_parts(model: nn.Module) -> list[str]:
    """Kinds of modules that the hand-built graphs do not know, by name."""
    return sorted({kind.__name__ for kind in {type(module) for module in model.modules()} - PLAIN_PARTS})


def choose_path(model: nn.Module, onnx_precisions: Iterable[str], forced: str | None = None) -> str:
    """The path "fast" for plain models, else "general", unless one of them is `forced`. Raises PathError."""
    if forced not in (None, *PATHS):
        raise PathError(f"unknown path '{forced}': {' or '.join(PATHS)}")
    unknown = ", ".join(unknown_parts(model))
    if forced == FAST and unknown:
        raise PathError(f"the fast graphs are built by hand for plain models and know no {unknown}: use path general")
    path = forced or (GENERAL if unknown else FAST)
    if path == GENERAL and "int8" in onnx_precisions:
        why = f"this model has {unknown}, so its graphs are general ones" if unknown else "path general was asked for"
        raise PathError(
            f"general graphs exist at fp32 only, and {why}: ask for onnx-fp32 (at int8 a range for every batch would "
            f"make a translation depend on the sentences beside it; only the fast graphs have fixed ranges)"
        )
    return path
