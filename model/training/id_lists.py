"""Lists of token ids in a file."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from model.durable import replace_file


def save_id_lists(lists: Sequence[Iterable[int]], path: Path) -> None:
    """Write `path`, whole or not at all; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [list(ids) for ids in lists]
    tensors = {
        "lengths": torch.tensor([len(ids) for ids in rows], dtype=torch.int32),
        "ids": torch.tensor([token for ids in rows for token in ids], dtype=torch.int32),
    }
    temporary = path.with_suffix(".tmp")
    save_file(tensors, temporary)
    replace_file(temporary, path)


def load_id_lists(path: Path) -> list[list[int]]:
    kept = load_file(path)
    ids = iter(kept["ids"].tolist())
    return [list(itertools.islice(ids, length)) for length in kept["lengths"].tolist()]
