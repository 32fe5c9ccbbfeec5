"""Rows of the comparison: checkpoint folders that training has finished."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.manifest import ring_tensors
from model.config import ConfigError, ModelConfig
from model.training.bundled import all_rows, bundled_name
from model.training.checkpoint import SUMMARY, VOCABULARY, WEIGHTS, new_model
from model.training.recipe import Recipe, parse_recipe
from model.training.zoo import train_command_line
from model.translation_model import TranslationModel
from server.artifact import file_hash


class CompareError(ValueError):
    """Rows that cannot be compared; the message says which and why."""


@dataclass(frozen=True)
class Row:
    """A finished checkpoint: its name (the folder's), where it is, how it was trained; `bundled` is the bundled recipe
    that trains the same, whatever the seed."""

    name: str
    folder: Path
    recipe: Recipe
    bundled: str | None
    steps: int
    target_tokens: int
    seconds: float
    weights_hash: str
    vocabulary_hash: str

    @property
    def config(self) -> ModelConfig:
        return self.recipe.model

    @property
    def order(self) -> int | None:
        return self.recipe.model.ngram

    @property
    def is_language_model(self) -> bool:
        return not self.config.encoder_layers

    @property
    def place(self) -> tuple[bool, int, int, str]:
        """Where it stands in a table: as in the file of the bundled rows, seed by seed; others by name."""
        rows = all_rows()
        place = rows.index(self.bundled) if self.bundled in rows else len(rows)
        return self.is_language_model, place, self.recipe.training.seed, self.name

    @property
    def command(self) -> str:
        """What trains the same again."""
        return train_command_line(self.bundled or self.recipe.name, self.recipe)

    def group(self, *ignored: str) -> str:
        """Equal for rows that differ in nothing but name, seed and the `ignored` keys of the model."""
        values = dataclasses.asdict(self.recipe)
        del values["name"], values["training"]["seed"]
        for key in ignored:
            del values["model"][key]
        return json.dumps([values, self.vocabulary_hash], sort_keys=True)


@dataclass(frozen=True)
class Size:
    """What a configuration costs wherever it runs: parameters, and fp32 bytes of decoder cache per hypothesis (None
    for a language model, which is not served)."""

    parameters: int
    cache_bytes: int | None

    @classmethod
    def of(cls, config: ModelConfig) -> "Size":
        model = new_model(config)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        if not isinstance(model, TranslationModel):
            return cls(parameters, None)
        floats = len(ring_tensors(model)) * config.num_heads * config.ring_capacity * config.head_dim
        return cls(parameters, 4 * floats)


def read_row(folder: Path) -> Row:
    """Raises CompareError for a folder that is not a finished checkpoint of a model that is known here."""
    try:
        summary: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        recipe = parse_recipe(summary["recipe"])
        return Row(
            name=folder.name,
            folder=folder,
            recipe=recipe,
            bundled=bundled_name(recipe),
            steps=summary["steps"],
            target_tokens=summary["target_tokens"],
            seconds=summary["seconds"],
            weights_hash=file_hash(folder / WEIGHTS),
            vocabulary_hash=file_hash(folder / VOCABULARY),
        )
    except (OSError, json.JSONDecodeError, KeyError, TypeError, ConfigError) as error:
        raise CompareError(f"{folder} is not a finished checkpoint: {type(error).__name__} {error}") from error


def find_rows(folders: Sequence[Path]) -> list[Row]:
    """Every folder given, or the finished checkpoints right below it, in the order of their places.

    Raises CompareError when there is none, or when two share a name.
    """
    found: list[Path] = []
    for folder in folders:
        is_row = (folder / SUMMARY).is_file()
        found += [folder] if is_row else sorted(path.parent for path in folder.glob(f"*/{SUMMARY}"))
    if not found:
        where = ", ".join(map(str, folders))
        raise CompareError(f"no finished checkpoint in {where}: `ringmt train` ends by writing {SUMMARY} into one")
    rows = [read_row(folder) for folder in found]
    check_comparable(rows)
    return sorted(rows, key=lambda row: row.place)


def check_comparable(rows: Sequence[Row]) -> None:
    """Raise CompareError when two rows share a name, or translate between other languages."""
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise CompareError(f"two checkpoint folders are called '{name}': rows go by that name, rename one")
    languages = {
        row.name: f"{row.recipe.data.source}-{row.recipe.data.target}" for row in rows if not row.is_language_model
    }
    if len(set(languages.values())) > 1:
        pairs = ", ".join(f"{name} {pair}" for name, pair in languages.items())
        raise CompareError(f"these rows are of several language pairs ({pairs}): compare those of one")
