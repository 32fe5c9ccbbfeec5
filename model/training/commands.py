"""`ringmt train` and `ringmt lexicon`."""

import argparse
import dataclasses
from pathlib import Path

import torch

from model.data.batching import epoch_items
from model.data.lexicon import LEXICON, train_lexicon
from model.data.vocabulary import Vocabulary
from model.training.bundled import find_recipe
from model.training.checkpoint import SUMMARY, find_vocabulary, read_json
from model.training.document_recipe import DocumentRecipe
from model.training.recipe import DataRecipe
from model.training.train import load_text, train
from model.training.train_document import train_document


class TrainCommand:
    """Train a model from a recipe."""

    help = "train a model from a recipe; an interrupted run continues where it stopped"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--recipe",
            required=True,
            help="a YAML file, a bundled recipe (en-de, tiny, ...) or its row (small/window-all)",
        )
        parser.add_argument(
            "--data", required=True, type=Path, help="folder with NAME.LANGUAGE.gz files, line by line parallel"
        )
        parser.add_argument(
            "--out", required=True, type=Path, help="checkpoint folder; what it holds already is continued"
        )
        parser.add_argument("--threads", type=int, help="CPU threads (default: torch's choice)")
        parser.add_argument("--steps", type=int, help="train this many steps instead of the recipe's number")
        parser.add_argument("--seed", type=int, help="random seed instead of the recipe's: another run of the same row")

    def run(self, args: argparse.Namespace) -> int:
        recipe = find_recipe(args.recipe)
        changes = {name: getattr(args, name) for name in ("steps", "seed") if getattr(args, name) is not None}
        recipe = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, **changes))
        if args.threads is not None:
            torch.set_num_threads(args.threads)
        if isinstance(recipe, DocumentRecipe):
            train_document(recipe, args.data, args.out)
        else:
            train(recipe, args.data, args.out)
        print(f"{args.out}: weights, vocabulary, metrics.csv, metrics.png")
        return 0


train_command = TrainCommand()


class LexiconCommand:
    """Word translation probabilities for a shortlist."""

    help = "learn which words translate which, for the shortlist that export adds to a checkpoint with a lexicon"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("checkpoint", type=Path, help="folder that `ringmt train` wrote; lexicon.npz goes there")
        parser.add_argument("--data", required=True, type=Path, help="the folder of corpora that it was trained on")

    def run(self, args: argparse.Namespace) -> int:
        vocabulary = Vocabulary(find_vocabulary(args.checkpoint))
        recipe = DataRecipe(**read_json(args.checkpoint / SUMMARY)["recipe"]["data"])
        text = load_text(recipe, args.data, vocabulary)
        pairs = epoch_items(text.train, recipe.corpora, seed=0, epoch=0)
        train_lexicon(pairs, len(vocabulary)).save(args.checkpoint / LEXICON)
        print(f"{args.checkpoint / LEXICON}: from {len(pairs):,} pairs")
        return 0


lexicon_command = LexiconCommand()
