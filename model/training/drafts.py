"""Drafts: the sentence model's greedy translations of all training sentences, made once and kept as token ids.

Context in the target language is made of them, in training as in use, and never of reference translations.
"""

import dataclasses
import hashlib
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from model.data.documents import Document
from model.greedy import greedy
from model.translation_model import TranslationModel


def fingerprint(weights: Path, sources: Sequence[list[int]], max_length: int) -> str:
    """Changes when the model, the sentences or the limit change."""
    digest = hashlib.sha256(weights.read_bytes())
    digest.update(repr((max_length, [list(ids) for ids in sources])).encode())
    return digest.hexdigest()


def drafts_of(
    model: TranslationModel, weights: Path, sources: Sequence[list[int]], max_length: int, folder: Path
) -> list[list[int]]:
    """Greedy translations in the order of `sources`, from a file in `folder` where one was made from the same.
    `weights` is the model's file."""
    cache = folder / f"{fingerprint(weights, sources, max_length)[:16]}.safetensors"
    if cache.is_file():
        kept = load_file(cache)
        ids = iter(kept["ids"].tolist())
        return [list(itertools.islice(ids, length)) for length in kept["lengths"].tolist()]
    drafts = greedy(model, sources, max_length)
    folder.mkdir(parents=True, exist_ok=True)
    temporary = cache.with_suffix(".tmp")
    tensors = {
        "lengths": torch.tensor([len(draft) for draft in drafts], dtype=torch.int32),
        "ids": torch.tensor([token for draft in drafts for token in draft], dtype=torch.int32),
    }
    save_file(tensors, temporary)
    os.replace(temporary, cache)
    return drafts


def with_drafts(documents: Sequence[Document], drafts: Sequence[list[int]]) -> list[Document]:
    """The documents with a draft for each sentence, drafts in the order of the sentences."""
    following = iter(drafts)
    return [
        [dataclasses.replace(sentence, draft=tuple(next(following))) for sentence in document] for document in documents
    ]
