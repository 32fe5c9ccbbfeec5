"""`ringmt average`: checkpoint averaging: the mean of several runs of one model, which is often better than each run.
The runs must continue one another, so that their weights lie in one basin of the loss (Izmailov et al. 2018, Wortsman
et al. 2022)."""

import argparse
import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from model.config import ConfigError
from model.data.lexicon import LEXICON
from model.training.checkpoint import (
    METRICS,
    SUMMARY,
    WEIGHTS,
    average_weights,
    find_vocabulary,
    load_config,
    read_json,
    save_model,
    sha256_of,
    write_json,
)
from model.training.document_checkpoint import CONTEXT_WEIGHTS, has_context, load_context_config, save_context


def average_runs(runs: Sequence[Path], out: Path) -> None:
    """Write `out`, a run like the last of `runs`, with the mean of all sentence models, that of the context layers of
    those that have one, and the lexicon of the last that has one. A run that is named twice has twice the weight.
    Raises ConfigError for models of several shapes or vocabularies, for a last run that is not finished, and for an
    `out` among the runs. Dropout may differ: the average has the lowest."""
    last = runs[-1]
    if out.resolve() in {run.resolve() for run in runs}:
        raise ConfigError(f"{out} is one of the runs: give --out a folder of its own")
    if not (last / SUMMARY).is_file():
        raise ConfigError(f"{last} is not finished: `ringmt train` ends by writing {SUMMARY} there")
    configs, vocabulary = [load_config(run) for run in runs], find_vocabulary(last)
    config = dataclasses.replace(configs[-1], dropout=min(run_config.dropout for run_config in configs))
    layers = [run for run in runs if has_context(run)] if has_context(last) else []
    for run, run_config in zip(runs, configs, strict=True):
        if dataclasses.replace(run_config, dropout=config.dropout) != config:
            raise ConfigError(f"{run} holds a model of another shape than {last}: only like models can be averaged")
        if find_vocabulary(run).read_bytes() != vocabulary.read_bytes():
            raise ConfigError(f"{run} has another vocabulary than {last}: only models of one can be averaged")
    for run in layers:
        if load_context_config(run) != load_context_config(last):
            raise ConfigError(f"{run} has another context layer than {last}: only like layers can be averaged")
    save_model(average_weights([run / WEIGHTS for run in runs]), config, out)
    if layers:
        save_context(
            average_weights([run / CONTEXT_WEIGHTS for run in layers]), load_context_config(last), out, torch.float32
        )
    lexicons = [run / LEXICON for run in runs if (run / LEXICON).is_file()]
    for path in (vocabulary, last / METRICS, *lexicons[-1:]):
        shutil.copyfile(path, out / path.name)
    summary = read_json(last / SUMMARY)
    summary = {name: value for name, value in summary.items() if not name.startswith("dev_") and name != "sha256"}
    members = [{"run": run.name, **_reading(run), "sha256": sha256_of(run / WEIGHTS)} for run in runs]
    summary |= {"weights": f"average of {len(runs)} runs", "average_of": members}
    write_json(out / SUMMARY, summary)


def _reading(run: Path) -> dict[str, Any]:
    """Recipe, steps and tokens from the summary of a run; empty without a summary."""
    if not (run / SUMMARY).is_file():
        return {}
    summary = read_json(run / SUMMARY)
    return {"recipe": summary["recipe"]["name"], "steps": summary["steps"], "target_tokens": summary["target_tokens"]}


class AverageCommand:
    """Average the weights of runs."""

    help = "average the weights of runs that continued one another: often better than any of them"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("runs", nargs="+", type=Path, help="folders of one model, the last one a finished run")
        parser.add_argument("--out", required=True, type=Path, help="a run like the last one, with the mean weights")

    def run(self, args: argparse.Namespace) -> int:
        average_runs(args.runs, args.out)
        print(f"{args.out}: the mean of {len(args.runs)} runs")
        return 0


average_command = AverageCommand()
