"""`ringmt bench`."""

import argparse
import sys
from pathlib import Path

from export.commands import EXAMPLES, lines
from loadtest.bench.arrivals_bench import arrival_rows
from loadtest.bench.device_bench import DevicePlan, device_rows
from loadtest.bench.documents_bench import APPENDED, document_rows
from loadtest.bench.engine_bench import EnginePlan, engine_rows
from loadtest.bench.figure import draw, read_rows
from loadtest.bench.firefox_http_bench import firefox_http_rows
from loadtest.bench.http_bench import http_rows, sentences
from loadtest.bench.lengths_bench import length_rows
from loadtest.bench.libretranslate_peer import version_of
from loadtest.bench.limit_bench import limit_rows
from loadtest.bench.listeners_bench import listener_rows
from loadtest.bench.load_bench import LoadPlan, load_rows
from loadtest.bench.load_figure import draw_load
from loadtest.bench.long_document_bench import long_document_rows
from loadtest.bench.notes import note_of
from loadtest.bench.overhead_bench import overhead_rows
from loadtest.bench.processes_bench import process_rows
from loadtest.bench.report import Row, environment, find_regressions, markdown, write_json
from loadtest.bench.scaling_bench import scaling_rows
from loadtest.bench.shapes import SHAPES
from loadtest.bench.stores_bench import store_rows
from loadtest.bench.variants_bench import variant_rows
from loadtest.open_loop import SENTENCES
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY
from server.settings import BUNDLED_MODELS

DOCUMENT_KINDS = {
    "documents": "10,100,500,1000",
    "long-document": "10000",
    "stores": "1000,100000",
    "listeners": "1,1000",
}
"""Their default sizes."""
SIZES_HELP = (
    "documents, long-document: sentences (default 10,100,500,1000; 10000); stores: documents (default 1000,100000); "
    "listeners: clients (default 1,1000)"
)


def numbers(text: str) -> tuple[int, ...]:
    """ "1,8,32" -> (1, 8, 32). Raises ValueError."""
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise ValueError(f"numbers are written like 1,8,32, not '{text}'")
    return tuple(int(part) for part in text.split(","))


def one_number(text: str) -> int:
    """Raises ValueError for several."""
    (number, *others) = numbers(text)
    if others:
        raise ValueError(f"one number is needed here, not '{text}'")
    return number


