"""Which sentences of a document see which (Maruf et al. 2019, section 3.3), and which sentences a correction affects.
Pure functions of indices; the states that a sentence sees come from `sentence_states`.

Context is made of sources, or of drafts and what persons wrote (see server.documents.drafts), never of the model's
second translations. So all sentences of a document can be translated at the same time, in either mode.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from server.backends.state import Ints
from server.stores.records import Mode, Sentence

Owners = NDArray[np.int64]
"""[J]: the index of the sentence that each stored part belongs to."""


def sees(mode: Mode, index: int, other: int, reach: int | None = None) -> bool:
    """Offline a sentence sees all others, online those before it; never itself, and none that is more than `reach`
    sentences away."""
    within = reach is None or abs(other - index) <= reach
    return within and (other < index if mode == "online" else other != index)


def around(mode: Mode, index: int, sentences: Sequence[Sentence], reach: int | None = None) -> list[Sentence]:
    """Sentence `index`, and those that it sees."""
    return [other for other in sentences if other.index == index or sees(mode, index, other.index, reach)]


def within_reach(sentences: Sequence[Sentence], chosen: Iterable[Sentence], reach: int | None) -> Sequence[Sentence]:
    """The `chosen` sentences and the sentences around them, up to `reach` away (None: all)."""
    if reach is None:
        return sentences
    near = {sentence.index + step for sentence in chosen for step in range(-reach, reach + 1)}
    return [sentence for sentence in sentences if sentence.index in near]


def distances(mode: Mode, index: int, owners: Owners, reach: int | None = None) -> Ints:
    """How many sentences away the parts [J] are that sentence `index` sees, 0 for the others."""
    away: Ints = np.maximum(index - owners, 0) if mode == "online" else np.abs(index - owners)
    return away if reach is None else away * (away <= reach)


def affected(mode: Mode, changed: int, sentences: Iterable[Sentence], reach: int | None = None) -> list[Sentence]:
    """The sentences whose context changes with sentence `changed`: all that see it, whether or not they attended to it
    before, because the new words may get weight that the old words did not."""
    return [sentence for sentence in sentences if sees(mode, sentence.index, changed, reach)]
