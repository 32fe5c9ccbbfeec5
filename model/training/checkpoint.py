"""Checkpoints: a folder with weights.safetensors, config.json and vocabulary.model, and the state of training."""

import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from model.config import ConfigError, ModelConfig
from model.durable import replace_file
from model.language_model import LanguageModel
from model.translation_model import TranslationModel

AnyModel = TranslationModel | LanguageModel
"""Models that can be trained: they have an embedding and hidden states of target positions."""
Model = TypeVar("Model", bound=nn.Module)

SUMMARY, METRICS = "training.json", "metrics.csv"
ZOO = Path(__file__).parent.parent / "zoo"
WEIGHTS, CONFIG, VOCABULARY, STATE = "weights.safetensors", "config.json", "vocabulary.model", "training-state.pt"
IMPORTED = "imported.json"
"""The file that marks a model that others trained (model/training/imported.py)."""


def read_json(path: Path) -> dict[str, Any]:
    """Raises FileNotFoundError, and ConfigError for a file that does not hold a JSON object."""
    return parse_json(path.read_text(encoding="utf-8"), str(path))


def parse_json(text: str, where: str) -> dict[str, Any]:
    """Raises ConfigError, with `where` the text is from, for text that is not a JSON object."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must be a JSON object, not {type(values).__name__}")
    return values


def write_json(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def save_weights(weights: dict[str, Tensor], path: Path, dtype: torch.dtype = torch.float32) -> None:
    """Write to a temporary file and rename it, so that a process that is killed never leaves half a checkpoint."""
    temporary = path.with_suffix(".tmp")
    save_file({name: tensor.detach().to(dtype).contiguous().cpu() for name, tensor in weights.items()}, temporary)
    replace_file(temporary, path)


def save_model(
    weights: dict[str, Tensor], config: ModelConfig, folder: Path, dtype: torch.dtype = torch.float32
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / CONFIG, config.to_dict())
    save_weights(weights, folder / WEIGHTS, dtype)


def load_config(folder: Path) -> ModelConfig:
    return ModelConfig.from_dict(read_json(folder / CONFIG))


def find_base(name: str) -> Path:
    """The checkpoint folder that a recipe's `base` or `start` means. Raises ConfigError that names the places."""
    for folder in (Path(name), ZOO / name):
        if (folder / CONFIG).is_file():
            return folder
    raise ConfigError(
        f"'{name}' is neither a checkpoint folder nor a model in {ZOO}: train a sentence model first, "
        f"then name its folder"
    )


def new_model(config: ModelConfig) -> AnyModel:
    """The model that the configuration describes, with random weights."""
    return TranslationModel(config) if config.encoder_layers else LanguageModel(config)


def load_any_model(folder: Path) -> AnyModel:
    """The model of a checkpoint folder, fp32, in evaluation mode. Raises FileNotFoundError with the missing file."""
    return load_weights(new_model(load_config(folder)), folder).eval()


def load_model(folder: Path) -> TranslationModel:
    """Like load_any_model, for translation models. Raises ConfigError for a language model."""
    return load_weights(TranslationModel(load_config(folder)), folder).eval()


def load_weights(model: Model, folder: Path) -> Model:
    """`model` with a checkpoint's weights. Raises ConfigError where they are those of another shape."""
    try:
        model.load_state_dict({name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()})
    except RuntimeError as error:
        raise ConfigError(f"{folder / WEIGHTS} belongs to a model of another shape: {error}") from error
    return model


def find_vocabulary(folder: Path) -> Path:
    """A checkpoint's vocabulary.model: in its folder, or beside it for checkpoints that share one. Raises
    FileNotFoundError that names both places, and ConfigError for an imported model."""
    refuse_imported(folder)
    for place in (folder, folder.parent):
        if (place / VOCABULARY).is_file():
            return place / VOCABULARY
    raise FileNotFoundError(f"{VOCABULARY} is neither in {folder} nor beside it")


def refuse_imported(folder: Path) -> None:
    """Raise ConfigError for a checkpoint of a model that others trained."""
    if (folder / IMPORTED).is_file():
        raise ConfigError(
            f"{folder} is an imported model, whose words have ids of its own: it can be exported, or get a context "
            "layer by a recipe with the section 'document', and `ringmt distil` makes a student of its artifact"
        )


def save_state(state: dict[str, Any], folder: Path) -> None:
    temporary = folder / (STATE + ".tmp")
    torch.save(state, temporary)
    replace_file(temporary, folder / STATE)


def load_state(folder: Path) -> dict[str, Any] | None:
    """The training state of an interrupted run, or None where none was saved."""
    path = folder / STATE
    if not path.is_file():
        return None
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


def average_weights(paths: list[Path]) -> dict[str, Tensor]:
    """Element-wise mean of several weight files, in fp32."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, tensor in load_file(path).items():
            total[name] = total[name] + tensor.float() if name in total else tensor.float()
    return {name: tensor / len(paths) for name, tensor in total.items()}
