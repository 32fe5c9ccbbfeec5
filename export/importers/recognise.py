"""Which format a path holds."""

from collections.abc import Collection
from pathlib import Path

from export.importers import ImportRefused
from export.importers.archives import GZIP, TAR, ZIP, ZSTD
from export.importers.argos.package import METADATA, SUFFIX
from export.importers.firefox_profile.attachments import is_profile
from export.importers.json_files import read_object
from export.importers.m2m100.folder import MODEL_TYPE

CONFIG = "config.json"
WEIGHTS = (".npz", ".bin")
WORD_LISTS = ("shared_vocabulary", "source_vocabulary", "source_1_vocabulary")
PACKED = (ZIP, GZIP, ZSTD, *TAR)


def recognise(path: Path) -> tuple[str, Path]:
    """The format, and the path that its importer takes: of a folder with Marian's own files the weights. Raises
    ImportRefused for what is none."""
    if path.is_file():
        return of_file(path)
    if not path.is_dir():
        raise ImportRefused(f"{path} is no file and no folder")
    if is_profile(path):
        return "firefox", path
    names = {each.name for each in path.iterdir()}
    if METADATA in names or any(each.suffix == SUFFIX or (each / METADATA).is_file() for each in path.iterdir()):
        return "argos", path
    if "model.bin" in names and any(f"{name}{end}" in names for name in WORD_LISTS for end in (".json", ".txt")):
        return "ctranslate2", path
    if CONFIG in names:
        kind = read_object(path / CONFIG).get("model_type")
        if kind == "marian":
            return "marian", path
        if kind == MODEL_TYPE:
            return "m2m100", path
        if kind is not None:
            raise ImportRefused(
                f"{path / CONFIG} is of a '{kind}' model; of transformers 'marian' and '{MODEL_TYPE}' are"
            )
    weights = _weights(names)
    if weights and any("vocab" in name and name.endswith(".spm") for name in names):
        return "firefox", path
    return "marian-nmt", weights_in(path)


def weights_in(folder: Path) -> Path:
    """The one file of Marian's weights in a folder. Raises ImportRefused."""
    names = {each.name for each in folder.iterdir()}
    weights = _weights(names)
    if len(weights) == 1:
        return folder / weights[0]
    reason = f"several files of weights ({', '.join(weights)}): name one of them" if weights else "none that is known"
    packed = [name for name in sorted(names) if name.endswith(PACKED)]
    reason += f"; {packed[0]} is packed: give its path" if packed and not weights else ""
    raise ImportRefused(f"{folder}: of the formats that are read it has {reason}; or name the format")


def _weights(names: Collection[str]) -> list[str]:
    return [name for name in sorted(names) if name.endswith(WEIGHTS) and not name.startswith(("lex", "vocab"))]


def of_file(path: Path) -> tuple[str, Path]:
    if path.suffix == SUFFIX:
        return "argos", path
    if path.suffix == ".npz" or path.suffix == ".bin":
        if path.name == "model.bin" and any(path.with_name(f"{name}.json").is_file() for name in WORD_LISTS):
            return "ctranslate2", path.parent
        return "marian-nmt", path
    raise ImportRefused(f"{path} is of no format that is read, nor packed as {', '.join(PACKED)}")
