"""Drafts: the sentence model's greedy translations of all training sentences, made once and kept as token ids.

Context in the target language consists of drafts, in training as in use, and never of reference translations.

Differs from the paper (Maruf et al. 2019, Eq. 1), which trains with the references of the other sentences.
"""

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

from model.data.documents import Document
from model.greedy import greedy
from model.training.id_lists import load_id_lists, save_id_lists
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
    if not cache.is_file():
        save_id_lists(greedy(model, sources, max_length), cache)
    return load_id_lists(cache)


def with_drafts(documents: Sequence[Document], drafts: Sequence[list[int]]) -> list[Document]:
    """The documents with a draft for each sentence, drafts in the order of the sentences."""
    following = iter(drafts)
    return [
        [dataclasses.replace(sentence, draft=tuple(next(following))) for sentence in document] for document in documents
    ]
