"""`ringmt zoo`: stores finished runs as small folders, each with the command that trains it again."""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from model.config import ConfigError
from model.durable import replace_folder
from model.training.bundled import bundled_name, find_recipe, trains_the_same
from model.training.checkpoint import (
    CONFIG,
    METRICS,
    SUMMARY,
    VOCABULARY,
    WEIGHTS,
    find_base,
    load_config,
    read_json,
    save_model,
    sha256_of,
    write_json,
)
from model.training.document_checkpoint import (
    CONTEXT_CONFIG,
    CONTEXT_SUMMARY,
    CONTEXT_WEIGHTS,
    has_context,
    load_context_config,
    save_context,
)
from model.training.document_recipe import DocumentRecipe, recorded_recipe
from model.training.recipe import Recipe, parse_recipe
from model.training.run_records import CURVES, RUNS, put_record, read_run, remove_record

HASHES = "sha256"
"""Key of the hashes of weight files. They identify what was measured where the weights are not kept."""


class ZooError(ValueError):
    """A run that cannot be stored; the message says why."""


def train_command_line(name: str, recipe: Recipe) -> str:
    """The command that trains the bundled recipe `name` as `recipe` was."""
    seed = recipe.training.seed
    return f"ringmt train --recipe {name} --data DATA --out RUN" + (f" --seed {seed}" if seed != 1 else "")


def keep_run(run: Path, folder: Path) -> None:
    """Write `folder`, replacing it: weights in fp16, configuration, metrics, a training.json that also says how to
    train the same again, and the vocabulary unless the same stands beside the folder. Raises ZooError for a run that is
    not finished or that no bundled recipe trains.
    """
    if not (run / SUMMARY).is_file():
        raise ZooError(f"{run} is not finished: `ringmt train` ends by writing {SUMMARY} there")
    summary = read_json(run / SUMMARY)
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
        shutil.copyfile(run / METRICS, written / METRICS)
        shared = folder.parent / VOCABULARY
        if not shared.is_file() or shared.read_bytes() != (run / VOCABULARY).read_bytes():
            shutil.copyfile(run / VOCABULARY, written / VOCABULARY)
        write_summary(summary, written / SUMMARY)
        replace_folder(written, folder)
    remove_record(folder.parent, folder.name)


def keep_context(run: Path, summary: dict[str, Any], folder: Path) -> None:
    """Write the context layer of a run into `folder`, which may be that of its sentence model: weights in fp16, and how
    to train the same again. A sentence model that was trained with it is kept too (see `keep_whole`). Raises ZooError
    where `folder` holds another sentence model."""
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
    summary = {
        "command": train_command_line(recipe.name, recipe),
        **summary,
        "base_sha256": sha256_of(base / WEIGHTS),
        "stored_as": "fp16",
    }
    write_summary(summary, folder / CONTEXT_SUMMARY)
    remove_record(folder.parent, folder.name)


def keep_whole(run: Path, recipe: DocumentRecipe, summary: dict[str, Any], folder: Path) -> None:
    """Write a run that changed its sentence model: this, the context layer, if it has one, and the metrics. The
    vocabulary stays with the sentence model that the run began with, whose folder this may be: its other files stay,
    too."""
    for name in (CONTEXT_CONFIG, CONTEXT_WEIGHTS, CONTEXT_SUMMARY):
        (folder / name).unlink(missing_ok=True)
    save_model(load_file(run / WEIGHTS), load_config(run), folder, torch.float16)
    if has_context(run):
        save_context(load_file(run / CONTEXT_WEIGHTS), load_context_config(run), folder, torch.float16)
    shutil.copyfile(run / METRICS, folder / METRICS)
    summary = {"command": train_command_line(recipe.name, recipe), **summary, "stored_as": "fp16"}
    write_summary(summary, folder / SUMMARY)
    remove_record(folder.parent, folder.name)


def write_summary(summary: dict[str, Any], path: Path) -> None:
    """Write a run's summary with the hashes of the weights beside it."""
    hashes = {}
    for weights in (path.parent / WEIGHTS, path.parent / CONTEXT_WEIGHTS):
        if weights.is_file():
            weights.chmod(0o644)
            hashes[weights.name] = sha256_of(weights)
    write_json(path, {**summary, HASHES: hashes})


def drop_weights(folder: Path) -> None:
    """Drop the weights of the run: its configuration, metrics and training command move from `folder` into the files of
    runs beside it. A vocabulary of its own stays in `folder`. Raises ZooError for a folder without
    weights or whose summary does not have their hashes."""
    files = [folder / name for name in (WEIGHTS, CONTEXT_WEIGHTS) if (folder / name).is_file()]
    record = read_run(folder)
    if not files or record is None:
        raise ZooError(f"{folder} holds no weights that `ringmt zoo` kept")
    known = record.training.get(HASHES, {})
    for file in files:
        if known.get(file.name) != sha256_of(file):
            raise ZooError(f"the summary in {folder} does not have the hash of {file.name}: keep the run again")
    put_record(folder.parent, record)
    for name in (WEIGHTS, CONTEXT_WEIGHTS, CONFIG, CONTEXT_CONFIG, SUMMARY, CONTEXT_SUMMARY, METRICS):
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def is_bundled(recipe: DocumentRecipe) -> bool:
    """Whether a bundled recipe of that name trains the same, whatever its seed."""
    try:
        return trains_the_same(find_recipe(recipe.name), recipe)
    except ConfigError:
        return False


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
        parser.add_argument(
            "--without-weights",
            action="store_true",
            help="keep only metrics, the command, and hashes by which `ringmt compare` knows what was measured: "
            f"a line of FOLDER/{RUNS} for each run, its curve in FOLDER/{CURVES}",
        )

    def run(self, args: argparse.Namespace) -> int:
        finished, others = find_runs(args.runs)
        for run in others:
            print(f"{run.name}: still training, left out")
        if not finished:
            raise ZooError(f"no finished run in {', '.join(map(str, args.runs))}: `ringmt train` ends with {SUMMARY}")
        for run in finished:
            keep_run(run, args.folder / run.name)
            if args.without_weights:
                drop_weights(args.folder / run.name)
            print(f"{args.folder / RUNS}: {run.name}" if args.without_weights else f"{args.folder / run.name}")
        return 0


zoo_command = ZooCommand()
