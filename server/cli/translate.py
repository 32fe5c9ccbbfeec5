"""`ringmt translate`: translates lines, in order and many at a time, or files."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from tqdm import tqdm

from server.artifact.discovery import find_artifacts
from server.artifact.manifest import ArtifactError, Manifest, read_manifest
from server.cli.command import add_setting_flags, settings_of
from server.cli.translate_document import translate_document
from server.cli.translate_files import memory_of, translate_files
from server.documents.errors import Unservable
from server.engine.request import SearchOptions
from server.files.formats.base import FileOptions
from server.files.formats.registry import FORMATS
from server.runtime.setting_fields import SettingsError
from server.settings import SETTINGS, Settings
from server.stores.interface import StoreError
from server.stores.records import Mode
from server.telemetry.metrics import Metrics
from server.translation.offline import translate_lines
from server.translation.pair_translator import in_languages
from server.translation.translator import RequestedOptions, Translator

_NAMES = ("models", "default_beam_size", "context_store", "context_cache_bytes")
_SETTINGS = tuple(setting for setting in SETTINGS if setting.is_engine or setting.name in _NAMES)


def choose_artifact(settings: Settings, source: str | None, target: str | None) -> Translator:
    """Load the first model for the languages. Raises ArtifactError that lists the available pairs if none or several
    pairs match."""
    manifests = {folder: read_manifest(folder) for folder in find_artifacts(settings.models)}
    matching = {folder: pair for folder, manifest in manifests.items() if (pair := pair_of(manifest, source, target))}
    if not matching:
        available = _listed((each.source_language, each.target_language) for each in manifests.values())
        raise ArtifactError(
            f"no model translates {source or 'anything'} to {target or 'anything'}; there is {available}"
        )
    if len(set(matching.values())) > 1:
        raise ArtifactError(f"there are models for {_listed(matching.values())}: say which with --source and --target")
    folder, pair = next(iter(matching.items()))
    return in_languages(Translator.load(folder, settings.engine, Metrics()), *pair)


def pair_of(manifest: Manifest, source: str | None, target: str | None) -> tuple[str, str] | None:
    """The languages of a model that translates from `source` into `target`, None for any; None where it does not, or
    has several such pairs."""
    pairs = [
        (own_source, own_target)
        for own_source in manifest.sources
        if source in (None, own_source)
        for own_target in manifest.targets
        if target in (None, own_target) and manifest.translates(own_source, own_target)
    ]
    return pairs[0] if len(pairs) == 1 else None


def _listed(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{source} to {target}" for source, target in sorted(set(pairs)))


class TranslateCommand:
    """`ringmt translate`."""

    help = (
        "Translate standard input to standard output: one line in, one line out, in the same order. Empty lines, "
        "spaces at the ends and control characters are kept. ringmt translate --target de < book.en > book.de. "
        "Or files, each as one document, beside them: ringmt translate report.docx page.html"
    )

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        parser.add_argument(
            "files",
            nargs="*",
            type=Path,
            metavar="FILE",
            help=f"translate these files instead; report.docx becomes report.de.docx. Formats: {' '.join(FORMATS)}",
        )
        parser.add_argument("--output", type=Path, metavar="FOLDER", help="with FILE: write the translations there")
        parser.add_argument("--source", metavar="LANGUAGE", help="language of the input (needed among several)")
        parser.add_argument("--target", metavar="LANGUAGE", help="language to translate into (likewise)")
        parser.add_argument("--max-length", type=int, metavar="N", help="tokens of a translated sentence at most")
        parser.add_argument(
            "--document",
            type=Path,
            metavar="FILE",
            help="translate this file instead, as one document: with the other sentences as context, by models with "
            "context. With a persistent --context-store, an interrupted run continues where it was",
        )
        parser.add_argument(
            "--mode",
            choices=("offline", "online"),
            help="with --document or files: a sentence sees all others (offline, the default) or those before it",
        )
        parser.add_argument(
            "--columns",
            metavar="COLUMNS",
            help="with .csv and .tsv files: the columns that are translated, by name or number: --columns text,note;"
            " '!id' for all but these",
        )
        parser.add_argument(
            "--keys",
            metavar="KEYS",
            help="with .json files: the keys whose values are translated: --keys 'title,items.*.text'; '!url' for all"
            " but these",
        )
        parser.add_argument(
            "--memory",
            type=Path,
            metavar="FILE",
            help="with files: a .tmx, .csv or .tsv whose translations take the place of texts and sentences with an "
            "equal source",
        )
        parser.add_argument(
            "--formality", choices=("more", "less"), help="address the reader formally or not, from en to de"
        )
        add_setting_flags(parser, _SETTINGS)

    def run(self, args: argparse.Namespace, /) -> int:
        settings = settings_of(args, _SETTINGS)
        if args.max_length is not None and args.max_length < 1:
            raise SettingsError(f"--max-length must be at least 1, not {args.max_length}")
        if args.mode is not None and args.document is None and not args.files:
            raise SettingsError("--mode is for --document FILE, or for files")
        if args.files and args.document is not None:
            raise SettingsError("give files or --document FILE, not both")
        if args.output is not None and not args.files:
            raise SettingsError("--output is for files: ringmt translate FILE... --output FOLDER")
        if (args.columns or args.keys) and not args.files:
            raise SettingsError("--columns and --keys are for files: ringmt translate FILE... --columns text")
        if args.memory is not None and not args.files:
            raise SettingsError("--memory is for files: ringmt translate FILE... --memory project.tmx")
        translator = choose_artifact(settings, args.source, args.target)
        requested = RequestedOptions(
            beam_size=settings.default_beam_size, length_penalty=None, max_length=args.max_length
        )
        if args.formality is not None:
            if not translator.supports_formality:
                raise SettingsError(f"--formality is not for {' to '.join(translator.languages)}")
            requested["formality"] = args.formality
        try:
            if args.files:
                mode: Mode = args.mode or "offline"
                cache_bytes = settings.context_cache_bytes
                chosen = FileOptions(args.columns or "", args.keys or "")
                memory = None if args.memory is None else memory_of(args.memory, translator.languages)
                return translate_files(
                    translator, args.files, args.output, requested, mode, cache_bytes, chosen, memory
                )
            if args.document is None:
                self._translate(translator, translator.options(**requested))
            else:
                self._translate_document(translator, requested, args.document, args.mode or "offline", settings)
        finally:
            translator.stop(timeout=0)
        return 0

    def _translate_document(
        self, translator: Translator, requested: RequestedOptions, path: Path, mode: Mode, settings: Settings
    ) -> None:
        store, cache_bytes = settings.context_store, settings.context_cache_bytes
        try:
            translation = translate_document(translator, path, mode, requested, store, cache_bytes)
        except (StoreError, Unservable) as error:
            raise ValueError(error) from error
        sys.stdout.buffer.write(translation.encode("utf-8", errors="surrogateescape"))
        sys.stdout.flush()

    def _translate(self, translator: Translator, options: SearchOptions) -> None:
        """Bytes that are not UTF-8 are copied. sys.stdin is not used: its lock, held by the reading thread, would keep
        the interpreter from exiting."""
        with (
            open(0, encoding="utf-8", errors="surrogateescape", newline="\n", closefd=False) as lines,
            tqdm(unit=" lines", file=sys.stderr, disable=not sys.stderr.isatty()) as progress,
        ):
            for translation in translate_lines(translator, lines, options):
                sys.stdout.buffer.write(translation.text.encode("utf-8", errors="surrogateescape") + b"\n")
                sys.stdout.flush()
                progress.update()


TRANSLATE = TranslateCommand()
