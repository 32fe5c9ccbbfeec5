"""What a run began with, so that the same command continues it and another one does not."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from model.durable import replace_file
from model.training.recipe import Recipe

INPUTS, RECIPE = "distil.json", "recipe.json"
OTHERS = {
    "text_sha256": "another text",
    "fingerprint": "another artifact",
    "precision": "other graphs of the artifact",
    "source": "another source language",
    "target": "another target language",
    "beam": "another beam",
}
"""Field of Inputs -> what differs, where it does."""


class OtherInputs(ValueError):
    """A folder belongs to a run that began with something else."""


@dataclass(frozen=True)
class Inputs:
    """What translations depend on. `fingerprint`: of the artifact's files."""

    text_sha256: str
    teacher: str
    fingerprint: str
    precision: str
    source: str
    target: str
    beam: int


def check_inputs(folder: Path, inputs: Inputs) -> None:
    """Note the inputs of a new run. Raises OtherInputs for a folder with those of another one, or with other files."""
    path, new = folder / INPUTS, asdict(inputs)
    if not path.is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OtherInputs(f"{folder} is not empty, and no run of this command: choose another --out")
        folder.mkdir(parents=True, exist_ok=True)
        _write(path, new)
        return
    old = _read(path, folder)
    other = next((what for name, what in OTHERS.items() if old.get(name) != new[name]), None)
    if other is not None:
        raise OtherInputs(f"{folder} has translations of {other}: repeat that command, or choose another --out")


def check_recipe(student: Path, recipe: Recipe) -> None:
    """Raise OtherInputs for a student that was begun with another recipe."""
    path = student / RECIPE
    if path.is_file() and _read(path, student) != _as_json(recipe):
        raise OtherInputs(
            f"{student} was begun with another recipe, seed or number of steps: repeat that command, or move the "
            "folder away to train another student on the same translations"
        )


def note_recipe(student: Path, recipe: Recipe) -> None:
    """Note what `check_recipe` compares."""
    _write(student / RECIPE, _as_json(recipe))


def _as_json(recipe: Recipe) -> Any:
    return json.loads(json.dumps(asdict(recipe)))


def _read(path: Path, folder: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise OtherInputs(f"{path} is damaged: remove {folder}, and begin again") from None


def _write(path: Path, values: Any) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    replace_file(temporary, path)
