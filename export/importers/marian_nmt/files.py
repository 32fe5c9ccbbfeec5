"""The files of a Marian model: in a folder as Firefox, Bergamot and translateLocally keep them, or beside a file of
weights, as OPUS-MT's zips have them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from export.importers import ImportRefused
from export.importers.marian_nmt.vocabulary import YML
from export.importers.subwords import NOTHING_SAID, Codes, Cutting, Segmenter, codes_of
from export.importers.unfinished import partial_hint

PACKED = (".gz", ".zst", ".zip")
LANGUAGES = re.compile(r"\.(?!(?:base|best|main|tiny)\.)([a-z]{2})([a-z]{2})\.")
"""As in model.ende.intgemm.alphas.bin and lex.50.50.deen.s2t.bin, and not the size of a model."""
_FILE_OF_MODEL = re.compile(r"\.(?:bin|npz|spm)(?:\.gz|\.zst)?$")
TRUECASER = re.compile(r"\.tcmodel$|^truecase-model")
"""Models of Moses' truecase.perl, in the oldest zips of OPUS-MT."""
SPM = ("source.spm", "target.spm")
"""What cuts the text of vocabularies that are only lists."""


@dataclass(frozen=True)
class MarianFiles:
    """`segmenters`: SentencePiece models or codes of vocabularies in `.yml`. `config`: how Marian decodes with the
    model. An `is_guided` model has a head that was trained to align."""

    model: Path
    vocabularies: tuple[Path, Path]
    segmenters: tuple[Segmenter, Segmenter] | None
    shortlist: Path | None
    languages: tuple[str | None, str | None]
    config: Mapping[str, Any]
    is_guided: bool

    @property
    def has_codes(self) -> bool:
        return any(isinstance(each, Codes) for each in self.segmenters or ())

    @property
    def ignored(self) -> tuple[str, ...]:
        """Options of Marian's search that change its translations and are not used here."""
        word_penalty = ["word-penalty"] if self.config.get("word-penalty") else []
        models = ["models"] if len(self.config.get("models") or ()) > 1 else []
        named = ["shortlist"] if self.config.get("shortlist") and self.shortlist is None else []
        return (*word_penalty, *models, *named)

    @property
    def length_penalty(self) -> float:
        """Marian's `normalize`: scores are divided by length ** normalize."""
        return float(self.config.get("normalize", 1.0))


def find_firefox(folder: Path) -> MarianFiles:
    """The files of a folder. Raises ImportRefused where one is missing or there are several."""
    if not folder.is_dir():
        raise ImportRefused(f"{folder} is no folder: give the one with the model, its vocabulary and its shortlist")
    names = [path for path in sorted(folder.iterdir()) if path.is_file()]
    lists = [path for path in names if path.name.startswith("lex") and path.suffix == ".bin"]
    models = [path for path in names if path.suffix in (".bin", ".npz") and not path.name.startswith(("lex", "vocab"))]
    if not models and any(path.suffix in PACKED for path in names):
        raise ImportRefused(f"{folder} has packed files only: unpack them (gunzip, unzstd, unzip) first")
    model = exactly(models, folder, "model (model*.bin)")
    shortlist = exactly(lists, folder, "shortlist (lex*.bin)") if lists else None
    configs = [path for path in names if path.suffix == ".yml" and path.name.startswith(("config", "decoder"))]
    return MarianFiles(
        model,
        spm_of(folder, names),
        None,
        shortlist,
        languages_in(folder),
        read_config(configs[0]) if configs else {},
        True,
    )


def languages_in(folder: Path) -> tuple[str | None, str | None]:
    """Source and target as the names of a folder's files say them, packed ones, too: of the model, or else of its
    shortlist, or of its vocabularies. None where they do not, or not the same."""
    names = sorted(path.name for path in folder.iterdir() if _FILE_OF_MODEL.search(path.name))
    for prefix in ("model", "lex", "vocab", "srcvocab", "trgvocab"):
        found = {
            (match[1], match[2]) for name in names if name.startswith(prefix) and (match := LANGUAGES.search(name))
        }
        if found:
            return found.pop() if len(found) == 1 else (None, None)
    return None, None


