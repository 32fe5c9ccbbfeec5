"""Tiny artifacts of several pairs of languages (by name only: what they say is random, and differs)."""

import json
import shutil
from pathlib import Path

from export.artifact_writer import ExportOptions, export_artifact
from tests.models import SENTENCES, lively_model, tiny_config, write_checkpoint

PAIRS = {"de-en": ("de", "en"), "en-de": ("en", "de"), "en-fr": ("en", "fr")}
"""Names of models, with their languages; from "de" to "fr" there is no way but through "en"."""


def write_pair(folder: Path, name: str, languages: tuple[str, str], seed: int) -> Path:
    """An artifact at folder/name; other seeds translate otherwise."""
    model = lively_model(tiny_config(), seed)
    options = ExportOptions(name=name, languages=languages, graphs=(("onnx", "fp32"),), examples=SENTENCES[:2])
    export_artifact(write_checkpoint(model, folder / f".{name}-checkpoint"), folder / name, options)
    return folder / name


def write_pairs(folder: Path) -> None:
    """Write an artifact for each of PAIRS, to `paths_of_pairs`."""
    for seed, (name, path) in enumerate(paths_of_pairs(folder).items(), 1):
        write_pair(path.parent, name, PAIRS[name], seed)


def paths_of_pairs(folder: Path) -> dict[str, Path]:
    """Where the artifacts of PAIRS are, in folders of their own below `folder`."""
    return {name: folder / f"to-{target}" / name for name, (_, target) in PAIRS.items()}


def copy_of(artifact: Path, folder: Path, **changes: str) -> Path:
    """A copy of an artifact at `folder`, with another manifest."""
    shutil.copytree(artifact, folder)
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return folder
