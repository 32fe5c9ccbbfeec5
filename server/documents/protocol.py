"""Who sees whom in a document (Maruf et al. 2019, section 3.3), and what a correction touches. Pure functions.

Context is made of sources, or of drafts (see server.documents.drafts), which depend on sources alone: a translation,
edited or not, changes nothing for other sentences, and all sentences of a document can be translated at the same time
in either mode.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from server.backends.context import ContextUse
from server.backends.state import Bools, Floats
from server.documents.records import Mode, Sentence

Owners = NDArray[np.int64]
"""[J], for every part that is stored the index of its sentence."""

MAX_CONTEXT_USED = 16
"""Sentences kept of those that a sentence looked at, the ones with the largest weights."""


def sees(mode: Mode, index: int, other: int) -> bool:
    """Offline a sentence sees all others, online those before it; never itself."""
    return other < index if mode == "online" else other != index


def visible(mode: Mode, index: int, owners: Owners) -> Bools:
    """Which parts [J] sentence `index` sees."""
    seen: Bools = owners < index if mode == "online" else owners != index
    return seen


def affected(mode: Mode, changed: Iterable[int], sentences: Iterable[Sentence]) -> list[int]:
    """Sentences whose context a change of the sources `changed` touches: all that see one of them. Which of them
    looked there before does not matter: the new source may draw a look that the old one did not."""
    changed = tuple(changed)
    return [sentence.index for sentence in sentences if any(sees(mode, sentence.index, other) for other in changed)]


def weights_by_sentence(use: ContextUse, owners: Owners) -> dict[int, Floats]:
    """Sentence index -> weight per head [heads], summed over its parts. `owners` may name more parts than `use`
    has weights for: those that could not be seen."""
    summed: dict[int, Floats] = {}
    for owner, weights in zip(owners.tolist(), use.weights.T, strict=False):
        summed[owner] = summed[owner] + weights if owner in summed else weights
    return summed


def largest(weights: dict[int, float]) -> tuple[tuple[int, float], ...]:
    """(sentence index, weight) by falling weight, without zeros."""
    used = [(index, weight) for index, weight in weights.items() if weight > 0]
    return tuple(sorted(used, key=lambda pair: (-pair[1], pair[0]))[:MAX_CONTEXT_USED])
