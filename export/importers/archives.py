"""Packed models: zip, tar (plain, gzip, bzip2, xz), and single files in gzip or Zstandard."""

import gzip
import tarfile
import zipfile
from collections.abc import Generator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias

from export.importers import ImportRefused
from export.importers.zstd import open_zstd

ZIP, GZIP, ZSTD = ".zip", ".gz", ".zst"
TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MAX_FILES = 10_000
MIN_UNPACKED_BYTES, MAX_GROWTH = 64 * 2**20, 20
"""An archive may unpack to so many bytes, or to so many times its size."""
_CHUNK = 2**20

Parts: TypeAlias = Generator[tuple[PurePosixPath, IO[bytes] | gzip.GzipFile], None, None]
"""The files of an archive, opened one after the other."""


def is_packed(path: Path) -> bool:
    return path.name.lower().endswith((ZIP, GZIP, ZSTD, *TAR))


def plain_name(name: str) -> str:
    """The name that a single packed file has when it is unpacked; other names as they are."""
    lowered = name.lower()
    is_single = lowered.endswith((GZIP, ZSTD)) and not lowered.endswith(TAR)
    return name.rpartition(".")[0] if is_single else name


def unpack(path: Path, folder: Path) -> None:
    """Write the files of a packed file below `folder`. Raises ImportRefused for what is damaged, larger than such a
    file may be, or to be written elsewhere."""
    name = path.name.lower()
    if name.endswith(ZIP):
        parts = _zip_parts(path)
    elif name.endswith(TAR):
        parts = _tar_parts(path)
    elif name.endswith(ZSTD):
        parts = _zstd_part(path)
    else:
        parts = _gzip_part(path)
    left, written = max(MIN_UNPACKED_BYTES, MAX_GROWTH * path.stat().st_size), set[PurePosixPath]()
    try:
        with closing(parts):
            for place, part in parts:
                if ".." in place.parts or place.is_absolute() or "\\" in str(place):
                    raise ImportRefused(f"{path}: its file {str(place)!r} would be outside of the folder")
                if place in written or (folder / place).exists() or len(written) == MAX_FILES:
                    raise ImportRefused(f"{path} has a file twice ({place}), or more than {MAX_FILES} files")
                written.add(place)
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                with part, (folder / place).open("wb") as file:
                    while chunk := part.read(_CHUNK):
                        left -= len(chunk)
                        if left < 0:
                            raise ImportRefused(f"{path} unpacks to more than {MAX_GROWTH} times its size")
                        file.write(chunk)
    except ImportRefused:
        raise
    except Exception as error:  # the libraries raise errors of every kind for damaged archives
        raise ImportRefused(f"{path} is damaged, or not packed as its name says: {error}") from error


def _zip_parts(path: Path) -> Parts:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield PurePosixPath(info.filename), archive.open(info)


def _tar_parts(path: Path) -> Parts:
    with tarfile.open(path) as archive:
        for info in archive:
            if info.isdir():
                continue
            part = archive.extractfile(info) if info.isreg() else None
            if part is None:
                raise ImportRefused(f"{path}: {info.name} is no file but a link or a device")
            yield PurePosixPath(info.name), part


def _gzip_part(path: Path) -> Parts:
    with gzip.open(path) as part:
        yield PurePosixPath(path.name[: -len(GZIP)]), part


def _zstd_part(path: Path) -> Parts:
    with open_zstd(path) as part:
        yield PurePosixPath(path.name[: -len(ZSTD)]), part


def innermost(folder: Path) -> Path:
    """The first folder that holds more than one folder: archives often hold one."""
    entries = list(folder.iterdir())
    return innermost(entries[0]) if len(entries) == 1 and entries[0].is_dir() else folder
