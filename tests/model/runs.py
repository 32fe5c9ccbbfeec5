"""Runs of the recipe tiny on the sample, for tests of training."""

import csv
import dataclasses
from pathlib import Path

from model.training.document_recipe import load_any_recipe
from model.training.recipe import RECIPES, Recipe

SAMPLE = Path(__file__).parent.parent / "sample"


def tiny(steps: int = 20, **changes: object) -> Recipe:
    recipe = load_any_recipe(RECIPES / "tiny.yaml")
    training = dataclasses.replace(recipe.training, steps=steps, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(recipe, training=training)


def metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]
