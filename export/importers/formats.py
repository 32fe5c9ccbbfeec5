"""What opens a path of each format that is imported."""

import argparse
import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.artifact_writer import Content
from export.importers import ImportRefused
from export.importers.argos.package import LENGTH_PENALTY, open_package
from export.importers.ctranslate2.folder import ModelFolder, open_folder
from export.importers.ctranslate2.load import load_ctranslate2
from export.importers.ctranslate2.vocabulary import numbered
from export.importers.firefox_profile.attachments import is_profile
from export.importers.firefox_profile.models import chosen, write_files
from export.importers.language_tokens import Wanted, many_languages, pair_of, several_targets
from export.importers.m2m100.folder import M2M100Folder
from export.importers.m2m100.load import load_m2m100
from export.importers.marian import MarianFolder, load_marian
from export.importers.marian_nmt.files import MarianFiles, find_beside, find_firefox
from export.importers.marian_nmt.load import load_marian_nmt, source_words
from export.importers.subwords import ARGOS, Cutting, moses_language
from server.artifact.language_tokens import LanguageTokens


@dataclass(frozen=True)
class Import:
    """What was found at a path. `languages`: of source and target, where they are known, MANY for a side of several.
    `load` makes the artifact's content from the target language and a folder for its vocabularies. `attribution`: where
    the model came from. `has_codes`: whether codes of subword-nmt cut a side's text."""

    languages: tuple[str | None, str | None]
    length_penalty: float
    load: Callable[[str, Path], Content]
    attribution: Path | None = None
    has_codes: bool = False


def open_transformers(args: argparse.Namespace, scratch: Path) -> Import:
    folder = MarianFolder.open(args.path)
    known = (folder.language("source"), folder.language("target"))
    languages = several_targets(folder.vocabularies()[0].ids, known[0], wanted_of(args), args.path)

    def load(target: str, scratch: Path) -> Content:
        return load_marian(folder, target, scratch, args.ngram, args.max_length, args.language_token, languages)

    return Import(sides(known, languages), float(folder.generation.get("length_penalty", 1.0)), load)


def open_m2m100(args: argparse.Namespace, scratch: Path) -> Import:
    refuse_language_token(args)
    folder = M2M100Folder.open(args.path)
    languages = many_languages(folder.language_tokens(folder.words()), wanted_of(args), args.path)

    def load(target: str, scratch: Path) -> Content:
        return load_m2m100(folder, languages, scratch, args.ngram, args.max_length)

    return Import(pair_of(languages), float(folder.generation.get("length_penalty", 1.0)), load)


def wanted_of(args: argparse.Namespace) -> Wanted:
    return Wanted(args.source, args.target, args.languages, args.language_token)


def refuse_language_token(args: argparse.Namespace) -> None:
    """Raise ImportRefused for --language-token."""
    if args.language_token is not None:
        raise ImportRefused("--language-token is for Marian's models; here --source, --target and --languages choose")


def sides(known: tuple[str | None, str | None], languages: LanguageTokens | None) -> tuple[str | None, str | None]:
    """The languages that are known, but MANY where a model has several targets."""
    return known if languages is None else (known[0], pair_of(languages)[1])


def open_firefox(args: argparse.Namespace, scratch: Path) -> Import:
    if not is_profile(args.path):
        return of_files(find_firefox(args.path), args)
    model = chosen(args.path, args.source, args.target)
    write_files(model, scratch / "profile")
    return of_files(dataclasses.replace(find_firefox(scratch / "profile"), languages=model.languages), args)


def open_marian_nmt(args: argparse.Namespace, scratch: Path) -> Import:
    return of_files(find_beside(args.path, args.vocabulary or (), cutting_of(args)), args)


def of_files(files: MarianFiles, args: argparse.Namespace) -> Import:
    if files.ignored:
        print(f"ringmt: of the model's own configuration not used: {', '.join(files.ignored)}", file=sys.stderr)

    languages = several_targets(source_words(files), files.languages[0], wanted_of(args), files.model)
    refuse_several(languages, files.has_codes, files.model)
    source = args.source or files.languages[0] or ""

    def load(target: str, scratch: Path) -> Content:
        options = (args.ngram, args.max_length, args.language_token, languages, source)
        return load_marian_nmt(files, target, scratch, *options)

    return Import(sides(files.languages, languages), files.length_penalty, load, has_codes=files.has_codes)


def open_ctranslate2(args: argparse.Namespace, scratch: Path) -> Import:
    called = [None if code is None else moses_language(code) for code in (args.source, args.target)]
    folder = open_folder(args.path, args.vocabulary or (), None, cutting_of(args), (called[0], called[1]))
    if folder.many_tokens and not folder.has_codes:
        refuse_language_token(args)
        languages: LanguageTokens | None = many_languages(folder.many_tokens, wanted_of(args), args.path)
        assert languages is not None
        return Import(pair_of(languages), 1.0, loader(folder, args, languages))
    languages = several_targets(numbered(folder.source), None, wanted_of(args), args.path)
    refuse_several(languages, folder.has_codes, args.path)
    return Import(sides((None, None), languages), 1.0, loader(folder, args, languages), has_codes=folder.has_codes)


def open_argos(args: argparse.Namespace, scratch: Path) -> Import:
    package = open_package(args.path, scratch)
    folder = open_folder(package.model, args.vocabulary or (), package.folder, cutting_of(args, ARGOS), package.codes)
    origin = {"imported": "argos", "name": args.path.name, "version": package.version}
    load = loader(folder, args, None, origin)
    return Import(package.languages, LENGTH_PENALTY, load, package.attribution, folder.has_codes)


def cutting_of(args: argparse.Namespace, default: str | None = None) -> Cutting:
    return Cutting(args.tokenizer, default, tuple(args.subword_vocabulary or ()), args.subword_threshold)


def refuse_several(languages: LanguageTokens | None, has_codes: bool, where: Path) -> None:
    """Raise ImportRefused for a model of several targets whose text is joined by rules of one language."""
    if languages is not None and has_codes:
        raise ImportRefused(
            f"{where} has several targets, and words that are joined by the rules of one language: choose one by "
            "--target"
        )


def loader(
    folder: ModelFolder,
    args: argparse.Namespace,
    languages: LanguageTokens | None,
    origin: dict[str, Any] | None = None,
) -> Callable[[str, Path], Content]:
    def load(target: str, scratch: Path) -> Content:
        options = (args.ngram, args.max_length, args.language_token, languages, origin)
        return load_ctranslate2(folder, target, scratch, *options)

    return load


FORMATS: dict[str, Callable[[argparse.Namespace, Path], Import]] = {
    "marian": open_transformers,
    "m2m100": open_m2m100,
    "marian-nmt": open_marian_nmt,
    "firefox": open_firefox,
    "ctranslate2": open_ctranslate2,
    "argos": open_argos,
}
"""Format -> what opens a path of it; the folder is for files that have to be unpacked."""
