"""The models among the files that Firefox downloaded.

The record of a file names its languages (`fromLang` and `toLang`, since the second collection `sourceLanguage` and
`targetLanguage`), its kind (`fileType`), its `version`, and the SHA-256 of the file as downloaded (`attachment.hash`)
and, where that is packed by Zstandard, of the unpacked one (`decompressedHash`).
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from export.importers import ImportRefused
from export.importers.archives import ZSTD, unpack
from export.importers.firefox_profile.attachments import DATABASE, Attachment, attachments
from export.importers.firefox_profile.structured_clone import Value

VOCABULARIES = (frozenset({"vocab"}), frozenset({"srcvocab", "trgvocab"}))
"""One of both sides, or one of each."""
KINDS = frozenset({"model", "lex"}).union(*VOCABULARIES)
FILE_NAME = re.compile(r"[\w-][\w.-]*", re.ASCII)
PLACES = (
    ".mozilla/firefox",
    ".config/mozilla/firefox",
    "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
    "Library/Application Support/Firefox/Profiles",
)
"""Folders of profiles, in that of a person: Linux (the second since Firefox 147), Snap, Flatpak, macOS."""


@dataclass(frozen=True)
class ProfileModel:
    """A model whose files are all there. `files`: by their kinds."""

    languages: tuple[str, str]
    variant: str
    files: Mapping[str, Attachment]

    @property
    def size(self) -> int:
        return sum(each.file.stat().st_size for each in self.files.values())

    @property
    def age(self) -> tuple[int, ...]:
        return _age(self.files["model"].record)


def profiles(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    """The profiles with a database of Remote Settings."""
    roaming = environment.get("APPDATA")
    for place in (
        *(home / each for each in PLACES),
        *([Path(roaming) / "Mozilla/Firefox/Profiles"] if roaming else ()),
    ):
        yield from sorted(path.parents[len(DATABASE.parts) - 1] for path in place.glob(f"*/{DATABASE}"))


def models_in(profile: Path) -> list[ProfileModel]:
    """The newest model of each pair of languages, in their order. Raises ImportRefused."""
    found: dict[tuple[str, str, str], dict[str, Attachment]] = {}
    for each in attachments(profile):
        record = each.record
        source = _text(record, "sourceLanguage") or _text(record, "fromLang")
        target = _text(record, "targetLanguage") or _text(record, "toLang")
        kind = _text(record, "fileType")
        if not source or not target or kind not in KINDS:
            continue
        variant = _text(record, "architecture") or _text(record, "variant")
        files = found.setdefault((source, target, variant), {})
        if kind not in files or _age(record) > _age(files[kind].record):
            files[kind] = each
    newest: dict[tuple[str, str], ProfileModel] = {}
    for (source, target, variant), files in sorted(found.items()):
        if "model" in files and any(kinds <= files.keys() for kinds in VOCABULARIES):
            model, other = ProfileModel((source, target), variant, files), newest.get((source, target))
            if other is None or model.age > other.age:
                newest[source, target] = model
    return list(newest.values())


def chosen(profile: Path, source: str | None, target: str | None) -> ProfileModel:
    """The model of these languages. Raises ImportRefused for none, or several."""
    models = models_in(profile)
    fit = [
        model
        for model in models
        if all(wanted in (None, code) for wanted, code in zip((source, target), model.languages, strict=True))
    ]
    if len(fit) == 1:
        return fit[0]
    pairs = ", ".join("-".join(model.languages) for model in models)
    if not models:
        raise ImportRefused(
            f"{profile} has no whole translation model: download a language in Firefox (Settings, Translations), or "
            "give the addresses of its files"
        )
    if not fit:
        raise ImportRefused(f"{profile} has no model from {source or 'any'} to {target or 'any'}; it has {pairs}")
    raise ImportRefused(f"{profile} has several models ({pairs}): choose one by --source and --target")


def write_files(model: ProfileModel, folder: Path) -> None:
    """The files in a new folder, by the names that their records give them, unpacked. Raises ImportRefused for files
    that are not those that Firefox was to download."""
    folder.mkdir()
    for kind, attachment in model.files.items():
        if kind in VOCABULARIES[0] and VOCABULARIES[1] <= model.files.keys():
            continue
        record = attachment.record
        details = record.get("attachment")
        details = details if isinstance(details, dict) else {}
        name, packed = _text(record, "name"), _text(details, "filename")
        if not FILE_NAME.fullmatch(name):
            raise ImportRefused(f"{attachment.file} is named {name!r} by its record, which is no name of a file")
        _check(attachment.file, _text(details, "hash"))
        path = folder / name
        if packed.endswith(ZSTD) and not name.endswith(ZSTD):
            shutil.copyfile(attachment.file, folder / f"{name}{ZSTD}")
            unpack(folder / f"{name}{ZSTD}", folder)
            os.unlink(folder / f"{name}{ZSTD}")
            _check(path, _text(record, "decompressedHash"))
        else:
            shutil.copyfile(attachment.file, path)


def _check(path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise ImportRefused(f"{path} has another SHA-256 than its record: let Firefox download the language again")


def _text(record: Mapping[str, Value], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _age(record: Mapping[str, Value]) -> tuple[int, ...]:
    """The numbers of a version like 2.1a3, then the time of its last change."""
    changed = record.get("last_modified")
    numbers = [int(number) for number in re.findall(r"\d+", _text(record, "version"))][:4]
    return (*numbers, *[0] * (4 - len(numbers)), int(changed) if isinstance(changed, (int, float)) else 0)
