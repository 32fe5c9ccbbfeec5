"""The recipes that come with the package, and their rows, by name."""

import dataclasses
import functools
from pathlib import Path

from model.config import ConfigError, reject_unknown_keys
from model.training.document_recipe import load_any_recipe, load_any_row
from model.training.recipe import RECIPES, ROWS, Recipe, read_recipe, read_yaml, rows_file


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
    return load_any_row(bundled, row) if row else load_any_recipe(bundled)


def bundled_recipes() -> list[str]:
    return sorted(path.stem for path in RECIPES.glob("*.yaml") if not path.name.endswith(ROWS))


def bundled_rows(base: str) -> list[str]:
    """NAME/ROW of every row of a bundled recipe; none for a recipe without rows."""
    path = rows_file(RECIPES / f"{base}.yaml")
    return [f"{base}/{row}" for row in read_yaml(path)] if path.is_file() else []


def all_rows() -> list[str]:
    """NAME/ROW of every row of every bundled recipe of sentence and language models, in the order of their files."""
    return [row for base in sentence_recipes() for row in bundled_rows(base)]


def sentence_recipes() -> list[str]:
    """Bundled recipes without the section `document`."""
    return [base for base in bundled_recipes() if "document" not in read_recipe(RECIPES / f"{base}.yaml")]


def bundled_name(recipe: Recipe) -> str | None:
    """The name of the bundled recipe or row that trains the same, whatever the seed; None where there is none."""
    return next((name for name, bundled in _all_bundled().items() if trains_the_same(bundled, recipe)), None)


@functools.cache
def _all_bundled() -> dict[str, Recipe]:
    """The recipes of sentence and language models; rows before the recipes that they change: a row may change
    nothing."""
    names = [name for base in sentence_recipes() for name in (*bundled_rows(base), base)]
    return {name: find_recipe(name) for name in names}


def trains_the_same(recipe: Recipe, other: Recipe) -> bool:
    """Whatever their names and seeds."""
    training = dataclasses.replace(recipe.training, seed=other.training.seed)
    return dataclasses.replace(recipe, name=other.name, training=training) == other
