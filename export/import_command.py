"""`ringmt import`."""

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from export.artifact_writer import Content, ExportOptions, write_artifact
from export.commands import EXAMPLES, KINDS, NUM_GOLDENS, graph_kinds, lines, print_written
from export.importers import ImportRefused
from export.importers.argos.package import NoTranslation, Package, is_package, open_package, packages_in
from export.importers.check import compare
from export.importers.formats import FORMATS
from export.importers.language_tokens import pair_of
from export.importers.local_path import local_path, whole_folder
from export.importers.recognise import recognise, weights_in
from export.importers.shortlists import guarded
from export.importers.subwords import TOKENIZERS
from export.parity import ParityError
from export.replaced import unfinished
from export.shortlists.artifact import add_shortlist
from export.shortlists.command import confidences
from model.config import ConfigError
from server.artifact.artifact import Artifact
from server.artifact.language_tokens import MANY, LanguageTokens

MAX_LENGTH = 256
AUTO = "auto"
CODES_OPTIONS = ("tokenizer", "subword_vocabulary", "subword_threshold")
"""Of models whose words are cut by codes of subword-nmt."""


class ImportCommand:
    """Imported checkpoint to artifact."""

    help = (
        "turn a checkpoint that others trained into an artifact that the server loads; marian: MarianMT or OPUS-MT "
        "from transformers; m2m100: M2M-100 or NLLB-200 from there; marian-nmt: Marian's own .npz or .bin; firefox: a "
        "folder of Firefox or Bergamot, or a profile; ctranslate2: a converter's folder; argos: a package of Argos "
        "Translate or LibreTranslate, or a folder of them"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        _add_checkpoint(parser)
        _add_artifact(parser)
        parser.add_argument(
            "--check", type=Path, metavar="TEXT", help="translate these sentences, one a line, and compare (--against)"
        )
        parser.add_argument(
            "--against", type=Path, help="translations of --check by the model's own engine, line by line"
        )

    def run(self, args: argparse.Namespace) -> int:
        if (args.check is None) != (args.against is None):
            raise ImportRefused(
                "--check and --against go together: sentences, and their translations by another engine"
            )
        with tempfile.TemporaryDirectory() as scratch:
            args.path = local_path(args.path, Path(scratch))
            if args.path.is_dir():
                args.path = whole_folder(args.path, Path(scratch))
            if args.format == AUTO:
                args.format, args.path = recognise(args.path)
                print(f"{args.path} is read as {args.format}")
            elif args.format == "marian-nmt" and args.path.is_dir():
                args.path = weights_in(args.path)
            if args.format == "argos" and not is_package(args.path):
                return import_packages(args)
            convert(args)
        return 0


def _add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """Arguments that say how the checkpoint is read."""
    parser.add_argument("format", choices=(*FORMATS, AUTO), help=f"what the path holds; {AUTO}: find out")
    parser.add_argument(
        "path",
        nargs="+",
        metavar="PATH|ADDRESS",
        help="a path, also of a packed file (.zip, .tar.gz, .gz, .zst, ...), or addresses "
        "https://.../FILE#sha256=HEX of one such file or of all files of a model; marian: folder with "
        "config.json, weights, source.spm, target.spm, vocab.json; marian-nmt: model.npz or .bin beside its "
        "vocabularies, or their folder; m2m100: folder with config.json, weights, sentencepiece.bpe.model and "
        "the tokenizer's files; firefox: folder with model*.bin, vocab*.spm and lex*.bin, or a profile of "
        "Firefox; ctranslate2: folder with model.bin, vocabularies, source.spm and target.spm; argos: "
        "FILE.argosmodel, or a folder of packages, each of which becomes an artifact SOURCE-TARGET in --out",
    )
    parser.add_argument("--source", help="source language code (default: the checkpoint's)")
    parser.add_argument("--target", help="target language code (default: the checkpoint's)")
    parser.add_argument(
        "--languages",
        help="for a model of many languages: those that it serves, such as de,fr,en (default: all); with "
        "--source or --target, the only one of that side",
    )
    parser.add_argument(
        "--language-token",
        help="for a Marian model of several targets: the token before every source, like deu, or none (default: "
        "that of --target; without --target every request names its own)",
    )
    parser.add_argument(
        "--vocabulary",
        type=Path,
        nargs="+",
        help="marian-nmt: vocabularies of source and target, .spm or .yml; ctranslate2: their SentencePiece "
        "models, or codes of subword-nmt",
    )
    parser.add_argument(
        "--tokenizer",
        choices=[*TOKENIZERS],
        help="for codes of subword-nmt: what cut the text into words before (default: argos for argos, opus-mt for "
        "source.bpe and target.bpe, fairseq for bpecodes)",
    )
    parser.add_argument(
        "--subword-vocabulary",
        type=Path,
        nargs="+",
        help="for codes of subword-nmt that were applied with --vocabulary: the same files, of source and target",
    )
    parser.add_argument(
        "--subword-threshold", type=int, default=0, help="the --vocabulary-threshold with them (default: none)"
    )


def _add_artifact(parser: argparse.ArgumentParser) -> None:
    """Arguments that say what is written."""
    parser.add_argument("--out", type=Path, required=True, help="artifact folder; replaced if it exists")
    parser.add_argument(
        "--name",
        help="name under which the model is served (default SOURCE-TARGET; of many languages that of --out)",
    )
    parser.add_argument(
        "--min-confidence",
        default="0,0",
        help="for a model with a shortlist of its own: a step scores all words where the best listed word has a "
        "smaller probability: in sentences whose pieces it lists translations of, and in others; 0 never, 1 always "
        "(default %(default)s, as the model's own engine)",
    )
    parser.add_argument("--ngram", type=int, help="order N of the decoder (default: full attention, as trained)")
    parser.add_argument(
        "--max-length", type=int, default=MAX_LENGTH, help=f"most pieces of a sentence (default {MAX_LENGTH})"
    )
    parser.add_argument(
        "--graphs",
        default="onnx-int8,onnx-fp32",
        help=f"comma-separated, among {', '.join(KINDS)} (default onnx-int8,onnx-fp32)",
    )
    parser.add_argument(
        "--calibration", type=Path, help="source sentences that set the int8 ranges, one a line (default: English)"
    )
    parser.add_argument("--licence", default="not stated", help="licence of the weights, as SPDX or in words")
    parser.add_argument(
        "--attribution", type=Path, help="file that says where the model came from; copied beside the weights"
    )


def import_packages(args: argparse.Namespace) -> int:
    """Convert all packages of a folder, the newest of each pair; returns 1 where one could not be. Raises ImportRefused
    for a folder without packages."""
    for option in ("name", "source", "target", "languages", "check", "vocabulary", "language_token", *CODES_OPTIONS):
        if getattr(args, option) not in (None, 0):
            raise ImportRefused(f"--{option.replace('_', '-')} is for one package; {args.path} is a folder of some")
    newest, failed = dict[tuple[str, str], Package](), 0
    for path in packages_in(args.path):
        try:
            with tempfile.TemporaryDirectory() as scratch:
                package = open_package(path, Path(scratch))
        except ImportRefused as error:
            failed += not isinstance(error, NoTranslation)
            print(f"ringmt: left out: {error}", file=sys.stderr)
            continue
        other = newest.get(package.languages)
        if other is not None:
            older = other if package.age > other.age else package
            print(
                f"ringmt: left out: {older.path}, for whose languages there is a newer package, or one as new",
                file=sys.stderr,
            )
        if other is None or package.age > other.age:
            newest[package.languages] = package
    for (source, target), package in newest.items():
        of_package = argparse.Namespace(**{**vars(args), "path": package.path, "out": args.out / f"{source}-{target}"})
        try:
            convert(of_package)
        except (ImportRefused, ConfigError, ParityError, FileExistsError) as error:
            failed += 1
            print(f"ringmt: left out: {error}", file=sys.stderr)
    return int(failed > 0)


def convert(args: argparse.Namespace) -> None:
    """Write the artifact of one path. Raises ImportRefused, ConfigError and ParityError."""
    with tempfile.TemporaryDirectory() as scratch:
        opened = FORMATS[args.format](args, Path(scratch))
        for option in CODES_OPTIONS:
            if getattr(args, option) and not opened.has_codes:
                name = option.replace("_", "-")
                raise ImportRefused(f"--{name} is for codes of subword-nmt; {args.path} has none")
        source, target = (
            language(args.path, side, getattr(args, side) or known)
            for side, known in zip(("source", "target"), opened.languages, strict=True)
        )
        content = opened.load(target, Path(scratch))
        many = content.languages
        if many is not None:
            source, target = pair_of(many)
        elif args.languages is not None:
            raise ImportRefused(f"{args.path}: --languages is for a model of many languages; this one has one pair")
        sentences = lines(args.calibration or EXAMPLES)
        graphs = graph_kinds(args.graphs)
        read = source if many is None else many.first_pair[0]
        if args.calibration is None and read[:2] != "en" and any(precision == "int8" for _, precision in graphs):
            print(
                f"ringmt: int8 ranges are set by English text; better give sentences of '{read}' by --calibration",
                file=sys.stderr,
            )
        options = ExportOptions(
            name=args.name or (args.out.resolve().name if MANY in (source, target) else f"{source}-{target}"),
            languages=(source, target),
            graphs=graphs,
            licence=args.licence,
            length_penalty=opened.length_penalty,
            attribution=args.attribution or opened.attribution,
            calibration=sentences,
            examples=sentences[:NUM_GOLDENS],
        )
        differences = write_listed(content, args.out, options, confidences(args.min_confidence))
    if content.languages is not None:
        print(described(content.languages, content.origin))
    print_written(args.out, differences)
    if args.check is not None:
        artifact = Artifact.load(args.out)
        for format, precision in graphs:
            if format == "onnx":
                print(compare(artifact, precision, args.check, args.against).report())


def write_listed(
    content: Content, out: Path, options: ExportOptions, min_confidence: tuple[float, float]
) -> dict[str, float]:
    """Write the artifact; with a confidence its list is added to the artifact without one. Raises ParityError."""
    plan = content.shortlist
    if plan is None or not any(min_confidence):
        return write_artifact(content, out, options)
    with unfinished(out) as scratch:
        unlisted = scratch / out.name
        differences = write_artifact(dataclasses.replace(content, shortlist=None), unlisted, options)
        listed = add_shortlist(Artifact.load(unlisted), guarded(plan, min_confidence), out)
    return differences | {f"{kind} shortlist": worst for kind, worst in listed.items()}


def described(languages: LanguageTokens, origin: Mapping[str, Any]) -> str:
    """The languages, with the model's own names of those whose code does not say them."""
    names = origin.get("language_tokens", {})
    codes = [f"{code} ({names[code]})" if names.get(code, code) != code else code for code in languages.targets]
    return f"translates between {len(codes)} languages, or into them: {', '.join(codes)}"


def language(path: Path, side: str, known: str | None) -> str:
    """Raises ImportRefused where the language of a side is not known."""
    if not known:
        raise ImportRefused(f"{path} does not say its {side} language: give its code by --{side}")
    return known


import_command = ImportCommand()
