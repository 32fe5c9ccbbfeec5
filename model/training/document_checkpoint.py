"""A document model on disk: the checkpoint of its sentence model, and beside it context.json and
context.safetensors. A loader of sentence models reads the folder as a sentence model, without context.

Where the sentence model was frozen, context.json and context.safetensors are enough: one sentence model serves any
number of context layers. context-training.json, of stored layers, records how and on which weights they were
trained.
"""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from model.config import ConfigError, ContextConfig, ModelConfig
from model.document import DocumentModel
from model.training.checkpoint import load_model, read_json, save_model, save_weights, write_json

CONTEXT_CONFIG, CONTEXT_WEIGHTS, CONTEXT_SUMMARY = "context.json", "context.safetensors", "context-training.json"


def split_weights(weights: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """A document model's weights by name -> those of its sentence model, those of its context layer."""
    base, context = (
        {name.removeprefix(part): tensor for name, tensor in weights.items() if name.startswith(part)}
        for part in ("base.", "context.")
    )
    return base, context


def save_document_model(
    weights: dict[str, Tensor],
    config: ModelConfig,
    context: ContextConfig,
    folder: Path,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write a sentence model and its context layer into `folder`: configurations, and weights as `dtype`."""
    base_weights, context_weights = split_weights(weights)
    save_model(base_weights, config, folder, dtype)
    save_context(context_weights, context, folder, dtype)


def save_context(weights: dict[str, Tensor], context: ContextConfig, folder: Path, dtype: torch.dtype) -> None:
    """The layer alone."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / CONTEXT_CONFIG, context.to_dict())
    save_weights(weights, folder / CONTEXT_WEIGHTS, dtype)


def has_context(folder: Path) -> bool:
    return (folder / CONTEXT_CONFIG).is_file()


def load_context_config(folder: Path) -> ContextConfig:
    return ContextConfig.from_dict(read_json(folder / CONTEXT_CONFIG))


def load_document_model(folder: Path, base: Path | None = None) -> DocumentModel:
    """fp32, in evaluation mode; the sentence model from `base`, if it is not in the folder as well. Raises ConfigError
    for a folder that holds a sentence model only."""
    if not has_context(folder):
        raise ConfigError(
            f"{folder} holds no context layer ({CONTEXT_CONFIG} is missing): "
            f"train one with a recipe that has the section 'document'"
        )
    model = DocumentModel(load_model(base or folder), load_context_config(folder))
    model.context.load_state_dict(load_context(folder))
    return model.eval()


def load_context(folder: Path) -> dict[str, Tensor]:
    """The layer's weights, fp32."""
    return {name: tensor.float() for name, tensor in load_file(folder / CONTEXT_WEIGHTS).items()}
