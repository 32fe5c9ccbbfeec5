"""`ringmt train` and `ringmt lexicon`."""

import argparse
import dataclasses
import json
from pathlib import Path

import torch

from model.config import ConfigError, reject_unknown_keys
from model.data.batching import epoch_items
from model.data.lexicon import LEXICON, train_lexicon
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import SUMMARY, VOCABULARY
from model.training.document_recipe import DocumentRecipe, load_any_recipe
from model.training.recipe import ROWS, DataRecipe, Recipe, load_row
from model.training.train import load_text, train
from model.training.train_document import train_document

RECIPES = Path(__file__).parent.parent / "recipes"


def find_recipe(name: str) -> Recipe:
    """A recipe by file, by the name of a bundled one, or by NAME/ROW for a row of a bundled one.

    Raises ConfigError that names the nearest bundled one.
    """
    path = Path(name)
    if path.suffix in (".yaml", ".yml") or path.is_file():
        if not path.is_file():
            raise ConfigError(f"there is no recipe file {path}")
        return load_any_recipe(path)
    base, _, row = name.partition("/")
    reject_unknown_keys([base], bundled_recipes(), "the bundled recipes")
    bundled = RECIPES / f"{base}.yaml"
    return load_row(bundled, row) if row else load_any_recipe(bundled)


def bundled_recipes() -> list[str]:
    return sorted(path.stem for path in RECIPES.glob("*.yaml") if not path.name.endswith(ROWS))


class TrainCommand:
    """Train a model from a recipe."""

    help = "train a model from a recipe; an interrupted run goes on where it stopped"

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

    def run(self, args: argparse.Namespace) -> int:
        recipe = find_recipe(args.recipe)
        if args.steps is not None:
            recipe = dataclasses.replace(recipe, training=dataclasses.replace(recipe.training, steps=args.steps))
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
        recipe = DataRecipe(**json.loads((args.checkpoint / SUMMARY).read_text(encoding="utf-8"))["recipe"]["data"])
        text = load_text(recipe, args.data, Vocabulary(args.checkpoint / VOCABULARY))
        pairs = epoch_items(text.train, recipe.corpora, seed=0, epoch=0)
        train_lexicon(pairs, recipe.vocab_size).save(args.checkpoint / LEXICON)
        print(f"{args.checkpoint / LEXICON}: from {len(pairs):,} pairs")
        return 0


lexicon_command = LexiconCommand()
