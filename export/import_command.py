"""`ringmt import`."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from export.artifact_writer import Content, ExportOptions, write_artifact
from export.commands import EXAMPLES, KINDS, NUM_GOLDENS, graph_kinds, lines, print_written
from export.importers import ImportRefused
from export.importers.check import compare
from export.importers.marian import MarianFolder, load_marian
from export.importers.marian_nmt.files import MarianFiles, find_beside, find_firefox
from export.importers.marian_nmt.load import load_marian_nmt
from server.artifact.artifact import Artifact

MAX_LENGTH = 256


@dataclass(frozen=True)
class Import:
    """What was found at a path. `languages`: of source and target, where they are known. `load` makes the artifact's
    content from the target language and a folder for its vocabularies."""

    languages: tuple[str | None, str | None]
    length_penalty: float
    load: Callable[[str, Path], Content]


def open_transformers(args: argparse.Namespace) -> Import:
    folder = MarianFolder.open(args.path)

    def load(target: str, scratch: Path) -> Content:
        return load_marian(folder, target, scratch, args.ngram, args.max_length, args.language_token)

    languages = (folder.language("source"), folder.language("target"))
    return Import(languages, float(folder.generation.get("length_penalty", 1.0)), load)


def open_firefox(args: argparse.Namespace) -> Import:
    return of_files(find_firefox(args.path), args)


def open_marian_nmt(args: argparse.Namespace) -> Import:
    return of_files(find_beside(args.path, args.vocabulary or ()), args)


def of_files(files: MarianFiles, args: argparse.Namespace) -> Import:
    if files.ignored:
        print(f"ringmt: of the model's own configuration not used: {', '.join(files.ignored)}", file=sys.stderr)

    def load(target: str, scratch: Path) -> Content:
        return load_marian_nmt(files, target, scratch, args.ngram, args.max_length, args.language_token)

    return Import(files.languages, files.length_penalty, load)


FORMATS: dict[str, Callable[[argparse.Namespace], Import]] = {
    "marian": open_transformers,
    "marian-nmt": open_marian_nmt,
    "firefox": open_firefox,
}


class ImportCommand:
    """Imported checkpoint to artifact."""

    help = (
        "turn a checkpoint that others trained into an artifact that the server loads; marian: MarianMT or OPUS-MT "
        "from transformers; marian-nmt: Marian's own .npz or .bin; firefox: a folder of Firefox or Bergamot"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("format", choices=FORMATS, help="what the path holds")
        parser.add_argument(
            "path",
            type=Path,
            help="marian: folder with config.json, weights, source.spm, target.spm, vocab.json; marian-nmt: model.npz "
            "or .bin beside its vocabularies; firefox: folder with model*.bin, vocab*.spm and lex*.bin",
        )
        parser.add_argument("--out", type=Path, required=True, help="artifact folder; replaced if it exists")
        parser.add_argument("--source", help="source language code (default: the checkpoint's)")
        parser.add_argument("--target", help="target language code (default: the checkpoint's)")
        parser.add_argument("--name", help="name under which the model is served (default SOURCE-TARGET)")
        parser.add_argument(
            "--language-token",
            help="for a model of several targets: the token before every source, like deu (default: the target's), or "
            "none",
        )
        parser.add_argument(
            "--vocabulary", type=Path, nargs="+", help="marian-nmt: vocabularies of source and target, .spm or .yml"
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
        opened = FORMATS[args.format](args)
        source, target = (
            language(args.path, side, getattr(args, side) or known)
            for side, known in zip(("source", "target"), opened.languages, strict=True)
        )
        sentences = lines(args.calibration or EXAMPLES)
        graphs = graph_kinds(args.graphs)
        if args.calibration is None and source[:2] != "en" and any(precision == "int8" for _, precision in graphs):
            print(
                f"ringmt: int8 ranges are set by English text; better give sentences of '{source}' by --calibration",
                file=sys.stderr,
            )
        options = ExportOptions(
            name=args.name or f"{source}-{target}",
            languages=(source, target),
            graphs=graphs,
            licence=args.licence,
            length_penalty=opened.length_penalty,
            attribution=args.attribution,
            calibration=sentences,
            examples=sentences[:NUM_GOLDENS],
        )
        with tempfile.TemporaryDirectory() as scratch:
            differences = write_artifact(opened.load(target, Path(scratch)), args.out, options)
        print_written(args.out, differences)
        if args.check is not None:
            artifact = Artifact.load(args.out)
            for format, precision in graphs:
                if format == "onnx":
                    print(compare(artifact, precision, args.check, args.against).report())
        return 0


def language(path: Path, side: str, known: str | None) -> str:
    """Raises ImportRefused where the language of a side is not known."""
    if not known:
        raise ImportRefused(f"{path} does not say its {side} language: give its code by --{side}")
    return known


import_command = ImportCommand()
