"""Who sees whom in a document (Maruf et al. 2019, section 3.3), and what a correction touches. Pure functions.

Context is made of sources, or of first translations and what persons wrote (see server.documents.drafts): the model's
second translations change nothing for other sentences, and all sentences of a document can be translated at the same
time in either mode.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from server.backends.state import Bools
from server.documents.stores.records import Mode, Sentence

Owners = NDArray[np.int64]
"""[J], for every part that is stored the index of its sentence."""


def sees(mode: Mode, index: int, other: int, reach: int | None = None) -> bool:
    """Offline a sentence sees all others, online those before it; never itself, and none that is more than `reach`
    sentences away."""
    within = reach is None or abs(other - index) <= reach
    return within and (other < index if mode == "online" else other != index)


def around(mode: Mode, index: int, sentences: Sequence[Sentence], reach: int | None = None) -> list[Sentence]:
    """Sentence `index`, and those that it sees."""
    return [one for one in sentences if one.index == index or sees(mode, index, one.index, reach)]


def visible(mode: Mode, index: int, owners: Owners, reach: int | None = None) -> Bools:
    """Which parts [J] sentence `index` sees."""
    seen: Bools = owners < index if mode == "online" else owners != index
    if reach is not None:
        seen &= np.abs(owners - index) <= reach
    return seen


def affected(mode: Mode, changed: int, sentences: Iterable[Sentence], reach: int | None = None) -> list[Sentence]:
    """Sentences whose context changes with sentence `changed`: all that see it. Whether one looked there before does
    not matter: the new words may draw a look that the old ones did not."""
    return [sentence for sentence in sentences if sees(mode, sentence.index, changed, reach)]
