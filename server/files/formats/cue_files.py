"""A text file with cues, of which only the bodies of those that are translated are written anew."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from server.files.formats.base import Budget, Encoding, OpenedFile
from server.files.formats.cues import Cue, Unit, units_of


class PlacedCue(NamedTuple):
    """A cue, and the characters from `start` to `end` of the file in whose place its body is written."""

    start: int
    end: int
    cue: Cue


def opened_cues(
    text: str, encoding: Encoding, placed: Sequence[PlacedCue], budget: Budget, written: Callable[[str], str]
) -> OpenedFile:
    """A file of these characters. `written`: a body, whose lines end with "\\n", as the file has it. Raises
    FileTooLarge."""
    units: list[tuple[int, Unit]] = []
    for unit in units_of([each.cue for each in placed]):
        for text_of_cue in (unit[1].text, *[""] * (unit[0] - 1)):  # a cue costs as much as a text
            budget.spend(text_of_cue)
        units.append(unit)

    def write(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        remaining = iter(placed)
        for (count, unit), translation in zip(units, translations, strict=True):
            of_unit = [next(remaining) for _ in range(count)]
            if translation == unit.text:
                continue
            for each, body in zip(of_unit, unit.bodies(translation), strict=True):
                is_windows = text[each.start : each.end].partition("\n")[0].endswith("\r")
                new = written(body)
                parts += (text[end : each.start], new.replace("\n", "\r\n") if is_windows else new)
                end = each.end
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile([unit.text for _, unit in units], write, encoding.notes)
