"""A recipe with the section `document`: a trained sentence model learns to use context."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model.config import ConfigError, ContextConfig, reject_unknown_keys
from model.training.checkpoint import find_base, load_config
from model.training.recipe import (
    DataRecipe,
    Recipe,
    load_row,
    parse_recipe,
    parse_section,
    parse_training,
    read_recipe,
    read_row,
    rows_file,
)

SECTIONS = ("name", "document", "data", "training")
NOT_FOR_DOCUMENTS = {
    "sorted_by": "documents are sorted otherwise",
    "guided": "a sentence model learns to align by a recipe of its own",
}
"""Keys of the training section that only recipes of sentence models have -> the reason."""


@dataclass(frozen=True)
class DocumentSection:
    """Second stage of Maruf et al. 2019, section 3.4."""

    base: str
    """The trained sentence model: a checkpoint folder, or the name of one that comes with RingMT."""
    layer: ContextConfig
    train: str = "context_only"
    """context_only: the sentence model stays as it is and only the context layer learns; all: everything learns, as
    in the paper; corpora that nothing divides into documents then teach it single sentences."""
    base_rate: float = 1.0
    """Where everything learns, what the rates are multiplied by for the sentence model: the layer begins
    at random, the sentence model is trained."""
    alone: float = 0.0
    """Where everything learns, the share of updates in which no sentence sees another, so that the sentence model
    stays as good by itself on text that comes in documents. Corpora context-* are left out of these: without the
    sentence that decides it, "it" would be anything."""
    rep_refresh: str = "epoch"
    """Where everything learns, which model represents stored sentences: that of the epoch's start (epoch), or for
    ever the one training began with (never, as in the paper). update: the model as it is, and gradients flow into
    what is stored, so that the states learn what other sentences need."""
    visible: str = "offline"
    """offline: all other sentences of the document; online: earlier ones only; both: either, from update to update."""
    context: str = "document"
    """document: the true context. Controls: none (the same training without context), shuffled (the context of
    another document)."""
    max_sentences: int = 32
    """Longer documents are cut. Documents share an update up to `batch_tokens`, sentences x longest side."""
    start: str | None = None
    """The context layer of the same shape that training continues, a folder or the name of a model that comes with
    RingMT; null: a new layer, see `first_gate`."""
    quiet: float = 0.0
    """Loss, in nats, for moving the state of a source position by its own length, so that the layer learns to change
    only what context decides."""
    first_gate: float | None = 0.95
    """The gate at the start of training, that is the weight of a sentence's own state: near 1 the model starts as the
    sentence model;
    null: random weights, about 0.5, as in the paper."""
    stressed: tuple[str, ...] = ()
    """Target words of one piece each that context decides, such as pronouns."""
    stress: float = 0.0
    """Added to the weight of stressed words in the loss; other words have the weight 1."""
    items: Mapping[str, int] = field(default_factory=dict)
    """Contrastive set below the data folder, without .jsonl.gz -> number of its first items. The checkpoint is chosen
    by dev perplexity and by the share of these items that are right, because a pronoun hardly changes perplexity."""
    items_weight: float = 0.5
    """Added to the mean dev nll if all items are wrong, in nats."""

    def __post_init__(self) -> None:
        choices = {
            "train": ("context_only", "all"),
            "rep_refresh": ("epoch", "never", "update"),
            "visible": ("offline", "online", "both"),
            "context": ("document", "none", "shuffled"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"document {name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if self.context == "none" and self.train == "context_only":
            raise ConfigError("context 'none' with train 'context_only' leaves nothing to learn: set train to 'all'")
        if not isinstance(self.max_sentences, int) or self.max_sentences < 2:
            raise ConfigError(f"document max_sentences must be a whole number from 2 on, not {self.max_sentences!r}")
        if self.first_gate is not None and not (isinstance(self.first_gate, float) and 0 < self.first_gate < 1):
            raise ConfigError(f"document first_gate must be between 0 and 1, or null, not {self.first_gate!r}")
        if not isinstance(self.base_rate, int | float) or not 0 < self.base_rate <= 1:
            raise ConfigError(f"document base_rate must be above 0 and at most 1, not {self.base_rate!r}")
        if not isinstance(self.alone, int | float) or not 0 <= self.alone < 1:
            raise ConfigError(f"document alone must be a share from 0 on and below 1, not {self.alone!r}")
        if self.alone and self.train == "context_only":
            raise ConfigError("document alone is for train 'all': a frozen sentence model learns nothing from itself")
        if not isinstance(self.quiet, int | float) or self.quiet < 0:
            raise ConfigError(f"document quiet must be a number from 0 on, not {self.quiet!r}")
        if not isinstance(self.items, Mapping):
            raise ConfigError(f"document items must map contrastive sets to numbers, not {self.items!r}")

    @property
    def freezes_base(self) -> bool:
        return self.train == "context_only"


@dataclass(frozen=True)
class DocumentRecipe(Recipe):
    """`model` is the base's."""

    document: DocumentSection


