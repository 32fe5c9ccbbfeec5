"""Rows of the comparison: finished runs of recipes with the section `document`, and the sentence model below them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.compare.rows import CompareError
from model.config import ConfigError
from model.document import DocumentModel
from model.training.checkpoint import SUMMARY, VOCABULARY, WEIGHTS, load_model
from model.training.document_checkpoint import CONTEXT_SUMMARY, CONTEXT_WEIGHTS, has_context, load_document_model
from model.training.document_recipe import DocumentRecipe, DocumentSection, find_base, recorded_recipe
from model.translation_model import TranslationModel
from server.artifact import file_hash


@dataclass(frozen=True)
class DocumentRow:
    """A finished run: its name (the folder's), where it is, how it was trained. `subject` names its weights, `alone`
    those of the sentence model in it."""

    name: str
    folder: Path
    recipe: DocumentRecipe
    target_tokens: int
    seconds: float
    subject: str
    alone: str

    @property
    def section(self) -> DocumentSection:
        return self.recipe.document

    @property
    def base(self) -> Path:
        """The sentence model's checkpoint, as training left it."""
        return self.folder if self.section.train == "all" else find_base(self.section.base)

    @property
    def has_context(self) -> bool:
        return has_context(self.folder)

    @property
    def is_control(self) -> bool:
        return self.section.context != "document"

    @property
    def vocabulary(self) -> Path:
        return find_base(self.section.base) / VOCABULARY

    def load(self) -> DocumentModel:
        return load_document_model(self.folder, self.base)

    def load_alone(self) -> TranslationModel:
        return load_model(self.base)


def summary_of(folder: Path) -> Path:
    """A kept layer's, or a run's."""
    kept = folder / CONTEXT_SUMMARY
    return kept if kept.is_file() else folder / SUMMARY


def read_document_row(folder: Path) -> DocumentRow:
    """Raises CompareError for a folder that is no finished run with context."""
    try:
        summary: dict[str, Any] = json.loads(summary_of(folder).read_text(encoding="utf-8"))
        recipe = recorded_recipe(summary["recipe"])
        base = folder if recipe.document.train == "all" else find_base(recipe.document.base)
        alone = file_hash(base / WEIGHTS)
        if summary.get("base_sha256", alone) != alone:
            raise CompareError(f"{folder} was trained on other weights than those of {base}")
        subject = alone
        if has_context(folder):
            subject = hashlib.sha256(f"{alone} {file_hash(folder / CONTEXT_WEIGHTS)}".encode()).hexdigest()
        return DocumentRow(
            folder.name, folder, recipe, summary["target_tokens"], summary["seconds"], subject, alone
        )  # fmt: skip
    except (OSError, json.JSONDecodeError, KeyError, TypeError, ConfigError) as error:
        raise CompareError(f"{folder} is not a finished run with context: {type(error).__name__} {error}") from error


def find_document_rows(folders: Sequence[Path], order: Sequence[str] = ()) -> list[DocumentRow]:
    """The finished runs among the folders given and those right below them; those named in `order` first, in it.

    Raises CompareError when there is none, or when they are on several sentence models.
    """
    found: list[Path] = []
    for folder in folders:
        below = sorted(path for path in folder.glob("*") if summary_of(path).is_file())
        found += [folder] if summary_of(folder).is_file() else below
    if not found:
        where = ", ".join(map(str, folders))
        raise CompareError(f"no finished run in {where}: `ringmt train` ends by writing {SUMMARY} into one")
    rows = [read_document_row(folder) for folder in found]
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise CompareError(f"two folders are called '{name}': rows go by that name, rename one")
    bases = {row.section.base for row in rows}
    vocabularies = {file_hash(row.vocabulary) for row in rows}
    if len(bases) > 1 or len(vocabularies) > 1:
        raise CompareError(f"these rows are on several sentence models ({', '.join(sorted(bases))}): compare one's")
    places = {name: place for place, name in enumerate(order)}
    return sorted(rows, key=lambda row: (places.get(row.name, len(places)), row.name))
