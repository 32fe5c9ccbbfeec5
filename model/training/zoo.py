"""`ringmt zoo`: finished runs as small folders that can be kept, each with the command that trains it again."""

import argparse
import dataclasses
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from model.config import ConfigError
from model.training.bundled import bundled_name, find_recipe
from model.training.checkpoint import METRICS, SUMMARY, VOCABULARY, WEIGHTS, save_model
from model.training.document_checkpoint import (
    CONTEXT_SUMMARY,
    CONTEXT_WEIGHTS,
    has_context,
    load_context_config,
    save_context,
)
from model.training.document_recipe import DocumentRecipe, find_base, recorded_recipe
from model.training.recipe import Recipe, parse_recipe


class ZooError(ValueError):
    """A run that can't be kept; the message says why."""


def train_command_line(name: str, recipe: Recipe) -> str:
    """The command that trains the bundled recipe `name` as `recipe` was."""
    seed = recipe.training.seed
    return f"ringmt train --recipe {name} --data DATA --out RUN" + (f" --seed {seed}" if seed != 1 else "")


def keep_run(run: Path, folder: Path) -> None:
    """Write `folder`, replacing it: weights in fp16, configuration, vocabulary, metrics, and a training.json that also
    says how to train the same again. Raises ZooError for a run that is not finished or that no bundled recipe trains.
    """
    if not (run / SUMMARY).is_file():
        raise ZooError(f"{run} is not finished: `ringmt train` ends by writing {SUMMARY} there")
    summary = json.loads((run / SUMMARY).read_text(encoding="utf-8"))
    if "document" in summary["recipe"]:
        keep_context(run, summary, folder)
        return
    recipe = parse_recipe(summary["recipe"])
    name = bundled_name(recipe)
    if name is None:
        raise ZooError(f"no bundled recipe trains {run} ('{recipe.name}'): add it to model/recipes, as a row or alone")
    summary["recipe"]["name"] = name
    summary = {"command": train_command_line(name, recipe), **summary, "stored_as": "fp16"}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        written = Path(temporary) / folder.name
        save_model(load_file(run / WEIGHTS), recipe.model, written, torch.float16)
        for file in (VOCABULARY, METRICS):
            shutil.copyfile(run / file, written / file)
        (written / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
        (written / WEIGHTS).chmod(0o644)
        shutil.rmtree(folder, ignore_errors=True)
        written.rename(folder)


def keep_context(run: Path, summary: dict[str, Any], folder: Path) -> None:
    """Write the context layer of a run into `folder`, which may be that of its sentence model: fp16, and how to train
    the same again. Raises ZooError where `folder` holds another sentence model. A sentence model that learned too is
    kept as well, in a folder of their own."""
    recipe = recorded_recipe(summary["recipe"])
    if not is_bundled(recipe):
        raise ZooError(f"no bundled recipe trains {run} ('{recipe.name}'): add it to model/recipes, as a row or alone")
    if not recipe.document.freezes_base:
        keep_whole(run, recipe, summary, folder)
        return
    base = find_base(recipe.document.base)
    if (folder / WEIGHTS).is_file() and (folder / WEIGHTS).read_bytes() != (base / WEIGHTS).read_bytes():
        raise ZooError(f"{folder} holds another sentence model than {base}, on which {run} was trained")
    save_context(load_file(run / CONTEXT_WEIGHTS), load_context_config(run), folder, torch.float16)
    (folder / CONTEXT_WEIGHTS).chmod(0o644)
    summary = {
        "command": train_command_line(recipe.name, recipe),
        **summary,
        "base_sha256": hashlib.sha256((base / WEIGHTS).read_bytes()).hexdigest(),
        "stored_as": "fp16",
    }
    (folder / CONTEXT_SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def keep_whole(run: Path, recipe: DocumentRecipe, summary: dict[str, Any], folder: Path) -> None:
    """Write what a run learned that changed its sentence model, with a layer or, the control, without one. The
    vocabulary stays with the sentence model that it began with."""
    shutil.rmtree(folder, ignore_errors=True)
    save_model(load_file(run / WEIGHTS), recipe.model, folder, torch.float16)
    (folder / WEIGHTS).chmod(0o644)
    if has_context(run):
        save_context(load_file(run / CONTEXT_WEIGHTS), load_context_config(run), folder, torch.float16)
        (folder / CONTEXT_WEIGHTS).chmod(0o644)
    summary = {"command": train_command_line(recipe.name, recipe), **summary, "stored_as": "fp16"}
    (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def is_bundled(recipe: DocumentRecipe) -> bool:
    """Whether a bundled recipe of that name trains the same, whatever its seed."""
    try:
        bundled = find_recipe(recipe.name)
    except ConfigError:
        return False
    training = dataclasses.replace(bundled.training, seed=recipe.training.seed)
    return dataclasses.replace(bundled, training=training) == recipe


def find_runs(folders: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Finished runs, and others that hold metrics already: the folders given, or those right below them."""
    runs = [
        run
        for folder in folders
        for run in (
            [folder] if (folder / METRICS).is_file() else sorted(path.parent for path in folder.glob(f"*/{METRICS}"))
        )
    ]
    return [run for run in runs if (run / SUMMARY).is_file()], [run for run in runs if not (run / SUMMARY).is_file()]


class ZooCommand:
    """Keep finished runs."""

    help = "keep finished runs as small folders: weights in fp16, and the command that trains the same again"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", type=Path, help="folders that `ringmt train` wrote, or that hold some")
        parser.add_argument("folder", type=Path, help="each run is written below it, under its own name")

    def run(self, args: argparse.Namespace) -> int:
        finished, others = find_runs(args.runs)
        for run in others:
            print(f"{run.name}: still training, left out")
        if not finished:
            raise ZooError(f"no finished run in {', '.join(map(str, args.runs))}: `ringmt train` ends with {SUMMARY}")
        for run in finished:
            keep_run(run, args.folder / run.name)
            print(f"{args.folder / run.name}")
        return 0


zoo_command = ZooCommand()
