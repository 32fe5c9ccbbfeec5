"""A recipe is the configuration of a training: a YAML file. Unknown keys are refused by name. A recipe with the key
`like` contains only its differences from another recipe."""

import copy
import dataclasses
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from model.config import ConfigError, ModelConfig, reject_unknown_keys
from model.training.checkpoint import find_base, load_config

RECIPES = Path(__file__).parent.parent / "recipes"
"""The folder of bundled recipes."""
ROWS = "-rows.yaml"
LIKE = "like"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser where PyYAML has it: the same values, five to eight times as fast."""


@dataclass(frozen=True)
class DataRecipe:
    """Where the text comes from. Names are files below the data folder, without language and ending."""

    source: str
    target: str
    corpora: dict[str, float]
    """Corpus -> passes per epoch: 1 is all of it, 0.25 another quarter each epoch, 2 twice."""
    dev: dict[str, int]
    """Dev corpus -> number of its first pairs that are scored during training."""
    vocab_size: int = 8000
    vocab_kind: str = "unigram"
    vocab_sentences: int = 400_000
    vocab_anew: bool = False
    """Only with the recipe's `start`: learn a vocabulary from these corpora too, and carry the embeddings over to
    it."""
    max_pair_length: int = 120
    """Longest side of a training pair, in pieces; longer pairs are left out."""
    drawn: float = 0.0
    """Share of the source sentences whose segmentation is sampled again in every epoch (Kudo 2018). Two runs never have
    the same samples, whatever their seed."""

    def __post_init__(self) -> None:
        if not isinstance(self.drawn, int | float) or not 0 <= self.drawn <= 1:
            raise ConfigError(f"data drawn must be a share from 0 to 1, not {self.drawn!r}")


@dataclass(frozen=True)
class TrainingRecipe:
    steps: int
    batch_tokens: int = 4096
    sorted_by: str = "target"
    """How pairs are sorted into batches of like length: "longest" pads least; "target" is how the models were trained
    that are compared with one another."""
    adam_rate: float = 2e-3
    muon_rate: float | None = 4e-3
    """Peak rate of the layers' matrices under Muon; null trains everything with Adam."""
    weight_decay: float = 0.1
    warmup_steps: int = 600
    decay_fraction: float = 0.2
    label_smoothing: float = 0.1
    guided: float = 0.0
    """The weight of the guided alignment loss (model/training/guided.py), for example 0.1; 0: no guided alignment."""
    max_gradient_norm: float = 1.0
    evaluate_every: int = 500
    keep_last: int = 5
    """Checkpoints (one per evaluation) that are averaged at the end, if the average is better on dev."""
    patience: int = 8
    """Evaluations without a better dev score before training stops early."""
    precision: str = "bf16"
    """bf16: where the hardware multiplies it fast, else fp32; fp32: always."""
    seed: int = 1


@dataclass(frozen=True)
class Recipe:
    name: str
    model: ModelConfig
    data: DataRecipe
    training: TrainingRecipe
    start: str | None = dataclasses.field(default=None, kw_only=True)
    """A checkpoint folder, or a model that comes with RingMT, whose weights and vocabulary training begins with (or
    weights only: data.vocab_anew); the section `model` says only what differs from it, and may be left out. null:
    random weights, a vocabulary of the corpora."""
    anew: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    """Only with `start`: parts that begin with random weights nevertheless, such as `decoder`."""


def parse_section(kind: type[Any], values: Any, where: str) -> Any:
    """A recipe's section as the dataclass `kind`. Raises ConfigError for unknown and for missing keys."""
    if not isinstance(values, dict):
        raise ConfigError(f"{where} must be a section of keys and values")
    fields = dataclasses.fields(kind)
    reject_unknown_keys(values, (field.name for field in fields), where)
    missing = dataclasses.MISSING
    needed = [f.name for f in fields if f.default is f.default_factory is missing and f.name not in values]
    if needed:
        raise ConfigError(f"{where} lacks '{needed[0]}'")
    return kind(**values)


def parse_training(values: Any) -> TrainingRecipe:
    training: TrainingRecipe = parse_section(TrainingRecipe, values, "the recipe's training section")
    if training.precision not in ("bf16", "fp32"):
        raise ConfigError(f"precision must be 'bf16' or 'fp32', not '{training.precision}'")
    if training.sorted_by not in ("target", "longest"):
        raise ConfigError(f"sorted_by must be 'target' or 'longest', not '{training.sorted_by}'")
    if not isinstance(training.guided, int | float) or training.guided < 0:
        raise ConfigError(f"guided must be a number, 0 or more, not {training.guided!r}")
    return training


