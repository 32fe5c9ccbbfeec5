"""A package of Argos Translate: a folder with `metadata.json`, `model/` and `sentencepiece.model`, or the same in a zip
(`.argosmodel`). The models with which Argos cuts sentences (`stanza/`, `minisbd/`) are not needed."""

import itertools
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from export.importers import ImportRefused
from export.importers.archives import MAX_GROWTH, MIN_UNPACKED_BYTES, plain_name
from export.importers.ctranslate2.folder import BPE, OF_SIDES, SHARED_SPM
from export.importers.json_files import read_object

METADATA, MODEL, SUFFIX = "metadata.json", "model", ".argosmodel"
WANTED = frozenset({METADATA, "README.md", *SHARED_SPM, *BPE, *itertools.chain(*OF_SIDES)})
"""Files of a package that are read, beside those of the model."""
MAX_PARTS, MAX_FILES = 10_000, 64
MAX_METADATA_BYTES = 2**20
CODES = {"pb": "pt-BR", "zt": "zh-Hant", "zh": "zh-Hans"}
"""Codes of Argos -> those of LibreTranslate, which are language tags."""
LENGTH_PENALTY = 0.2
"""With which Argos translates."""
TRANSLATES = ("", "translate")


class NoTranslation(ImportRefused):
    """A package that is not for translation, such as one that cuts sentences."""


@dataclass(frozen=True)
class Package:
    """`path` as it was given; its files are in `folder`."""

    path: Path
    folder: Path
    languages: tuple[str, str]
    version: str
    codes: tuple[str, str] = ("", "")
    """The languages as Argos calls them."""

    @property
    def model(self) -> Path:
        return self.folder / MODEL

    @property
    def attribution(self) -> Path | None:
        readme = self.folder / "README.md"
        return readme if readme.is_file() else None

    @property
    def age(self) -> tuple[int, ...]:
        """Orders the versions of a package."""
        return tuple(int(part) if part.isdecimal() else 0 for part in self.version.split("."))


def is_package(path: Path) -> bool:
    """Whether a path is one package; else it may be a folder of some."""
    return path.is_file() or is_installed(path)


def is_installed(folder: Path) -> bool:
    """Whether a folder is an unpacked package. Mozilla's folders of models have files of the same name, beside the
    files of the model."""
    return (folder / METADATA).is_file() and not any(
        plain_name(path.name).endswith((".bin", ".npz")) for path in folder.iterdir()
    )


def packages_in(folder: Path) -> list[Path]:
    """The paths of the packages of a folder. Raises ImportRefused where there are none."""
    if not folder.is_dir():
        raise ImportRefused(f"{folder} is no package ({SUFFIX}) and no folder of packages")
    paths = [path for path in sorted(folder.iterdir()) if path.suffix == SUFFIX or is_installed(path)]
    if not paths:
        raise ImportRefused(f"{folder} has no packages: neither files {SUFFIX} nor folders with a {METADATA}")
    return paths


def open_package(path: Path, scratch: Path) -> Package:
    """The package at `path`; a zip is unpacked into the folder `scratch`. Raises ImportRefused."""
    folder = path if path.is_dir() else unpacked(path, scratch)
    metadata = read_object(folder / METADATA)
    kind = str(metadata.get("type") or "")
    if kind not in TRANSLATES:
        raise NoTranslation(f"{path} is a package of the type '{kind}', not for translation")
    codes = [metadata.get(key) for key in ("from_code", "to_code")]
    if not all(isinstance(code, str) and code for code in codes):
        raise ImportRefused(f"{path}: {METADATA} has no from_code and to_code: packages of one pair are read")
    prefix = metadata.get("target_prefix")
    if prefix:
        raise ImportRefused(
            f"{path}: target_prefix is {prefix!r}: translations that begin with a token of the model are not computed"
        )
    own = str(codes[0]), str(codes[1])
    source, target = (CODES.get(code, code) for code in own)
    return Package(path, folder, (source, target), str(metadata.get("package_version") or ""), own)


def unpacked(path: Path, scratch: Path) -> Path:
    """The files of a zip that an import needs, in `scratch`. Raises ImportRefused."""
    try:
        with zipfile.ZipFile(path) as archive:
            for info, name in wanted_parts(archive, path):
                place = scratch / name
                place.parent.mkdir(exist_ok=True)
                with archive.open(info) as part, place.open("wb") as file:
                    shutil.copyfileobj(part, file)  # zipfile reads no more than the size that was checked
    except ImportRefused:
        raise
    except Exception as error:  # zipfile raises errors of every kind for damaged archives
        raise ImportRefused(f"{path} is no package of Argos, or damaged: {error}") from error
    return scratch


def wanted_parts(archive: zipfile.ZipFile, path: Path) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The parts to unpack, and their names below the package's folder. Raises ImportRefused."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > MAX_PARTS:
        raise ImportRefused(f"{path} has {len(infos)} files, more than {MAX_PARTS}: it is no package of Argos")
    roots = [PurePosixPath(info.filename).parent for info in infos if PurePosixPath(info.filename).name == METADATA]
    if not roots:
        raise ImportRefused(f"{path} has no {METADATA}: it is no package of Argos")
    root = min(roots, key=lambda folder: len(folder.parts))
    parts: dict[PurePosixPath, zipfile.ZipInfo] = {}
    for info in infos:
        whole = PurePosixPath(info.filename)
        if not whole.is_relative_to(root):
            continue
        name = whole.relative_to(root)
        is_of_model = len(name.parts) == 2 and name.parts[0] == MODEL
        if ".." in name.parts or not (is_of_model or str(name) in WANTED):
            continue
        if name in parts:
            raise ImportRefused(f"{path} has two files {name}: it is damaged")
        parts[name] = info
    total, most = sum(info.file_size for info in parts.values()), path.stat().st_size * MAX_GROWTH
    if len(parts) > MAX_FILES or total > max(most, MIN_UNPACKED_BYTES):
        raise ImportRefused(f"{path} would unpack to {len(parts)} files of {total:,} bytes: it is no package of Argos")
    if parts[PurePosixPath(METADATA)].file_size > MAX_METADATA_BYTES:
        raise ImportRefused(f"{path}: its {METADATA} is larger than {MAX_METADATA_BYTES:,} bytes")
    for name, info in parts.items():
        yield info, name
