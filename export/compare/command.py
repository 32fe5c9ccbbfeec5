"""`ringmt compare`."""

import argparse
import sys
from pathlib import Path

import torch

from export.compare.measurements import MeasurementPlan, collect, measure
from export.compare.page import write_page
from export.compare.report import Comparison, markdown, short_sections
from export.compare.rows import CompareError, find_rows
from export.compare.store import Store

ZOO = Path(__file__).parent.parent.parent / "model" / "zoo"
DEFAULT_REFERENCE = "full"
DEFAULT_SETS = "dev/tatoeba-dev,dev/techdocs-dev,dev/bcontrast-dev"


def names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


class CompareCommand:
    """Trained models side by side."""

    help = "compare trained models, with context and without: log-perplexity, BLEU, chrF, what papers claim of them"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "folders", nargs="*", type=Path, default=[ZOO / "small", ZOO / "language"],
            help="finished runs, or folders that hold some (default: the small models of the zoo)",
        )  # fmt: skip
        parser.add_argument("--data", required=True, type=Path, help="folder with the sets, NAME.LANGUAGE.gz")
        parser.add_argument("--sets", default=DEFAULT_SETS, help=f"sets for log-perplexity (default {DEFAULT_SETS})")
        parser.add_argument("--translate", help="sets for BLEU and chrF (default: those of --sets; '' for none)")
        parser.add_argument("--limit", type=int, help="sentences of a set, in whole documents (default: all)")
        parser.add_argument("--translate-limit", type=int, help="the same for BLEU and chrF (default: --limit)")
        parser.add_argument("--most", type=int, help="cut documents after this many sentences (default: never)")
        parser.add_argument("--beam", type=int, default=4, help="beam size, always 1 in context (default 4)")
        parser.add_argument("--contrastive", default="", help="contrastive sets, NAME.jsonl.gz (default: none)")
        parser.add_argument("--items", type=int, default=300, help="items of each, spread evenly (default 300)")
        parser.add_argument("--int8", action="store_true", help="what int8 costs on --sets, in nats and BLEU")
        parser.add_argument(
            "--reference", help=f"row that others are compared with (default '{DEFAULT_REFERENCE}', where there is one)"
        )
        parser.add_argument("--json", type=Path, help="keep measurements here; what is there is not measured again")
        parser.add_argument("--only", choices=("table",), help="table: measure nothing, show what --json holds")
        parser.add_argument("--out", type=Path, help="folder for README.md, tables.md and plots")
        parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")

    def run(self, args: argparse.Namespace) -> int:
        for name in ("limit", "translate_limit", "most", "items", "beam"):
            if getattr(args, name) is not None and getattr(args, name) < 1:
                raise CompareError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(args, name)}")
        if args.only == "table" and args.json is None:
            raise CompareError("--only table shows what --json FILE holds: say which file")
        torch.set_num_threads(args.threads)
        rows = find_rows(args.folders)
        if args.reference and args.reference not in [row.name for row in rows]:
            raise CompareError(f"no row is called '{args.reference}': {', '.join(row.name for row in rows)}")
        plan, store = plan_of(args), Store(args.json)
        if args.only is None:
            measure(rows, plan, store, say=lambda line: print(line, file=sys.stderr))
        result = Comparison(collect(rows, plan, store), plan, args.reference or DEFAULT_REFERENCE)
        print(markdown(short_sections(result)))
        if args.out:
            write_page(args.out, result)
        return 0


def plan_of(args: argparse.Namespace) -> MeasurementPlan:
    sets = names(args.sets)
    translated = sets if args.translate is None else names(args.translate)
    translate_limit = args.limit if args.translate_limit is None else args.translate_limit
    return MeasurementPlan(
        args.data, sets, translated, args.limit, translate_limit, args.most, args.beam, names(args.contrastive),
        args.items, args.int8,
    )  # fmt: skip


compare_command = CompareCommand()
