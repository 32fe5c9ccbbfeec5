"""Reads and writes files in this process, without limits: for the files of the user who runs the program."""

import asyncio
from collections.abc import Sequence

from server.files.parsing import SourceFile, WrittenFile, read_texts, write_file


class InProcessParser:
    """A FileParser that runs in a thread."""

    async def texts(self, file: SourceFile) -> list[str]:
        """Raises FileError."""
        return await asyncio.to_thread(read_texts, file)

    async def write(self, file: SourceFile, translations: Sequence[str]) -> WrittenFile:
        """Raises FileError."""
        return await asyncio.to_thread(write_file, file, translations)
