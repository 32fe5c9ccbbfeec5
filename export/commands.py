"""`ringmt export` and `ringmt evaluate`."""

import argparse
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from export.artifact_writer import ExportOptions, ShortlistSizes, export_artifact
from export.evaluate import evaluate, translate
from export.manifest import GRAPHS
from model.data.word_sets import read_word_set
from model.evaluation.word_accuracy import WordAccuracy, word_accuracy
from server.artifact.artifact import Artifact
from server.artifact.manifest import read_manifest
from server.backends.load import load_backend
from server.engine.request import SearchOptions

EXAMPLES = Path(__file__).parent / "examples.txt"
NUM_GOLDENS = 8
KINDS = [f"{backend}-{precision}" for backend, precision in GRAPHS]


def graph_kinds(text: str) -> tuple[tuple[str, str], ...]:
    """ "onnx-int8,onnx-fp32" -> (("onnx", "int8"), ("onnx", "fp32")). Raises ValueError that names the choices."""
    kinds = []
    for part in text.split(","):
        if part not in KINDS:
            raise ValueError(f"unknown kind of graphs '{part}': choose among {', '.join(KINDS)}")
        backend, precision = part.split("-")
        kinds.append((backend, precision))
    return tuple(kinds)


def shortlist_sizes(text: str) -> ShortlistSizes:
    """ "1536+128" -> (1536, 128), "off" -> None, "auto". Raises ValueError."""
    if text in ("auto", "off"):
        return "auto" if text == "auto" else None
    frequent, plus, extra = text.partition("+")
    if not (plus and frequent.isdecimal() and extra.isdecimal()):
        raise ValueError(f"a shortlist is written like 1536+128 (frequent and extra words) auto or off, not '{text}'")
    return int(frequent), int(extra)


