"""Trains the student on the teacher's pairs, by a recipe whose own text it does not read."""

import dataclasses
from pathlib import Path
from typing import Any

from export.distil.inputs import check_recipe, note_recipe
from export.distil.pairs import DEV, MOST_DEV, TRAIN
from model.config import ConfigError
from model.training.bundled import find_recipe
from model.training.checkpoint import SUMMARY, read_json, write_json
from model.training.document_recipe import DocumentRecipe
from model.training.recipe import Recipe
from model.training.train import Training

TEACHER = "teacher"
"""The key of training.json."""


def student_recipe(name: str, languages: tuple[str, str], steps: int | None, seed: int | None) -> Recipe:
    """The recipe `name` with the teacher's pairs in the place of its corpora and dev sets; 2 * MOST_DEV, because the
    number of pairs for dev varies. The vocabulary is learned from these pairs, or that of the recipe's `start`. Raises
    ConfigError for recipes that do not train a sentence model to translate."""
    recipe = find_recipe(name)
    if isinstance(recipe, DocumentRecipe):
        raise ConfigError(
            f"recipe '{name}' trains a context layer, which needs documents that people translated: distil a sentence "
            "model, then train a layer with `document: {base: STUDENT}`"
        )
    if not recipe.model.encoder_layers:
        raise ConfigError(f"recipe '{name}' trains a language model, which translates nothing")
    usual = recipe.training
    training = dataclasses.replace(
        usual, steps=usual.steps if steps is None else steps, seed=usual.seed if seed is None else seed
    )
    data = dataclasses.replace(
        recipe.data, source=languages[0], target=languages[1], corpora={TRAIN: 1.0}, dev={DEV: 2 * MOST_DEV}
    )
    return dataclasses.replace(recipe, data=data, training=training)


def train_student(recipe: Recipe, pairs: Path, student: Path, teacher: dict[str, Any]) -> None:
    """Train, or continue, the checkpoint `student`; training.json records the teacher when it is finished. Raises
    OtherInputs for a student of another recipe."""
    check_recipe(student, recipe)
    summary = student / SUMMARY
    if summary.is_file() and TEACHER in read_json(summary):
        return
    run = Training(recipe, pairs, student)
    note_recipe(student, recipe)
    run.run()
    write_json(summary, {**read_json(summary), TEACHER: teacher})