def spm_of(folder: Path, names: Sequence[Path]) -> tuple[Path, Path]:
    """The vocabularies of both sides. Raises ImportRefused."""
    of_side = {
        prefix: [path for path in names if path.name.startswith(prefix) and path.suffix == ".spm"]
        for prefix in ("srcvocab", "trgvocab", "vocab")
    }
    if of_side["srcvocab"] or of_side["trgvocab"]:
        source, target = (
            exactly(of_side[prefix], folder, f"vocabulary ({prefix}*.spm)") for prefix in ("srcvocab", "trgvocab")
        )
        return source, target
    shared = exactly(of_side["vocab"], folder, "vocabulary (vocab*.spm, or srcvocab*.spm and trgvocab*.spm)")
    return shared, shared


def exactly(paths: Sequence[Path], folder: Path, what: str) -> Path:
    if len(paths) != 1:
        listed = ", ".join(path.name for path in paths)
        hint = "" if paths else partial_hint(path.name for path in folder.iterdir())
        found = f"several: {listed}" if paths else "none"
        raise ImportRefused(f"{folder} has {found} where one {what} is needed{hint}")
    return paths[0]


def find_beside(model: Path, vocabularies: Sequence[Path] = (), cutting: Cutting = NOTHING_SAID) -> MarianFiles:
    """The files of a model of which the weights are named; `vocabularies` of both sides, or one of both, instead of
    those that its decoder.yml names. `cutting`: of codes. Raises ImportRefused."""
    if not model.is_file():
        raise ImportRefused(f"{model} is no file: give the weights, model.npz or model.bin")
    folder = model.parent
    truecasers = sorted(path.name for path in folder.iterdir() if TRUECASER.search(path.name))
    if truecasers:
        raise ImportRefused(f"{folder / truecasers[0]}: text is truecased before it is cut, which RingMT does not do")
    configs = [folder / f"{model.name}.decoder.yml", folder / "decoder.yml"]
    config = next((read_config(path) for path in configs if path.is_file()), {})
    named = list(vocabularies) or [beside(folder, name) for name in config.get("vocabs") or ()]
    if not named:
        named = list(spm_of(folder, sorted(folder.iterdir())))
    if len(named) > 2:
        raise ImportRefused(f"{model} has {len(named)} vocabularies: models of several sources are not computed")
    for path in named:
        if not path.is_file():
            raise ImportRefused(f"{path} is missing: give the vocabularies of source and target by --vocabulary")
    both = (named[0], named[-1])
    listed = [path for path in both if path.suffix in YML]
    found = [segmenter_of(folder / name, listed[0], side, cutting) for side, name in enumerate(SPM) if listed]
    segmenters = (found[0], found[1]) if found else None
    if listed and len(listed) < 2:
        raise ImportRefused(f"{model}: one vocabulary is a list and the other is not; both must be of one kind")
    shortlist = config.get("shortlist") or []
    lists = beside(folder, shortlist[0]) if isinstance(shortlist, list) and shortlist else None
    if lists is not None and not (lists.is_file() and lists.suffix == ".bin"):
        lists = None
    return MarianFiles(model, both, segmenters, lists, (None, None), config, False)


def segmenter_of(spm: Path, listed: Path, side: int, cutting: Cutting) -> Segmenter:
    """The SentencePiece model of one side, or codes in its place. Raises ImportRefused."""
    codes = spm.with_suffix(".bpe")
    if spm.is_file():
        return spm
    if codes.is_file():
        return codes_of(codes, side, cutting)
    raise ImportRefused(f"{spm} is missing: {listed.name} lists pieces, but does not cut text into them")


def beside(folder: Path, name: object) -> Path:
    """A file that a configuration names, which may have been moved with it."""
    path = folder / str(name)
    return path if path.is_file() else folder / Path(str(name)).name


def read_config(path: Path) -> dict[str, Any]:
    """How Marian decodes with a model. Raises ImportRefused."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ImportRefused(f"{path} cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise ImportRefused(f"{path} is no configuration")
    return values
