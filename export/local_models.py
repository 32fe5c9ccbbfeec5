"""Models that other programs keep on this machine: Argos Translate and LibreTranslate, translateLocally, Firefox, and
the cache of the Hugging Face Hub. Nothing is downloaded, and nothing is opened but what describes a model."""

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from export.importers import ImportRefused
from export.importers.argos.package import CODES, METADATA
from export.importers.firefox_profile.models import models_in, profiles
from export.importers.json_files import read_object
from export.importers.marian import MarianFolder
from export.importers.marian_nmt.files import languages_in
from export.importers.recognise import recognise
from server.artifact.language_tokens import MANY

MAX_FOLDERS = 1000
"""Folders of one place that are searched, at most."""
MODEL_INFO = "model_info.json"
"""translateLocally's description of a model."""


@dataclass(frozen=True)
class LocalModel:
    """`languages`: of source and target, where the files say them; MANY of a model of many. They choose a model where
    the path holds several (`is_one_of_several`)."""

    format: str
    path: Path
    languages: tuple[str | None, str | None]
    size: int
    is_one_of_several: bool = False

    @property
    def pair(self) -> str:
        return "-".join(code or "?" for code in self.languages)


def places(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Folders in which models may lie. The variables of the environment are those of the programs that keep them."""
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield Path(environment.get("ARGOS_PACKAGES_DIR") or data / "argos-translate" / "packages")
    for name in ("translateLocally", "translateLocally/models"):
        yield data / name
    yield home / "Library" / "Application Support" / "translateLocally"
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    hub = Path(environment.get("HF_HOME") or cache / "huggingface") / "hub"
    hub = Path(environment.get("HF_HUB_CACHE") or hub)
    if hub.is_dir():
        for model in sorted(hub.glob("models--*")):
            yield model / "snapshots"


def find_local_models(environment: Mapping[str, str] | None = None, home: Path | None = None) -> list[LocalModel]:
    """The models that `ringmt import` has a format for, in the order of their places."""
    models: dict[Path, LocalModel] = {}
    environment, home = os.environ if environment is None else environment, home or Path.home()
    for place in places(environment, home):
        if not place.is_dir():
            continue
        for folder in itertools.islice(sorted(each for each in place.iterdir() if each.is_dir()), MAX_FOLDERS):
            try:
                model = described(folder)
            except (ImportRefused, OSError):
                continue  # a folder of something else
            models.setdefault(folder.resolve(), model)
    return [*models.values(), *of_firefox(environment, home)]


def of_firefox(environment: Mapping[str, str], home: Path) -> Iterator[LocalModel]:
    """The models of all profiles that can be read."""
    for profile in profiles(environment, home):
        with contextlib.suppress(ImportRefused, OSError):
            for model in models_in(profile):
                yield LocalModel("firefox", profile, model.languages, model.size, True)


def described(folder: Path) -> LocalModel:
    """The model of a folder. Raises ImportRefused for what is none."""
    format, path = recognise(folder)
    size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    return LocalModel(format, path, languages_of(format, folder), size)


def languages_of(format: str, folder: Path) -> tuple[str | None, str | None]:
    if format == "argos":
        metadata = read_object(folder / METADATA)
        if metadata.get("type") not in (None, "", "translate"):
            raise ImportRefused(f"{folder} is not for translation")
        source, target = (str(metadata.get(key) or "?") for key in ("from_code", "to_code"))
        return CODES.get(source, source), CODES.get(target, target)
    if format == "marian":
        opened = MarianFolder.open(folder)
        return opened.language("source"), opened.language("target")
    if format == "m2m100":
        return MANY, MANY
    if format == "firefox":
        languages = languages_in(folder)
        return languages if any(languages) else languages_of_info(folder)
    return None, None


def languages_of_info(folder: Path) -> tuple[str | None, str | None]:
    """From translateLocally's description, whose source tags are a table of codes and names."""
    if not (folder / MODEL_INFO).is_file():
        return None, None
    values = read_object(folder / MODEL_INFO)
    sources, target = values.get("srcTags"), values.get("trgTag")
    source = next(iter(sources), None) if isinstance(sources, dict) else None
    return source, str(target) if target else None
