"""`ringmt compare`."""

import argparse
import sys
from pathlib import Path

from export.compare.measurements import Plan, collect, measure
from export.compare.page import write_page
from export.compare.report import report
from export.compare.rows import CompareError, find_rows
from export.compare.store import Store

ZOO = Path(__file__).parent.parent.parent / "model" / "zoo" / "small"
DEFAULT_REFERENCE = "full"
DEFAULT_SETS = "dev/tatoeba-dev,dev/techdocs-dev,dev/bcontrast-dev"


def names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


class CompareCommand:
    """Trained models side by side."""

    help = "compare trained models: log-perplexity, BLEU, chrF, speed, and what papers claim of them"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "folders", nargs="*", type=Path, default=[ZOO],
            help="checkpoint folders, or folders that hold some (default: the small models of the zoo)",
        )  # fmt: skip
        parser.add_argument("--data", required=True, type=Path, help="folder with the sets, NAME.LANGUAGE.gz")
        parser.add_argument("--sets", default=DEFAULT_SETS, help=f"sets for log-perplexity (default {DEFAULT_SETS})")
        parser.add_argument("--translate", help="sets for BLEU and chrF (default: those of --sets; '' for none)")
        parser.add_argument("--limit", type=int, help="first sentences of a set that count (default: all)")
        parser.add_argument("--translate-limit", type=int, help="the same for BLEU and chrF (default: --limit)")
        parser.add_argument("--beam", type=int, default=4, help="beam size (default 4)")
        parser.add_argument("--rounds", type=int, default=5, help="rounds of the speed test, 0 for none (default 5)")
        parser.add_argument(
            "--reference", help=f"row that p-values are against (default '{DEFAULT_REFERENCE}', where there is one)"
        )
        parser.add_argument("--json", type=Path, help="keep measurements here; what is there is not measured again")
        parser.add_argument("--only", choices=("table",), help="table: measure nothing, show what --json holds")
        parser.add_argument("--out", type=Path, help="folder for README.md and plots")

    def run(self, args: argparse.Namespace) -> int:
        rows = find_rows(args.folders)
        if args.reference and args.reference not in [row.name for row in rows]:
            raise CompareError(f"no row is called '{args.reference}': {', '.join(row.name for row in rows)}")
        if args.only == "table" and args.json is None:
            raise CompareError("--only table shows what --json FILE holds: say which file")
        sets = names(args.sets)
        translated = sets if args.translate is None else names(args.translate)
        translate_limit = args.limit if args.translate_limit is None else args.translate_limit
        plan = Plan(args.data, sets, translated, args.limit, translate_limit, args.beam, args.rounds)
        store = Store(args.json)
        if args.only is None:
            measure(rows, plan, store, say=lambda line: print(line, file=sys.stderr))
        measured = collect(rows, plan, store)
        text = report(measured, plan, args.reference or DEFAULT_REFERENCE)
        print(text)
        if args.out:
            write_page(args.out, text, measured)
        return 0


compare_command = CompareCommand()
