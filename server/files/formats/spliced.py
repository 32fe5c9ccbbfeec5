"""Text files in which some places are translated, and all other characters stay."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from server.files.formats.base import Budget, Encoding, OpenedFile
from server.text.base.words import has_letters


class Place(NamedTuple):
    """A text that stands in a file from `start` to `end`."""

    start: int
    end: int
    text: str


def opened(
    whole: str, encoding: Encoding, places: Iterable[Place], write: Callable[[Place, str], str], budget: Budget
) -> OpenedFile:
    """The texts at those of `places` that have letters. `write` returns what a translation is in the file; a text whose
    translation is equal to it stays as it is."""
    kept: list[Place] = []
    for place in places:
        if has_letters(place.text):
            kept.append(place)
            budget.spend(place.text)

    def write_file(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        for place, translation in zip(kept, translations, strict=True):
            if translation != place.text:
                parts += (whole[end : place.start], write(place, translation))
                end = place.end
        return encoding.encode("".join([*parts, whole[end:]]))

    return OpenedFile([place.text for place in kept], write_file, encoding.notes)
