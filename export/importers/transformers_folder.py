"""A checkpoint's folder as `transformers` keeps it: its JSON files and its weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load_file
from torch import Tensor

from export.importers import ImportRefused
from export.importers.json_files import read_object
from export.importers.unfinished import partial_hint, unreadable

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
INDEX = ".index.json"
"""Ends the name of the file that lists the parts of weights in several files."""


@dataclass(frozen=True)
class TransformersFolder:
    """The contents of the folder's JSON files. `generation` has the search options, from whichever file."""

    path: Path
    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    tokenizer: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, model_type: str) -> Self:
        """Raises ImportRefused for a folder that holds no checkpoint of this type."""
        config = read_object(path / CONFIG)
        if config.get("model_type") != model_type:
            found = config.get("model_type")
            raise ImportRefused(f"{path / CONFIG} is of a '{found}' model, not of a '{model_type}' one")
        generation = read_object(path / GENERATION) if (path / GENERATION).is_file() else config
        tokenizer = read_object(path / TOKENIZER) if (path / TOKENIZER).is_file() else {}
        return cls(path, config, generation, tokenizer)

    def number(self, key: str) -> int:
        """An id or a size. Raises ImportRefused where there is none."""
        value = self.config.get(key)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(value, int):
            raise ImportRefused(f"{self.path / CONFIG}: {key} must be a number, not {value!r}")
        return value

    def same_number(self, ours: str) -> int:
        """A number that encoder and decoder have in common. Raises ImportRefused where they differ."""
        sides = {self.number(f"{side}_{ours}") for side in ("encoder", "decoder")}
        if len(sides) > 1:
            raise ImportRefused(f"{self.path / CONFIG}: encoder_{ours} and decoder_{ours} differ; RingMT has one")
        return sides.pop()

    def activation(self, known: Mapping[str, str]) -> str:
        """Raises ImportRefused for one that is not `known`."""
        theirs = str(self.config.get("activation_function"))
        if theirs not in known:
            raise ImportRefused(f"{self.path / CONFIG}: activation_function '{theirs}' is none of {', '.join(known)}")
        return known[theirs]


def unwanted_words(folder: TransformersFolder) -> tuple[int, ...]:
    """Words that the checkpoint never generates. Raises ImportRefused for sequences of several words."""
    sequences = folder.generation.get("bad_words_ids") or []
    if any(len(words) != 1 for words in sequences):
        raise ImportRefused(f"{folder.path}: bad_words_ids has sequences of words; only single ones can be kept")
    return tuple(sorted({words[0] for words in sequences} | {*(folder.generation.get("suppress_tokens") or [])}))


def forces_eos(folder: TransformersFolder, eos: int) -> bool:
    """Whether EOS is forced at the maximum length. Raises ImportRefused for another forced word."""
    forced = folder.generation.get("forced_eos_token_id")
    if forced not in (None, eos, [eos]):
        raise ImportRefused(f"{folder.path}: forced_eos_token_id {forced} is not eos_token_id {eos}")
    return forced is not None


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The weights by their names, in fp32. Raises ImportRefused where there are none."""
    for whole in (SAFE, PICKLED):
        index = folder / f"{whole}{INDEX}"
        parts = [whole] if (folder / whole).is_file() else parts_of(index) if index.is_file() else []
        if parts:
            tensors = [read_part(folder / part) for part in parts]
            return {name: tensor.float() for part in tensors for name, tensor in part.items()}
    hint = partial_hint(path.name for path in folder.iterdir())
    raise ImportRefused(f"{folder} has neither {SAFE} nor {PICKLED}: download the whole checkpoint{hint}")


def parts_of(index: Path) -> list[str]:
    """The names of the files beside an index of weights. Raises ImportRefused for files that are missing."""
    names = sorted({*map(str, read_object(index).get("weight_map", {}).values())})
    for name in names:
        if Path(name).name != name or not index.with_name(name).is_file():
            raise ImportRefused(f"{index} lists {name}, which is not beside it: download the whole checkpoint")
    return names


def read_part(path: Path) -> dict[str, Tensor]:
    """Raises ImportRefused for a file that is damaged, or holds anything but tensors."""
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of every kind: safetensors', pickle's, zip's and torch's own
        reason = str(error).split("\n", 1)[0] or type(error).__name__
        raise ImportRefused(f"{path} {unreadable(path)} ({reason}): download it again") from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise ImportRefused(f"{path} holds other things than tensors by their names")
    return tensors
