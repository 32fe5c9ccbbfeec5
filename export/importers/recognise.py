"""Which format a path holds."""

from pathlib import Path

from export.importers import ImportRefused
from export.importers.argos.package import METADATA, SUFFIX
from export.importers.json_files import read_object
from export.importers.m2m100.folder import MODEL_TYPE

CONFIG = "config.json"
WEIGHTS = (".npz", ".bin")
WORD_LISTS = ("shared_vocabulary", "source_vocabulary", "source_1_vocabulary")
PACKED = (".zip", ".gz", ".zst", ".tar")


def recognise(path: Path) -> tuple[str, Path]:
    """The format, and the path that its importer takes: of a folder with Marian's own files the weights. Raises
    ImportRefused for what is none."""
    if path.is_file():
        return of_file(path)
    if not path.is_dir():
        raise ImportRefused(f"{path} is no file and no folder")
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
    weights = [name for name in sorted(names) if name.endswith(WEIGHTS) and not name.startswith(("lex", "vocab"))]
    if weights and any("vocab" in name and name.endswith(".spm") for name in names):
        return "firefox", path
    if len(weights) == 1:
        return "marian-nmt", path / weights[0]
    reason = f"several files of weights ({', '.join(weights)}): name one of them" if weights else "none that is known"
    packed = [name for name in sorted(names) if name.endswith(PACKED)]
    reason += f"; {packed[0]} is packed: unpack it first" if packed and not weights else ""
    raise ImportRefused(f"{path}: of the formats that are read it has {reason}; or name the format")


def of_file(path: Path) -> tuple[str, Path]:
    if path.suffix == SUFFIX:
        return "argos", path
    if path.suffix == ".npz" or path.suffix == ".bin":
        if path.name == "model.bin" and any(path.with_name(f"{name}.json").is_file() for name in WORD_LISTS):
            return "ctranslate2", path.parent
        return "marian-nmt", path
    reason = "is packed: unpack it and give its folder" if path.suffix in PACKED else "is of no format that is read"
    raise ImportRefused(f"{path} {reason}")
