"""Batches by tokens: pairs of similar length together, order decided by seed and epoch alone."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from model.config import PAD_ID, SPECIAL_IDS, SpecialIds

T = TypeVar("T")


@dataclass(frozen=True)
class Pair:
    """Token ids of one sentence pair, without BOS or EOS."""

    source: list[int]
    target: list[int]


@dataclass(frozen=True)
class Batch:
    """Ids [batch, length], right-padded. `target_in` starts with BOS, `target_out` ends with EOS."""

    source: Tensor
    source_keep: Tensor
    target_in: Tensor
    target_out: Tensor

    @property
    def num_target_tokens(self) -> int:
        return int((self.target_out != PAD_ID).sum())

    def to(self, device: torch.device) -> "Batch":
        return Batch(
            *(tensor.to(device) for tensor in (self.source, self.source_keep, self.target_in, self.target_out))
        )


def pad(rows: Sequence[list[int]], pad_id: int) -> Tensor:
    """[row, longest row], filled up with `pad_id` on the right."""
    width = max(len(row) for row in rows)
    return torch.tensor([row + [pad_id] * (width - len(row)) for row in rows])


def collate(pairs: Sequence[Pair], ids: SpecialIds = SPECIAL_IDS) -> Batch:
    """`ids`: those of the model. A source word may have the id of padding, where the source has a vocabulary of its
    own."""
    return Batch(
        source=pad([[*pair.source, ids.eos] for pair in pairs], ids.pad),
        source_keep=pad([[1] * (len(pair.source) + 1) for pair in pairs], 0) > 0,
        target_in=pad([[ids.bos, *pair.target] for pair in pairs], ids.pad),
        target_out=pad([[*pair.target, ids.eos] for pair in pairs], ids.pad),
    )


def batches_by_tokens(pairs: Sequence[Pair], max_tokens: int) -> list[list[Pair]]:
    """Cut `pairs`, in the order given, so that rows x longest side (with EOS) stays within `max_tokens`."""
    batches: list[list[Pair]] = []
    current: list[Pair] = []
    widest = 0
    for pair in pairs:
        width = max(widest, len(pair.source) + 1, len(pair.target) + 1)
        if current and width * (len(current) + 1) > max_tokens:
            batches.append(current)
            current, width = [], max(len(pair.source), len(pair.target)) + 1
        current.append(pair)
        widest = width
    if current:
        batches.append(current)
    return batches


def epoch_items(corpora: Mapping[str, list[T]], passes: Mapping[str, float], seed: int, epoch: int) -> list[T]:
    """One epoch: whole passes of a corpus, then a new random sample of it for the remaining fraction."""
    items: list[T] = []
    for name, corpus in corpora.items():
        whole, part = divmod(passes[name], 1)
        items += corpus * int(whole)
        items += random.Random(f"{seed}/{epoch}/{name}").sample(corpus, round(len(corpus) * part))
    return items


def epoch_batches(
    pairs: Sequence[Pair], max_tokens: int, seed: int, epoch: int, sorted_by: str = "target"
) -> list[list[Pair]]:
    """One epoch's batches: sorted by length, with a little noise, so that epochs differ; then shuffled.

    `sorted_by`: "longest", by the longer side and then by the source, leaves a twenty-fifth of what is computed to
    padding, and "target", by the target and half of the source, a fifth (measured on five English-German corpora).
    """
    order = random.Random(f"{seed}/{epoch}")
    length = _longest if sorted_by == "longest" else _mostly_target
    keyed = [(length(pair) + order.random() * 2, index) for index, pair in enumerate(pairs)]
    batches = batches_by_tokens([pairs[index] for _, index in sorted(keyed)], max_tokens)
    order.shuffle(batches)
    return batches


def _mostly_target(pair: Pair) -> float:
    return len(pair.target) + len(pair.source) / 2


def _longest(pair: Pair) -> float:
    return max(len(pair.source), len(pair.target)) * 1000 + len(pair.source)
