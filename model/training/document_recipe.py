"""A recipe with the section `document`: a trained sentence model learns to look at the rest of the document."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from model.config import ConfigError, ContextConfig, reject_unknown_keys
from model.training.checkpoint import CONFIG, load_config
from model.training.recipe import DataRecipe, Recipe, parse_recipe, parse_section, parse_training

ZOO = Path(__file__).parent.parent / "zoo"
SECTIONS = ("name", "document", "data", "training")


@dataclass(frozen=True)
class DocumentSection:
    """Second stage of Maruf et al. 2019, section 3.4."""

    base: str
    """The trained sentence model: a checkpoint folder, or the name of one that comes with RingMT."""
    layer: ContextConfig
    train: str = "context_only"
    """context_only: the sentence model stays as it is and only the context layer learns; all: everything learns, as
    in the paper."""
    rep_refresh: str = "epoch"
    """Where everything learns, which model represents stored sentences: that of the epoch's start (epoch), or for
    ever the one training began with (never, as in the paper)."""
    visible: str = "offline"
    """offline: all other sentences of the document; online: earlier ones only."""
    context: str = "document"
    """document: the true context. Controls: none (the same training without context), shuffled (the context of
    another document)."""
    max_sentences: int = 32
    """Longer documents are cut; shorter ones share an update up to this number."""

    def __post_init__(self) -> None:
        choices = {
            "train": ("context_only", "all"),
            "rep_refresh": ("epoch", "never"),
            "visible": ("offline", "online"),
            "context": ("document", "none", "shuffled"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"document {name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if self.context == "none" and self.train == "context_only":
            raise ConfigError("context 'none' with train 'context_only' leaves nothing to learn: set train to 'all'")
        if not isinstance(self.max_sentences, int) or self.max_sentences < 2:
            raise ConfigError(f"document max_sentences must be a whole number from 2 on, not {self.max_sentences!r}")

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
    document: DocumentSection = parse_section(
        DocumentSection,
        {**section, "layer": ContextConfig.from_dict(section["layer"])},
        "the recipe's document section",
    )
    return DocumentRecipe(
        name=str(values["name"]),
        model=load_config(find_base(document.base)),
        data=data,
        training=parse_training(values["training"]),
        document=document,
    )


def load_any_recipe(path: Path) -> Recipe:
    """A DocumentRecipe where the file has the section `document`."""
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        if isinstance(values, dict) and "document" in values:
            return parse_document_recipe(values)
        return parse_recipe(values)
    except (ConfigError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error


def find_base(name: str) -> Path:
    """The checkpoint folder that a recipe's `base` means. Raises ConfigError with the places that were looked at."""
    for folder in (Path(name), ZOO / name):
        if (folder / CONFIG).is_file():
            return folder
    raise ConfigError(
        f"base '{name}' is neither a checkpoint folder nor a model in {ZOO}: train a sentence model first, "
        f"then name its folder"
    )
