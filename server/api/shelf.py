"""Translated files that wait to be fetched, and the language of files that were sent."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

from server.api.errors import ApiError
from server.text.formats.table import open_file

BUDGET_BYTES = 64 * 2**20
"""The most bytes of all files that wait to be fetched; the oldest make room for new ones."""
BEGINNING = 4000
"""Characters of a file by which its language is detected."""


async def beginning_of(name: str, data: bytes, language: str, max_characters: int) -> str:
    """The beginning of the file's texts. Raises FileError, also for more than `max_characters`."""
    opened = await asyncio.to_thread(open_file, data, name, language, max_characters)
    return "\n".join(opened.texts)[:BEGINNING]


@dataclass(frozen=True)
class ShelvedFile:
    data: bytes
    name: str
    media_type: str


class Shelf:
    """Translated files that wait to be fetched, within a budget of bytes; use it from one event loop."""

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._files: OrderedDict[str, ShelvedFile] = OrderedDict()
        self._budget = budget
        self.num_bytes = 0

    def put(self, key: str, file: ShelvedFile) -> None:
        self._files[key] = file
        self.num_bytes += len(file.data)
        while self.num_bytes > self._budget and len(self._files) > 1:
            _, oldest = self._files.popitem(last=False)
            self.num_bytes -= len(oldest.data)

    def get(self, key: str) -> ShelvedFile:
        """Raises ApiError (404)."""
        if key not in self._files:
            raise ApiError(
                "not_found", "there is no such file: it never existed, or was deleted to make room for newer ones"
            )
        return self._files[key]
