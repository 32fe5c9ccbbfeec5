"""`ringmt import`."""

import argparse
import sys
import tempfile
from pathlib import Path

from export.artifact_writer import ExportOptions, write_artifact
from export.commands import EXAMPLES, KINDS, NUM_GOLDENS, graph_kinds, lines, print_written
from export.importers import ImportRefused
from export.importers.marian import MarianFolder, load_marian

FORMATS = ("marian",)
MAX_LENGTH = 256


class ImportCommand:
    """Imported checkpoint to artifact."""

    help = "turn a checkpoint that others trained into an artifact that the server loads; marian: MarianMT and OPUS-MT"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("format", choices=FORMATS, help="what the folder holds")
        parser.add_argument(
            "path", type=Path, help="folder with config.json, weights, source.spm, target.spm, vocab.json"
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

    def run(self, args: argparse.Namespace) -> int:
        folder = MarianFolder.open(args.path)
        source, target = (language(folder, side, getattr(args, side)) for side in ("source", "target"))
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
            length_penalty=float(folder.generation.get("length_penalty", 1.0)),
            attribution=args.attribution,
            calibration=sentences,
            examples=sentences[:NUM_GOLDENS],
        )
        with tempfile.TemporaryDirectory() as scratch:
            content = load_marian(folder, target, Path(scratch), args.ngram, args.max_length, args.language_token)
            differences = write_artifact(content, args.out, options)
        print_written(args.out, differences)
        return 0


def language(folder: MarianFolder, side: str, requested: str | None) -> str:
    """The language of a side: `requested`, else the folder's. Raises ImportRefused for neither."""
    result = requested or folder.language(side)
    if not result:
        raise ImportRefused(f"{folder.path} does not say its {side} language: give its code by --{side}")
    return result


import_command = ImportCommand()
