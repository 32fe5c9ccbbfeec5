"""A translation in capitals, by which translated values can be told from what stays."""

import contextlib

from server.files.formats.base import NoText
from server.files.formats.registry import open_file


def texts(text: str | bytes, suffix: str, language: str = "de") -> list[str]:
    """Empty for a file without text."""
    with contextlib.suppress(NoText):
        return list(open_file(_bytes(text), f"a{suffix}", language, 100_000).texts)
    return []


def upper(text: str | bytes, suffix: str, language: str = "de") -> str:
    """The file itself if it has no text."""
    data = _bytes(text)
    try:
        opened = open_file(data, f"a{suffix}", language, 100_000)
    except NoText:
        return data.decode()
    return opened.write([text.upper() for text in opened.texts]).decode()


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