def parse_recipe(values: Any) -> Recipe:
    """Raises ConfigError that names the section and the key."""
    if not isinstance(values, dict):
        raise ConfigError("a recipe is a YAML mapping with the sections name, model, data, training")
    reject_unknown_keys(values, ("name", "start", "anew", "model", "data", "training"), "the recipe")
    start = values.get("start")
    for section in ("name", "model", "data", "training"):
        if section not in values and not (section == "model" and start):
            raise ConfigError(f"the recipe lacks the section '{section}'")
    data: DataRecipe = parse_section(DataRecipe, values["data"], "the recipe's data section")
    training = parse_training(values["training"])
    begun = {} if start is None else start_config(str(start), needed="model" not in values)
    if data.vocab_anew:
        begun.pop("vocab_size", None)
    model = ModelConfig.from_dict({"vocab_size": data.vocab_size, **begun, **values.get("model", {})})
    anew = values.get("anew", [])
    if not isinstance(anew, list | tuple) or (anew and start is None):
        raise ConfigError(
            f"'anew' lists parts that do not begin as in the recipe's 'start', which must be there: {anew!r}"
        )
    return Recipe(str(values["name"]), model, data, training, start=start, anew=tuple(map(str, anew)))


def start_config(start: str, needed: bool) -> dict[str, Any]:
    """The configuration of the model that a recipe's `start` means: the recipe's `model` says what differs. Empty where
    it is not there, which is a ConfigError only where it is `needed`."""
    try:
        return load_config(find_base(start)).to_dict()
    except ConfigError:
        if needed:
            raise
        return {}


def read_yaml(path: Path) -> Any:
    """Raises ConfigError where the text is no YAML."""
    try:
        return copy.deepcopy(_parsed(path.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: {error}") from error


@functools.lru_cache(16)
def _parsed(text: str) -> Any:
    """The values of a YAML text; the last files are cached, because every row of a recipe is read beside all other
    rows."""
    return yaml.load(text, Loader=_LOADER)


def read_recipe(path: Path) -> Any:
    """The values of a recipe's file. Where it is like another, they are the other's, with those of this file in their
    place: whole ones, and in sections key by key. Raises ConfigError."""
    own, base = read_yaml(path), recipe_like(path)
    if base is None:
        return own
    merged = {key: value for key, value in read_yaml(base).items() if key != "name"}
    for key, value in own.items():
        inherited = merged.get(key)
        are_sections = isinstance(inherited, dict) and isinstance(value, dict)
        merged[key] = inherited | value if are_sections else value
    del merged[LIKE]
    return merged


def recipe_like(path: Path) -> Path | None:
    """The file of the recipe that this one is like: NAME.yaml beside it, or a bundled one; None where it is like none.
    Raises ConfigError where it is not there, or like another itself."""
    values = read_yaml(path)
    if not isinstance(values, dict) or LIKE not in values:
        return None
    name = str(values[LIKE])
    places = (path.with_name(f"{name}.yaml"), RECIPES / f"{name}.yaml")
    base = next((place for place in places if place.is_file()), None)
    if base is None:
        raise ConfigError(f"{path}: there is no recipe '{name}' to be like, neither beside it nor a bundled one")
    known = read_yaml(base)
    if not isinstance(known, dict) or LIKE in known:
        raise ConfigError(f"{path}: '{LIKE}' must name a recipe that says everything itself, which {base} does not")
    return base


def rows_file(base: Path) -> Path:
    """Where the rows of a recipe are: NAME-rows.yaml beside NAME.yaml, or those of the recipe that it is like. It may
    not be there. Raises ConfigError."""
    own = base.with_name(f"{base.stem}{ROWS}")
    if own.is_file() or not base.is_file():
        return own
    like = recipe_like(base)
    return own if like is None else like.with_name(f"{like.stem}{ROWS}")


def read_row(base: Path, row: str) -> dict[str, Any]:
    """What a row changes. Raises ConfigError that names the nearest row."""
    path = rows_file(base)
    if not path.is_file():
        raise ConfigError(f"the recipe {base.stem} has no rows: there is no {path.name} beside it")
    rows = read_yaml(path)
    if not isinstance(rows, dict):
        raise ConfigError(f"{path}: must be a mapping from row names to changes")
    reject_unknown_keys([row], rows, f"the rows of {base.stem}")
    if not isinstance(rows[row], dict):
        raise ConfigError(f"{path}, row {row}: a row must be a mapping of keys")
    changes: dict[str, Any] = rows[row]
    return changes


def load_row(base: Path, row: str) -> Recipe:
    """The recipe `base` with the model changes of one of its rows, named BASE/ROW.

    Raises ConfigError that names the nearest row or the key that is wrong.
    """
    changes, recipe = read_row(base, row), read_recipe(base)
    try:
        parse_recipe(recipe)
        name, model = f"{recipe['name']}/{row}", {**recipe.get("model", {}), **changes}
        return parse_recipe({**recipe, "name": name, "model": model})
    except ConfigError as error:
        raise ConfigError(f"{rows_file(base)}, row {row}: {error}") from error