def lines(path: Path) -> tuple[str, ...]:
    return tuple(line for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


class ExportCommand:
    """Checkpoint to artifact."""

    help = "turn a checkpoint into an artifact that the server loads; refused when the graphs deviate from the model"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("checkpoint", type=Path, help="folder that `ringmt train` wrote")
        parser.add_argument("out", type=Path, help="artifact folder; replaced if it exists")
        parser.add_argument("--name", required=True, help="name under which the model is served, for example en-de")
        parser.add_argument("--source", required=True, help="source language code")
        parser.add_argument("--target", required=True, help="target language code")
        parser.add_argument(
            "--graphs", default="onnx-int8", help=f"comma-separated, among {', '.join(KINDS)} (default onnx-int8)"
        )
        parser.add_argument(
            "--calibration", type=Path, default=EXAMPLES, help="source sentences that set the int8 ranges, one a line"
        )
        parser.add_argument(
            "--shortlist",
            default="auto",
            help="frequent and extra words, like 3072+64, for a checkpoint with a lexicon; auto (default) or off",
        )
        parser.add_argument(
            "--length-penalty", type=float, default=1.0, help="the model's default (choose it on dev data)"
        )
        parser.add_argument(
            "--length-ratio",
            type=float,
            default=1.0,
            help="target pieces per source piece in its translations of long sentences; shorter ones are checked",
        )
        parser.add_argument("--licence", default="not stated", help="licence of the weights, as SPDX or in words")
        parser.add_argument(
            "--attribution", type=Path, help="file that says where the data came from; copied beside the weights"
        )

    def run(self, args: argparse.Namespace) -> int:
        sentences = lines(args.calibration)
        options = ExportOptions(
            name=args.name,
            languages=(args.source, args.target),
            graphs=graph_kinds(args.graphs),
            licence=args.licence,
            length_penalty=args.length_penalty,
            length_ratio=args.length_ratio,
            attribution=args.attribution,
            shortlist=shortlist_sizes(args.shortlist),
            calibration=sentences,
            examples=sentences[:NUM_GOLDENS],
        )
        differences = export_artifact(args.checkpoint, args.out, options)
        print_written(args.out, differences)
        return 0


def print_written(out: Path, differences: Mapping[str, float]) -> None:
    """Print the differences between an artifact's graphs and the model, its alignment head and its size."""
    for kind, difference in differences.items():
        print(f"{kind:22} largest difference to the model: {difference:.2g} nats")
    chosen = read_manifest(out).alignment
    if chosen is not None:
        heads = "all heads" if chosen.head is None else f"head {chosen.head}"
        step = "reads" if chosen.reads else "produces"
        measured = (
            f"{chosen.share:.1%} of {chosen.links} sure links" if chosen.links else "too few sure links to choose by"
        )
        print(f"{'alignment':22} layer {chosen.layer}, {heads}, at the step that {step} a piece: {measured}")
    size = sum(path.stat().st_size for path in out.iterdir())
    print(f"{out}: {size / 2**20:.1f} MiB")


class EvaluateCommand:
    """BLEU and chrF of an artifact."""

    help = "translate test sets with an artifact and score them (sacreBLEU: BLEU and chrF)"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("artifact", type=Path, help="artifact folder")
        parser.add_argument("--data", type=Path, help="folder with the test sets, NAME.LANGUAGE.gz")
        parser.add_argument("--sets", help="comma-separated names below the data folder, for example test/news")
        parser.add_argument(
            "--words", type=Path, help="a file of single words and phrases, like model/synthetic/words/en-de.tsv"
        )
        parser.add_argument("--slips", action="store_true", help="with one typing error in every sentence of the sets")
        parser.add_argument("--graphs", default="onnx-int8", help=f"one of {', '.join(KINDS)} (default onnx-int8)")
        parser.add_argument("--beam", type=int, default=4, help="beam size (default 4)")
        parser.add_argument("--shortlist", default="auto", choices=("auto", "on", "off"), help="default auto")
        parser.add_argument("--length-penalty", type=float, help="default: the artifact's")
        parser.add_argument("--json", type=Path, help="write the scores here as well")

    def run(self, args: argparse.Namespace) -> int:
        if bool(args.sets) != bool(args.data) or not (args.sets or args.words):
            raise ValueError("name what to translate: --data FOLDER with --sets NAMES, or --words FILE, or both")
        artifact = Artifact.load(args.artifact)
        kinds = graph_kinds(args.graphs)
        if len(kinds) != 1:
            raise ValueError(
                f"--graphs takes one of {', '.join(KINDS)} here, not '{args.graphs}': run it once for each"
            )
        ((kind, precision),) = kinds
        backend = load_backend(artifact, kind, precision, args.shortlist)
        penalty = artifact.manifest.length_penalty if args.length_penalty is None else args.length_penalty
        options = SearchOptions(
            beam_size=args.beam, length_penalty=penalty, max_length=artifact.manifest.max_target_length
        )
        if args.words:
            items = read_word_set(args.words)
            print_words(word_accuracy(items, lambda sources: translate(artifact, sources, backend, options)))
        if not args.sets:
            return 0
        scores = evaluate(artifact, args.data, args.sets.split(","), backend, options, args.slips)
        print("| set | sentences | BLEU | chrF | brevity penalty | nats/token |\n|---|---|---|---|---|---|")
        for row in scores:
            nll = "-" if row.nll is None else f"{row.nll:.3f}"
            quality = f"{row.bleu:.1f} | {row.chrf:.1f} | {row.brevity_penalty:.3f}"
            print(f"| {row.name} | {row.sentences:,} | {quality} | {nll} |")
        print(f"\n{scores[0].bleu_signature}\n{scores[0].chrf_signature}")
        if args.json:
            args.json.write_text(
                json.dumps([dataclasses.asdict(row) for row in scores], indent=2) + "\n", encoding="utf-8"
            )
        return 0


def print_words(results: Sequence[WordAccuracy]) -> None:
    print("| words | items | right |\n|---|---|---|")
    for result in results:
        print(f"| {result.kind} | {result.items} | {result.right} ({result.right / result.items:.0%}) |")
    for result in results:
        for source, translation in result.mistakes:
            print(f"{result.kind}: {source} -> {translation}")


export_command = ExportCommand()
evaluate_command = EvaluateCommand()
