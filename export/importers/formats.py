"""What opens a path of each format that is imported."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.artifact_writer import Content
from export.importers.argos.package import LENGTH_PENALTY, open_package
from export.importers.ctranslate2.folder import ModelFolder, open_folder
from export.importers.ctranslate2.load import load_ctranslate2
from export.importers.marian import MarianFolder, load_marian
from export.importers.marian_nmt.files import MarianFiles, find_beside, find_firefox
from export.importers.marian_nmt.load import load_marian_nmt


@dataclass(frozen=True)
class Import:
    """What was found at a path. `languages`: of source and target, where they are known. `load` makes the artifact's
    content from the target language and a folder for its vocabularies. `attribution`: where the model came from."""

    languages: tuple[str | None, str | None]
    length_penalty: float
    load: Callable[[str, Path], Content]
    attribution: Path | None = None


def open_transformers(args: argparse.Namespace, scratch: Path) -> Import:
    folder = MarianFolder.open(args.path)

    def load(target: str, scratch: Path) -> Content:
        return load_marian(folder, target, scratch, args.ngram, args.max_length, args.language_token)

    languages = (folder.language("source"), folder.language("target"))
    return Import(languages, float(folder.generation.get("length_penalty", 1.0)), load)


def open_firefox(args: argparse.Namespace, scratch: Path) -> Import:
    return of_files(find_firefox(args.path), args)


def open_marian_nmt(args: argparse.Namespace, scratch: Path) -> Import:
    return of_files(find_beside(args.path, args.vocabulary or ()), args)


def of_files(files: MarianFiles, args: argparse.Namespace) -> Import:
    if files.ignored:
        print(f"ringmt: of the model's own configuration not used: {', '.join(files.ignored)}", file=sys.stderr)

    def load(target: str, scratch: Path) -> Content:
        return load_marian_nmt(files, target, scratch, args.ngram, args.max_length, args.language_token)

    return Import(files.languages, files.length_penalty, load)


def open_ctranslate2(args: argparse.Namespace, scratch: Path) -> Import:
    folder = open_folder(args.path, args.vocabulary or ())
    return Import((None, None), 1.0, loader(folder, args))


def open_argos(args: argparse.Namespace, scratch: Path) -> Import:
    package = open_package(args.path, scratch)
    folder = open_folder(package.model, args.vocabulary or (), package.folder)
    origin = {"imported": "argos", "name": args.path.name, "version": package.version}
    return Import(package.languages, LENGTH_PENALTY, loader(folder, args, origin), package.attribution)


def loader(
    folder: ModelFolder, args: argparse.Namespace, origin: dict[str, Any] | None = None
) -> Callable[[str, Path], Content]:
    def load(target: str, scratch: Path) -> Content:
        return load_ctranslate2(folder, target, scratch, args.ngram, args.max_length, args.language_token, origin)

    return load


FORMATS: dict[str, Callable[[argparse.Namespace, Path], Import]] = {
    "marian": open_transformers,
    "marian-nmt": open_marian_nmt,
    "firefox": open_firefox,
    "ctranslate2": open_ctranslate2,
    "argos": open_argos,
}
"""Format -> what opens a path of it; the folder is for files that have to be unpacked."""
