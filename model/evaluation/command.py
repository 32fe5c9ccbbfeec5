"""`ringmt contrastive-accuracy`."""

import argparse
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import torch
from tqdm import tqdm

from model.config import ConfigError
from model.data.items import ContrastiveItem, read_items
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel
from model.evaluation.contrastive_accuracy import (
    Accuracy,
    by_group,
    evaluate_in_context,
    evaluate_items,
    with_shuffled_context,
)
from model.evaluation.explanation_accuracy import explanation_accuracy
from model.training.checkpoint import find_vocabulary, load_model
from model.training.document_checkpoint import has_context, load_document_model
from model.translation_model import TranslationModel


def table(results: dict[str, dict[str, Accuracy]]) -> str:
    """Markdown: a row for each group, a column for each condition."""
    conditions = list(results)
    lines = ["| items | number | " + " | ".join(conditions) + " |", "|---|---|" + "---|" * len(conditions)]
    for group, first in results[conditions[0]].items():
        cells = [
            f"{item.share:.1%} ({item.low:.1%} to {item.high:.1%})"
            for item in (results[condition][group] for condition in conditions)
        ]
        lines.append(f"| {group} | {first.items:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


class ContrastiveAccuracyCommand:
    """Accuracy on a contrastive set."""

    help = "how often a checkpoint finds the right translation more probable than wrong ones, with context and without"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("checkpoint", type=Path, help="folder that `ringmt train` wrote")
        parser.add_argument(
            "--set", required=True, type=Path, help=".jsonl or .jsonl.gz with src, ref, contrastive, src_context"
        )
        parser.add_argument("--limit", type=int, help="score this many items, spread evenly over the set")
        parser.add_argument(
            "--reference-context",
            action="store_true",
            help="context on the decoder's side from the set's ref_context instead of the model's own translation",
        )
        parser.add_argument(
            "--shuffled",
            action="store_true",
            help="the control: also with the context of another item, which has nothing to say",
        )
        parser.add_argument(
            "--explain",
            action="store_true",
            help="also how often the word and the sentence with the highest weight are the antecedent's, for items "
            "that name it (those of make-context-data do)",
        )
        parser.add_argument("--threads", type=int, help="CPU threads (default: torch's choice)")
        parser.add_argument("--json", type=Path, help="write the results here as well")

    def run(self, args: argparse.Namespace) -> int:
        if args.threads is not None:
            torch.set_num_threads(args.threads)
        if args.limit is not None and args.limit < 1:
            raise ConfigError(f"--limit must be at least 1, not {args.limit}")
        load = load_document_model if has_context(args.checkpoint) else load_model
        model, vocabulary = load(args.checkpoint), Vocabulary(find_vocabulary(args.checkpoint))
        items = read_items(args.set)
        if not items:
            raise ConfigError(f"{args.set} holds no items")
        count = min(args.limit or len(items), len(items))
        items = [items[index * len(items) // count] for index in range(count)]
        right = evaluate_items(model, vocabulary, tqdm(items, unit="item", mininterval=1), args.reference_context)
        if args.shuffled:
            if not isinstance(model, DocumentModel):
                raise ConfigError(f"{args.checkpoint} knows no context: there is none of another item to try")
            if len(items) < 2:
                raise ConfigError("--shuffled needs two items or more")
            others = tqdm(with_shuffled_context(items), unit="item", mininterval=1)
            right["with another's context"] = evaluate_in_context(model, vocabulary, others, args.reference_context)
        results = {condition: by_group(items, item) for condition, item in right.items()}
        print(table(results))
        if args.explain:
            explanations = _explained(model, vocabulary, items)
            print(f"\nWhere the highest weight is, of items with an antecedent:\n\n{table(explanations)}")
            results |= {f"explained: {condition}": item for condition, item in explanations.items()}
        print("\nIn brackets: 95% confidence interval (Wilson).")
        if args.json:
            plain = {c: {g: dataclasses.asdict(a) for g, a in groups.items()} for c, groups in results.items()}
            args.json.write_text(json.dumps(plain, indent=2) + "\n", encoding="utf-8")
        return 0


def _explained(
    model: TranslationModel | DocumentModel, vocabulary: Vocabulary, items: Sequence[ContrastiveItem]
) -> dict[str, dict[str, Accuracy]]:
    named = [item for item in items if item.antecedent is not None]
    if not isinstance(model, DocumentModel) or not named:
        raise ConfigError("--explain needs a checkpoint with context, and items with an antecedent")
    right = explanation_accuracy(model, vocabulary, named)
    return {condition: by_group(named, entry) for condition, entry in right.items()}


contrastive_accuracy_command = ContrastiveAccuracyCommand()
