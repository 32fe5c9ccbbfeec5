"""`ringmt compare-documents`."""

import argparse
import sys
from pathlib import Path

import torch

from export.compare.command import names
from export.compare.documents.measurements import Plan, collect, measure
from export.compare.documents.report import report, write_page
from export.compare.documents.rows import find_document_rows
from export.compare.rows import CompareError
from export.compare.store import Store
from model.training.bundled import bundled_rows

DEFAULT_SETS = "test/ted-test,test/news-test,test/europarl-test,test/bcontrast-test-a"
DEFAULT_CONTRASTIVE = "dev/contracat-templates,dev/mtgeneval-context-dev"


class CompareDocumentsCommand:
    """Context layers side by side."""

    help = "compare context layers with their sentence model on whole documents, beside the paper's tables"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folders", nargs="+", type=Path, help="runs with context, or folders that hold some")
        parser.add_argument("--data", required=True, type=Path, help="folder with the sets, NAME.LANGUAGE.gz")
        parser.add_argument("--sets", default=DEFAULT_SETS, help=f"sets of documents (default {DEFAULT_SETS})")
        parser.add_argument(
            "--scored",
            type=int,
            default=320,
            help="sentences of a set for log-perplexity (default 320)",
        )
        parser.add_argument("--translated", type=int, default=160, help="the same for BLEU and chrF (default 160)")
        parser.add_argument("--most", type=int, default=32, help="cut documents after this many (default 32)")
        parser.add_argument(
            "--contrastive", default=DEFAULT_CONTRASTIVE, help=f"contrastive sets (default {DEFAULT_CONTRASTIVE})"
        )
        parser.add_argument("--items", type=int, default=300, help="items of each, spread evenly (default 300)")
        parser.add_argument("--rounds", type=int, default=3, help="rounds of the speed test, 0 for none (default 3)")
        parser.add_argument("--json", type=Path, help="keep measurements here; what is there is not measured again")
        parser.add_argument("--only", choices=("table",), help="table: measure nothing, show what --json holds")
        parser.add_argument("--out", type=Path, help="folder for README.md")
        parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")

    def run(self, args: argparse.Namespace) -> int:
        if args.only == "table" and args.json is None:
            raise CompareError("--only table shows what --json FILE holds: say which file")
        for name in ("scored", "translated", "most", "items"):
            if getattr(args, name) < 1:
                raise CompareError(f"--{name} must be at least 1, not {getattr(args, name)}")
        torch.set_num_threads(args.threads)
        order = [row.partition("/")[2] for row in bundled_rows("documents")]
        rows = find_document_rows(args.folders, order)
        plan = Plan(
            args.data,
            names(args.sets),
            args.scored,
            args.translated,
            args.most,
            names(args.contrastive),
            args.items,
            args.rounds,
        )
        store = Store(args.json)
        if args.only is None:
            measure(rows, plan, store, say=lambda line: print(line, file=sys.stderr))
        measured = collect(rows, plan, store)
        text = report(measured, plan)
        print(text)
        if args.out:
            write_page(args.out, text, measured)
        return 0


compare_documents_command = CompareDocumentsCommand()
