"""What every format gives for a file: its texts, and how to write translations of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_UNPACKED_BYTES = 200 * 2**20
"""The most bytes that an archive may unpack to."""


class FileError(ValueError):
    """A file that cannot be translated; the message says why and what to do."""


class UnsupportedFile(FileError):
    """A file of no known format, or of one whose library is not installed."""


class DamagedFile(FileError):
    """A file that is not what its name says, is incomplete, or is encrypted."""


class FileTooLarge(FileError):
    """A file with more content than is taken."""


@dataclass(frozen=True)
class OpenedFile:
    """`texts` in reading order, with marks for what is inside them but is no text (`server.text.marks`). `write` takes
    a translation for each and returns the file's bytes."""

    texts: Sequence[str]
    write: Callable[[Sequence[str]], bytes]


Opener = Callable[[bytes, str], OpenedFile]
"""Takes a file's bytes and the target language. Raises FileError."""


@dataclass(frozen=True)
class Encoding:
    """A text file's encoding, and the byte order mark that it begins with."""

    name: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        return self.mark + text.encode(self.name, errors="surrogateescape" if self.name == "utf-8" else "replace")


def decode(data: bytes) -> tuple[str, Encoding]:
    """A text file's text. Raises DamagedFile for what is neither UTF-8 nor UTF-16 with its mark."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return _decode(data[len(mark) :], Encoding(name, mark))
    return _decode(data, Encoding("utf-8"))


def _decode(data: bytes, encoding: Encoding) -> tuple[str, Encoding]:
    try:
        text = data.decode(encoding.name)
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"the file is no {encoding.name.upper()} text (byte {error.start}); save it as UTF-8"
        ) from None
    if "\x00" in text:
        raise DamagedFile("the file is no text: it has zero bytes")
    return text, encoding
