"""Bounds what a written file repeats."""

from server.files.formats.base import FileTooLarge
from server.files.formats.xml_files import XmlBudget

BASE_COPIES, COPIES_PER_TAG = 100_000, 10
"""Every piece of text is written with a copy of its formatting: at most so many elements and attributes for a file's
tags."""


class Copies:
    """Counts what the written file repeats: formatting, for every piece of text that has it."""

    def __init__(self, xml: XmlBudget) -> None:
        self._xml, self._num_copies = xml, 0

    def spend(self, size: int) -> None:
        """Raises FileTooLarge."""
        self._num_copies += size
        if self._num_copies > BASE_COPIES + COPIES_PER_TAG * self._xml.num_tags:
            raise FileTooLarge(
                "the formatting of the file's texts is far longer than they are; remove formatting and save it again"
            )
