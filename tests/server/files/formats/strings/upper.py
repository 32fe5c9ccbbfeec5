"""A translation in capitals, by which translated values can be told from what stays."""

from server.files.formats.registry import open_file


def texts(text: str | bytes, suffix: str, language: str = "de") -> list[str]:
    return list(open_file(_bytes(text), f"a{suffix}", language, 100_000).texts)


def upper(text: str | bytes, suffix: str, language: str = "de") -> str:
    opened = open_file(_bytes(text), f"a{suffix}", language, 100_000)
    return opened.write([text.upper() for text in opened.texts]).decode()


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
