"""The ids of both sides: RingMT's models have one set of special ids, CTranslate2's may have one for each side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.importers import ImportRefused
from export.importers.ctranslate2.folder import ModelFolder
from model.config import SpecialIds

PADDING = ("<blank>", "<pad>")
NONE = -1


@dataclass(frozen=True)
class Words:
    """`source` and `target`: words and their ids in our model. `source_rows`: their row in the file for every id of the
    source, NONE for a row of zeros; None where source and target are the same words."""

    ids: SpecialIds
    source: dict[str, int]
    target: dict[str, int]
    source_rows: NDArray[np.int64] | None

    @classmethod
    def of(cls, folder: ModelFolder, starts_from_zero: bool) -> "Words":
        """A model that `starts_from_zero` begins with a row of zeros behind the target's words, which the import adds.
        Raises ImportRefused."""
        conventions, target = folder.conventions, numbered(folder.target)
        for word, meaning in ((conventions.eos, "eos_token"), (conventions.start, "decoder_start_token")):
            if word is not None and word not in target:
                raise ImportRefused(f"{folder.path}: {meaning} '{word}' is not in the vocabulary of the target")
        if starts_from_zero:
            start = len(folder.target)
        elif conventions.start is None:
            raise ImportRefused(
                f"{folder.path} names no decoder_start_token: its translations begin with a language token that every "
                "request names, which is not computed"
            )
        else:
            start = target[conventions.start]
        padding = next((target[word] for word in PADDING if word in target), start)
        unknown, eos = target[conventions.unknown], target[conventions.eos]
        ids = SpecialIds(pad=padding, unk=unknown, bos=start, eos=eos)
        if list(folder.source) == list(folder.target):
            return cls(ids, target, target, None)
        rows = ordered(folder.source, {conventions.unknown: unknown, conventions.eos: eos})
        own = {folder.source[row]: index for index, row in reversed([*enumerate(rows)]) if row != NONE}
        return cls(ids, own, target, np.array(rows, np.int64))


def numbered(words: Sequence[str]) -> dict[str, int]:
    """The first id of every word."""
    return {word: index for index, word in reversed([*enumerate(words)])}


def ordered(words: Sequence[str], places: dict[str, int]) -> list[int]:
    """Ids of `words` in an order in which those of `places` have these ids; NONE where there is no word."""
    rows = [*range(len(words))]
    rows += [NONE] * (1 + max(places.values()) - len(rows))
    for word, place in places.items():
        if word in words:
            other = rows.index(words.index(word))
            rows[other], rows[place] = rows[place], rows[other]
        elif rows[place] != NONE:
            rows.append(rows[place])
            rows[place] = NONE
    return rows