class BenchCommand:
    """Speed of the engine, alone or beside CTranslate2."""

    help = "time the engine, alone or beside CTranslate2, on this machine"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        others = (
            "lengths",
            "http",
            "load",
            "arrivals",
            "processes",
            "scaling",
            "variants",
            "overhead",
            "limit",
            "device",
            "figure",
        )
        kinds = ("engine", *others, *DOCUMENT_KINDS)
        parser.add_argument("what", nargs="?", default="engine", choices=kinds, help="default: engine")
        parser.add_argument(
            "--checkpoint", type=Path, help="http, load, arrivals: the checkpoint that both servers serve"
        )
        parser.add_argument(
            "--artifact",
            type=Path,
            help="http, load, arrivals: the artifact of that checkpoint; documents: with context",
        )
        parser.add_argument("--sizes", help=SIZES_HELP)
        parser.add_argument(
            "--text", type=Path, help="documents, load, arrivals: a sentence a line (default: a few examples)"
        )
        parser.add_argument(
            "--peer",
            choices=("ctranslate2", "transformers", "fxtranslate", "libretranslate"),
            help="time it in the same run; load: ctranslate2 (default), or libretranslate through /translate; http: "
            "ctranslate2 (default), or fxtranslate with a shape firefox-...",
        )
        parser.add_argument(
            "--libretranslate-python",
            type=Path,
            help="load: the python of an environment with libretranslate, which stays a program of its own",
        )
        parser.add_argument("--shape", default="small", choices=tuple(SHAPES), help="model (default small)")
        parser.add_argument(
            "--precision",
            default="int8",
            choices=("int8", "fp32", "fp16", "bf16"),
            help="default int8; device: no int8",
        )
        parser.add_argument("--device", default="cpu", help="device: of PyTorch, cpu (default), cuda, cuda:1, mps")
        parser.add_argument("--beam", default="4", help="beam size (default 4); engine, device: comma-separated")
        parser.add_argument("--batch", default="1,8,32", help="sentences per call, comma-separated (default 1,8,32)")
        parser.add_argument(
            "--clients", default="64", help="http, processes: clients at once, comma-separated (default 64)"
        )
        parser.add_argument(
            "--processes", default="2", help="processes: of our server, comma-separated, beside one (default 2)"
        )
        parser.add_argument("--from", dest="sources", type=Path, nargs="+", help="figure: files written with --json")
        parser.add_argument("--picture", type=Path, help="figure, load: where the picture goes (PNG)")
        parser.add_argument("--rates", help="load, arrivals: requests a second, comma-separated (default: 5 to 150)")
        parser.add_argument(
            "--seconds", type=float, default=30.0, help="load, arrivals: of every rate and round (default 30)"
        )
        parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default 7)")
        parser.add_argument(
            "--quick",
            action="store_true",
            help="three rounds, of batch 8 only and without full attention for the engine",
        )
        parser.add_argument("--json", type=Path, help="write environment and rows here as well")
        parser.add_argument(
            "--processor-time",
            action="store_true",
            help="engine: tokens per second of processor time, for a machine that others use",
        )
        parser.add_argument(
            "--intra-threads",
            default="auto",
            help="engine: threads that compute a step while one engine works, as of the server",
        )
        parser.add_argument(
            "--random-models", type=Path, help="engine: a folder for the random models, which the next run finds there"
        )
        parser.add_argument("--against", type=Path, help="fail if a ratio is a quarter below the one in this JSON file")

    def run(self, args: argparse.Namespace) -> int:
        if args.what == "figure":
            if not args.sources or args.picture is None:
                raise ValueError("bench figure needs --from FILES and --picture FILE")
            draw(read_rows(args.sources), args.picture)
            return 0
        measured_on = environment()
        rows = self._rows(args)
        print(f"{measured_on['cpu']}, {measured_on['cores']} cores, load before {measured_on['load_before']}\n")
        print(markdown(rows, "products alone" if args.what == "limit" else args.peer or "peer"))
        print(f"\n{note_of(args.what, args.peer)}")
        if args.json:
            write_json(args.json, measured_on, rows)
        regressions = find_regressions(rows, args.against) if args.against else []
        for line in regressions:
            print(line, file=sys.stderr)
        return 1 if regressions else 0

    def _rows(self, args: argparse.Namespace) -> list[Row]:
        rounds = 3 if args.quick else args.rounds
        if args.what == "http" and args.peer == "fxtranslate":
            return firefox_http_rows(args.shape, list(lines(EXAMPLES)), rounds, numbers(args.clients))
        if args.what == "http":
            if args.checkpoint is None or args.artifact is None:
                raise ValueError("bench http needs --checkpoint and --artifact of the same model")
            clients = numbers(args.clients)
            return http_rows(args.checkpoint, args.artifact, list(lines(EXAMPLES)), rounds, clients)
        if args.what == "processes":
            artifact = args.artifact or BUNDLED_MODELS / "en-de"
            counts = numbers(args.processes)
            return process_rows(artifact, list(lines(EXAMPLES)), counts, numbers(args.clients), rounds)
        if args.what == "scaling":
            return scaling_rows(args.artifact or BUNDLED_MODELS / "en-de", list(lines(EXAMPLES)), rounds)
        if args.what in ("load", "arrivals"):
            return self._load_rows(args, rounds)
        if args.what in DOCUMENT_KINDS:
            return self._document_rows(args, rounds)
        if args.what == "lengths":
            if args.peer not in (None, "ctranslate2"):
                raise ValueError("bench lengths knows one peer: ctranslate2")
            return length_rows(args.shape, args.precision, rounds, args.peer is not None)
        if args.what == "variants":
            return variant_rows(args.shape, rounds)
        if args.what == "device":
            plan = DevicePlan(
                args.device,
                args.shape,
                args.precision,
                numbers(args.batch),
                numbers(args.beam),
                rounds,
                args.peer is not None,
            )
            return device_rows(plan)
        if args.what == "overhead":
            return overhead_rows(args.shape, args.precision, one_number(args.beam), numbers(args.batch), rounds)
        batches = (8,) if args.quick else numbers(args.batch)
        if args.what == "limit":
            return limit_rows(args.shape, args.precision, one_number(args.beam), batches, rounds)
        beams, models = numbers(args.beam), args.random_models
        shown, clock = not args.quick, args.processor_time
        threads = args.intra_threads
        each = EnginePlan(args.shape, args.precision, beams, batches, rounds, args.peer, shown, models, clock, threads)
        return engine_rows(each)

    def _document_rows(self, args: argparse.Namespace, rounds: int) -> list[Row]:
        sizes = numbers(args.sizes or DOCUMENT_KINDS[args.what])
        if args.what == "stores":
            return store_rows(sizes, rounds)
        if args.what == "listeners":
            return listener_rows(sizes)
        artifact, is_long = args.artifact or BUNDLED_MODELS / "en-de", args.what == "long-document"
        count = max(sizes) + (0 if is_long else APPENDED)
        vocabulary = Vocabulary(artifact / VOCABULARY)
        texts = lines(args.text) if args.text else sentences(list(lines(EXAMPLES)), vocabulary, count)
        if is_long:
            return long_document_rows(artifact, texts[:count])
        return document_rows(artifact, texts[:count], sizes, rounds)

    def _load_rows(self, args: argparse.Namespace, rounds: int) -> list[Row]:
        if args.checkpoint is None or args.artifact is None:
            raise ValueError(f"bench {args.what} needs --checkpoint and --artifact of the same model")
        rates = LoadPlan.rates if args.rates is None else numbers(args.rates)
        texts = list(lines(args.text)) if args.text else [*lines(EXAMPLES), *SENTENCES]
        if args.what == "arrivals":
            return arrival_rows(args.checkpoint, args.artifact, texts, LoadPlan(rates, args.seconds, rounds))
        if (args.peer == "libretranslate") != (args.libretranslate_python is not None):
            raise ValueError("--peer libretranslate and --libretranslate-python PYTHON go together")
        plan, name = LoadPlan(rates, args.seconds, rounds), "CTranslate2 behind FastAPI"
        if args.libretranslate_python is not None:
            name = f"LibreTranslate {version_of(args.libretranslate_python)}"
        rows = load_rows(args.checkpoint, args.artifact, texts, plan, args.libretranslate_python)
        print(f"peer: {name}\n")
        if args.picture is not None:
            draw_load(rows, args.picture, name)
        return rows


bench_command = BenchCommand()
