"""Records of finished runs without their weights: configuration, summary of training, learning curve.

A run with weights has a folder of its own. Runs without weights share the two files of the folder that they are kept
in: a line each of runs.jsonl, sorted by name, and their rows of curves.csv.
"""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.config import ConfigError, reject_unknown_keys
from model.durable import replace_file
from model.training.checkpoint import CONFIG, METRICS, SUMMARY, parse_json, read_json
from model.training.document_checkpoint import CONTEXT_CONFIG, CONTEXT_SUMMARY

RUNS, CURVES = "runs.jsonl", "curves.csv"
KEYS = NAME, CONFIGURATION, LAYER, TRAINING = "row", "config", "context", "training"
"""Keys of a line of runs.jsonl; column NAME of curves.csv is the same name."""


@dataclass(frozen=True)
class RunRecord:
    """A finished run without its weights."""

    name: str
    training: dict[str, Any]
    """Recipe, command, steps, seconds, hashes of the data and of the weights."""
    config: dict[str, Any] | None
    """The configuration of the sentence model; None for a context layer alone."""
    context: dict[str, Any] | None
    """Configuration of the context layer; None where there is none."""
    curve: list[dict[str, str]]
    """What every evaluation measured, by the columns of metrics.csv."""


def read_run(folder: Path) -> RunRecord | None:
    """The run that `folder` holds, or that the files beside `folder` have under its name; None for what is no finished
    run. Raises ConfigError."""
    return _read_folder(folder) or read_records(folder.parent).get(folder.name)


def find_records(folder: Path) -> dict[Path, RunRecord]:
    """The run that `folder` is, or all that are kept right below it, by their folders, which need not be there. Raises
    ConfigError."""
    if own := read_run(folder):
        return {folder: own}
    below = {folder / name: record for name, record in read_records(folder).items()}
    below |= {path: record for path in folder.glob("*") if (record := _read_folder(path))}
    return dict(sorted(below.items()))


def _read_folder(folder: Path) -> RunRecord | None:
    # A context layer beside its sentence model has a summary of its own.
    summary = _read_if_there(folder / CONTEXT_SUMMARY) or _read_if_there(folder / SUMMARY)
    if summary is None:
        return None
    config, context = (_read_if_there(folder / name) for name in (CONFIG, CONTEXT_CONFIG))
    curve = []
    if (folder / METRICS).is_file():
        with (folder / METRICS).open(newline="", encoding="utf-8") as file:
            curve = list(csv.DictReader(file))
    return RunRecord(folder.name, summary, config, context, curve)


def _read_if_there(path: Path) -> dict[str, Any] | None:
    return read_json(path) if path.is_file() else None


def read_records(folder: Path) -> dict[str, RunRecord]:
    """The runs without weights that are kept in `folder`, by name. Raises ConfigError."""
    if not (folder / RUNS).is_file():
        return {}
    curves: dict[str, list[dict[str, str]]] = {}
    if (folder / CURVES).is_file():
        with (folder / CURVES).open(newline="", encoding="utf-8") as file:
            for cells in csv.DictReader(file):
                curves.setdefault(cells.pop(NAME), []).append({key: cell for key, cell in cells.items() if cell})
    records = {}
    for number, line in enumerate((folder / RUNS).read_text(encoding="utf-8").splitlines(), start=1):
        where = f"{folder / RUNS}, line {number}"
        values = parse_json(line, where)
        reject_unknown_keys(values, KEYS, where)
        if not {NAME, TRAINING} <= values.keys():
            raise ConfigError(f"{where} lacks '{NAME}' or '{TRAINING}'")
        name = values[NAME]
        records[name] = RunRecord(
            name, values[TRAINING], values.get(CONFIGURATION), values.get(LAYER), curves.get(name, [])
        )
    return records


def put_record(folder: Path, record: RunRecord) -> None:
    """Add the run, in place of one of that name. The lines of other runs stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_records(folder, {**read_records(folder), record.name: record})


def remove_record(folder: Path, name: str) -> None:
    records = read_records(folder)
    if records.pop(name, None):
        _write_records(folder, records)


def _write_records(folder: Path, records: dict[str, RunRecord]) -> None:
    ordered = [records[name] for name in sorted(records)]
    lines = []
    for record in ordered:
        configs = {CONFIGURATION: record.config, LAYER: record.context}
        present = {key: config for key, config in configs.items() if config is not None}
        lines.append(json.dumps({NAME: record.name, **present, TRAINING: record.training}) + "\n")
    _replace(folder / RUNS, "".join(lines))
    columns = list(
        dict.fromkeys([*_columns(folder), *(key for record in ordered for row in record.curve for key in row)])
    )
    table = [[NAME, *columns]]
    for record in ordered:
        for measured in record.curve:
            cells = [record.name, *(measured.get(column, "") for column in columns)]
            while not cells[-1]:  # a column that another run brings changes no line of this one
                cells.pop()
            table.append(cells)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    _replace(folder / CURVES, text.getvalue())


def _columns(folder: Path) -> list[str]:
    """Those that the file of curves has already."""
    if not (folder / CURVES).is_file():
        return []
    with (folder / CURVES).open(newline="", encoding="utf-8") as file:
        return next(csv.reader(file))[1:]


def _replace(path: Path, text: str) -> None:
    """Write through a temporary file."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    replace_file(temporary, path)
