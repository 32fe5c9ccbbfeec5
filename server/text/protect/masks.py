"""A sentence in which masks stand for spans: what the model reads, and where masks are in what it writes."""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from server.text.base.words import Place, has_letters
from server.text.protect.accelerators import Accelerator


class Span(NamedTuple):
    """What a mask stands for. Where it touches a word, the model reads a space between them (`has_space_before`,
    `has_space_after`)."""

    text: str
    has_space_before: bool = False
    has_space_after: bool = False
    is_word: bool = False
    """Whether it may be part of a compound, as in "iPhone-Nutzer": a term, or letters and digits alone."""
    rises: bool = False
    """Whether it begins with a capital where the translation begins with it."""


@dataclass(frozen=True)
class Masked:
    """A sentence as the model reads it. A mask is `stem` and a number, from 1 on, of one of the `spans`."""

    text: str
    spans: tuple[Span, ...] = ()
    stem: str = ""
    is_capitals: bool = False
    accelerator: Accelerator | None = None
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Start and end of every span in the sentence."""
    emphasized: tuple[Place, ...] = field(default=(), compare=False)
    """Start and end of every word of the sentence that is in capitals, and that the model reads in small letters."""

    @property
    def is_translatable(self) -> bool:
        """Whether there are letters outside of the masks."""
        return has_letters(mask_pattern(self.stem).sub("", self.text) if self.spans else self.text)

    def find_masks(self, text: str) -> list[tuple[tuple[int, int], int]]:
        """The places of masks in a text that the model reads or writes, and their numbers: the first copy of each."""
        places: dict[int, tuple[int, int]] = {}
        for match in mask_pattern(self.stem).finditer(text) if self.spans else ():
            number = number_of(match)
            if 1 <= number <= len(self.spans):
                places.setdefault(number, match.span())
        return sorted((place, number) for number, place in places.items())


@cache  # there are 584 stems
def mask_pattern(stem: str) -> re.Pattern[str]:
    return re.compile(rf"{stem}\s?([0-9]++)", re.IGNORECASE)


def number_of(match: re.Match[str]) -> int:
    """The number of a mask; a model may write any number of digits, of which six are enough to know that it is none."""
    return int(match[1][:6])
