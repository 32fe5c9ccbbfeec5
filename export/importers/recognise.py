"""Which format a path holds."""

from collections.abc import Collection
from pathlib import Path

from export.importers import ImportRefused
from export.importers.archives import GZIP, TAR, ZIP, ZSTD, plain_name
from export.importers.argos.package import SUFFIX, is_installed
from export.importers.firefox_profile.attachments import is_profile
from export.importers.hub_cache import snapshot_of
from export.importers.json_files import read_object
from export.importers.m2m100.folder import MODEL_TYPE
from export.importers.marian_nmt.files import read_config
from export.importers.unfinished import is_partial, partial_hint

CONFIG, DECODER = "config.json", "decoder.yml"
WEIGHTS = (".npz", ".bin")
WORD_LISTS = ("shared_vocabulary", "source_vocabulary", "source_1_vocabulary")
PACKED = (ZIP, GZIP, ZSTD, *TAR)


def recognise(path: Path) -> tuple[str, Path]:
    """The format, and the path that its importer takes: of a folder with Marian's own files the weights, of a model in
    the cache of the Hugging Face Hub its newest snapshot. Raises ImportRefused for what is none."""
    if path.is_file():
        return of_file(path)
    if not path.is_dir():
        raise ImportRefused(f"{path} is no file and no folder")
    if is_profile(path):
        return "firefox", path
    path = snapshot_of(path)
    entries = list(path.iterdir())
    names = {each.name for each in entries}
    if is_installed(path) or any(each.suffix == SUFFIX or (each.is_dir() and is_installed(each)) for each in entries):
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
    plain = {plain_name(name) for name in names}
    if _weights(plain) and any("vocab" in name and name.endswith(".spm") for name in plain):
        return "firefox", path
    return "marian-nmt", weights_in(path)


def weights_in(folder: Path) -> Path:
    """The one file of Marian's weights in a folder, or of several the one that its decoder.yml names. Raises
    ImportRefused."""
    names = {each.name for each in folder.iterdir()}
    weights = _weights(names)
    if len(weights) > 1 and (folder / DECODER).is_file():
        named = read_config(folder / DECODER).get("models")
        named = [Path(str(name)).name for name in named] if isinstance(named, list) else []
        weights = named if len(named) == 1 and named[0] in names else weights
    if len(weights) == 1:
        return folder / weights[0]
    reason = f"several files of weights ({', '.join(weights)}): name one of them" if weights else "none that is known"
    packed = [name for name in sorted(names) if name.endswith(PACKED)]
    reason += f"; {packed[0]} is packed: give its path" if packed and not weights else ""
    reason += partial_hint(names)
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
    if is_partial(path.name):
        raise ImportRefused(f"{path} is not downloaded to its end: download it again")
    raise ImportRefused(f"{path} is of no format that is read, nor packed as {', '.join(PACKED)}")
