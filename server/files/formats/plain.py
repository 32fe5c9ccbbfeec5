"""Text files, which are translated like the text of a request."""

from collections.abc import Sequence

from server.files.formats.base import Budget, OpenedFile, decode


def open_text(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encoding = decode(data)

    def write(translations: Sequence[str]) -> bytes:
        [translation] = translations
        return encoding.encode(translation)

    return OpenedFile([text], write, encoding.notes)