def parse_document_recipe(values: dict[str, Any]) -> DocumentRecipe:
    """Raises ConfigError that names the section and the key."""
    reject_unknown_keys(values, SECTIONS, "a recipe with the section 'document'")
    for section in SECTIONS:
        if section not in values:
            raise ConfigError(f"the recipe lacks the section '{section}'")
    section = values["document"]
    if not isinstance(section, dict) or not isinstance(section.get("layer"), dict):
        raise ConfigError("the recipe's document section must have the key 'base' and the section 'layer'")
    data: DataRecipe = parse_section(DataRecipe, values["data"], "the recipe's data section")
    for key in values["data"]:
        if key.startswith("vocab"):
            raise ConfigError(f"'{key}' is not for a recipe with the section 'document': the base has its vocabulary")
    for key, why in NOT_FOR_DOCUMENTS.items():
        if key in values["training"]:
            raise ConfigError(f"'{key}' is not for a recipe with the section 'document': {why}")
    document: DocumentSection = parse_section(
        DocumentSection,
        {**section, "layer": ContextConfig.from_dict(section["layer"]), "stressed": tuple(section.get("stressed", ()))},
        "the recipe's document section",
    )
    return DocumentRecipe(
        name=str(values["name"]),
        model=load_config(find_base(document.base)),
        data=data,
        training=parse_training(values["training"]),
        document=document,
    )


def recorded_recipe(values: dict[str, Any]) -> DocumentRecipe:
    """The recipe as training.json has it. Raises ConfigError where its base is not there."""
    data = {key: value for key, value in values["data"].items() if not key.startswith("vocab")}
    training = {key: value for key, value in values["training"].items() if key not in NOT_FOR_DOCUMENTS}
    return parse_document_recipe(
        {"name": values["name"], "training": training, "document": values["document"], "data": data}
    )


def load_any_recipe(path: Path) -> Recipe:
    """A DocumentRecipe where the file has the section `document`."""
    values = read_recipe(path)
    try:
        if isinstance(values, dict) and "document" in values:
            return parse_document_recipe(values)
        return parse_recipe(values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def load_any_row(base: Path, row: str) -> Recipe:
    """Like load_row; a row of a recipe with the section `document` changes that section, and may have the section
    `training` with changes of the recipe's.

    Raises ConfigError that names the nearest row or the key that is wrong.
    """
    recipe = read_recipe(base)
    if not isinstance(recipe, dict) or "document" not in recipe:
        return load_row(base, row)
    changes = read_row(base, row)
    try:
        parse_document_recipe(recipe)
        training = {**recipe["training"], **changes.pop("training", {})}
        section = {**recipe["document"], **changes}
        section["layer"] = {**recipe["document"]["layer"], **changes.get("layer", {})}
        name = f"{recipe['name']}/{row}"
        return parse_document_recipe({**recipe, "name": name, "document": section, "training": training})
    except (ConfigError, TypeError) as error:
        raise ConfigError(f"{rows_file(base)}, row {row}: {error}") from error
