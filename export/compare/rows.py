"""Rows of the comparison: finished checkpoints, and finished runs with context on top of one.

A row may be stored without its weights: its record has their hashes, by which measurements are found.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.compare.conditions import ALONE, IN_CONTEXT
from export.signature import step_signature
from model.config import ConfigError, ModelConfig
from model.document import DocumentModel
from model.training.bundled import all_rows, bundled_name, bundled_rows
from model.training.checkpoint import SUMMARY, WEIGHTS, AnyModel, find_base, find_vocabulary, load_any_model, new_model
from model.training.document_checkpoint import CONTEXT_WEIGHTS, load_document_model
from model.training.document_recipe import DocumentRecipe, DocumentSection, recorded_recipe
from model.training.recipe import Recipe, parse_recipe
from model.training.run_records import RunRecord, find_records, read_run
from model.training.zoo import HASHES, train_command_line
from model.translation_model import TranslationModel
from server.artifact.artifact import file_hash


class CompareError(ValueError):
    """Rows that cannot be compared; the message says which and why."""


@dataclass(frozen=True)
class Row:
    """A finished run: its name (the folder's), where it is, how it was trained; `bundled` is the bundled recipe that
    trains the same, whatever the seed. `weights_hash` is the hash of all its weights, `alone_hash` that of the sentence
    model, which are equal for a row without context."""

    name: str
    folder: Path
    recipe: Recipe
    bundled: str | None
    target_tokens: int
    seconds: float
    weights_hash: str
    alone_hash: str
    vocabulary_hash: str

    @property
    def config(self) -> ModelConfig:
        return self.recipe.model

    @property
    def order(self) -> int | None:
        return self.recipe.model.ngram

    @property
    def section(self) -> DocumentSection | None:
        """How the context layer was trained; None for a model of sentences."""
        return self.recipe.document if isinstance(self.recipe, DocumentRecipe) else None

    @property
    def has_context(self) -> bool:
        return self.section is not None and self.section.context != "none"

    @property
    def conditions(self) -> tuple[str, ...]:
        return (ALONE, *IN_CONTEXT) if self.has_context else (ALONE,)

    @property
    def is_language_model(self) -> bool:
        return not self.config.encoder_layers

    @property
    def seed(self) -> int:
        return self.recipe.training.seed

    @property
    def base(self) -> Path:
        """Where the sentence model's weights are."""
        return sentence_folder(self.folder, self.recipe)

    @property
    def vocabulary(self) -> Path:
        return find_vocabulary(find_base(self.section.base) if self.section else self.folder)

    def subject(self, condition: str) -> str:
        """The hash of the weights that are measured under this condition: rows share a frozen sentence model."""
        return self.alone_hash if condition == ALONE else self.weights_hash

    @property
    def has_weights(self) -> bool:
        return all(path.is_file() for path in weight_files(self.folder, self.recipe))

    def require_weights(self) -> None:
        """Raises CompareError that says how to get them."""
        if not self.has_weights:
            raise CompareError(
                f"{self.folder} is kept without its weights, and not everything was measured: train it again with "
                f"`{self.command}`, then name RUN instead of it"
            )

    def load_alone(self) -> AnyModel:
        """What translates a sentence by itself."""
        self.require_weights()
        return load_any_model(self.base)

    def load_in_context(self) -> DocumentModel:
        self.require_weights()
        return load_document_model(self.folder, self.base)

    @property
    def place(self) -> tuple[bool, int, int, str]:
        """Sort key in tables: the order of the bundled rows, then seed, then name."""
        rows = known_rows()
        place = rows.index(self.bundled) if self.bundled in rows else len(rows)
        return self.is_language_model, place, self.seed, self.name

    @property
    def command(self) -> str:
        """The command that trains the same row again."""
        return train_command_line(self.bundled or self.recipe.name, self.recipe)

    @property
    def budget(self) -> str:
        """Equal for rows that may be compared: the same pieces, text, steps and rates; with any model and seed."""
        training = dataclasses.asdict(self.recipe.training)
        del training["seed"]
        base = self.section.base if self.section else None
        values = [training, dataclasses.asdict(self.recipe.data), base, self.vocabulary_hash]
        return json.dumps(values, sort_keys=True)

    def group(self, *ignored: str) -> str:
        """Equal for rows that differ in nothing but name, seed and the `ignored` keys of the model."""
        values = dataclasses.asdict(self.recipe)
        del values["name"], values["training"]["seed"]
        for key in ignored:
            del values["model"][key]
        return json.dumps([values, self.vocabulary_hash], sort_keys=True)


@dataclass(frozen=True)
class Size:
    """The size of a configuration: parameters, and fp32 bytes of decoder cache per hypothesis (None
    for a language model, which is not served)."""

    parameters: int
    cache_bytes: int | None

    @classmethod
    def of(cls, config: ModelConfig) -> "Size":
        model = new_model(config)
        parameters = sum(parameter.numel() for parameter in model.parameters())
        if not isinstance(model, TranslationModel):
            return cls(parameters, None)
        tensors = step_signature(model)
        vectors = len(tensors.names("ring")) * config.ring_capacity + len(tensors.names("recurrent"))
        return cls(parameters, 4 * vectors * config.d_model)


@functools.cache
def known_rows() -> list[str]:
    """Bundled rows in the order of their files, those with context last."""
    return [*all_rows(), *bundled_rows("documents")]


def sentence_folder(folder: Path, recipe: Recipe) -> Path:
    """The folder whose weights translate a sentence by itself: a frozen sentence model stays in its own folder."""
    if isinstance(recipe, DocumentRecipe) and recipe.document.freezes_base:
        return find_base(recipe.document.base)
    return folder


def weight_files(folder: Path, recipe: Recipe) -> list[Path]:
    files = [sentence_folder(folder, recipe) / WEIGHTS]
    if isinstance(recipe, DocumentRecipe) and recipe.document.context != "none":
        files.append(folder / CONTEXT_WEIGHTS)
    return files


def read_row(folder: Path) -> Row:
    """Raises CompareError for a folder that is no finished run of a model that is known here, ConfigError for a file
    that cannot be read."""
    record = read_run(folder)
    if record is None:
        raise CompareError(f"{folder} is not a finished run: `ringmt train` ends by writing {SUMMARY} there")
    return row_of(folder, record)


def row_of(folder: Path, record: RunRecord) -> Row:
    """Raises CompareError for a run of a model that is not known here, or without weights and their hash."""
    summary = record.training
    try:
        recipe: Recipe = parse_summary(summary["recipe"])
        alone, *context = (known_hash(path, summary) for path in weight_files(folder, recipe))
        vocabulary = folder
        if isinstance(recipe, DocumentRecipe):
            vocabulary = find_base(recipe.document.base)
            alone = known_base(folder, recipe.document.base, alone, summary)
        return Row(
            name=folder.name,
            folder=folder,
            recipe=recipe,
            bundled=recipe.name if isinstance(recipe, DocumentRecipe) else bundled_name(recipe),
            target_tokens=summary["target_tokens"],
            seconds=summary["seconds"],
            weights_hash=hashlib.sha256(" ".join([alone, *context]).encode()).hexdigest() if context else alone,
            alone_hash=alone,
            vocabulary_hash=file_hash(find_vocabulary(vocabulary)),
        )
    except (OSError, KeyError, TypeError, ConfigError) as error:
        raise CompareError(f"{folder} is not a finished run: {type(error).__name__} {error}") from error


def known_base(folder: Path, base: str, present: str, summary: dict[str, Any]) -> str:
    """The hash of the sentence model that a layer was trained on; `present` is that of `base` as it is now. A row that
    is kept without its weights may stand on one that was replaced since: what was measured counts. Raises CompareError
    where the layer itself would be put on another model."""
    trained_on: str = summary.get("base_sha256", present)
    if trained_on != present and (folder / CONTEXT_WEIGHTS).is_file():
        raise CompareError(f"{folder} was trained on other weights than those of {base}")
    return trained_on


def parse_summary(recipe: dict[str, Any]) -> Recipe:
    return recorded_recipe(recipe) if "document" in recipe else parse_recipe(recipe)


def known_hash(path: Path, summary: dict[str, Any]) -> str:
    """The hash of weights that are there, or as the summary of a row without weights has it. Raises
    FileNotFoundError."""
    if path.is_file():
        return file_hash(path)
    known: dict[str, str] = summary.get(HASHES, {})
    if path.name not in known:
        raise FileNotFoundError(f"{path} is missing, and its hash is not known")
    return known[path.name]


def find_rows(folders: Sequence[Path]) -> list[Row]:
    """Every folder given, or the finished runs that are kept in it, in the order of their places.

    Raises CompareError when there is none, or when two share a name, and ConfigError for a file that cannot be read.
    """
    results = [run for folder in folders for run in find_records(folder).items()]
    if not results:
        where = ", ".join(map(str, folders))
        raise CompareError(f"no finished run in {where}: `ringmt train` ends by writing {SUMMARY} into one")
    rows = [row_of(folder, record) for folder, record in results]
    check_comparable(rows)
    return sorted(rows, key=lambda row: row.place)


def check_comparable(rows: Sequence[Row]) -> None:
    """Raise CompareError when two rows share a name, or translate between other languages."""
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise CompareError(f"two folders are called '{name}': rows go by that name, rename one")
    languages = {
        row.name: f"{row.recipe.data.source}-{row.recipe.data.target}" for row in rows if not row.is_language_model
    }
    if len(set(languages.values())) > 1:
        pairs = ", ".join(f"{name} {pair}" for name, pair in languages.items())
        raise CompareError(f"these rows are of several language pairs ({pairs}): compare those of one")
