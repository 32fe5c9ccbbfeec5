"""Placeholders of clients, exchanged for such as the translation protects, and back."""

import re
from collections.abc import Iterator

from server.api.requests.errors import ApiError

CLIENTS = re.compile(r"@@PH[0-9]{1,6}@@|\[X[0-9]{1,6}X\]")
"""Weblate's, of today and before."""
BREAK = "\\N"
"""A line break in a cue, as Bazarr's library of subtitles writes it."""
_NAMES = ("P", "PH", "PLACE", "HOLDER", "TOKEN", "KEPT")


class Placeholders:
    """The placeholders of one text. `text` has protected ones, such as {P0}, in place of the client's."""

    def __init__(self, source: str) -> None:
        """Raises ApiError (422) for a text that has all names itself."""
        self._has_breaks = BREAK in source and "\n" not in source
        if self._has_breaks:
            source = source.replace(BREAK, "\n")
        self._originals: list[str] = CLIENTS.findall(source)
        if not self._originals:
            self.text = source
            return
        name = next(self._free_names(source), None)
        if name is None:
            raise ApiError("invalid_value", f"a text has {', '.join(f'{{{name}0}}' for name in _NAMES)}", "messages")
        self._protected = re.compile(rf"\{{{name}([0-9]+)\}}")
        numbers = iter(range(len(self._originals)))
        self.text = CLIENTS.sub(lambda _: f"{{{name}{next(numbers)}}}", source)

    @staticmethod
    def _free_names(source: str) -> Iterator[str]:
        return (name for name in _NAMES if f"{{{name}" not in source)

    def restore(self, translation: str) -> str:
        """The translation with the client's placeholders."""
        if self._has_breaks:
            translation = translation.replace("\n", BREAK)
        if not self._originals:
            return translation
        return self._protected.sub(lambda match: self._originals[int(match[1])], translation)
