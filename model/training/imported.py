"""Checkpoints of models that others trained, as `ringmt unpack` writes them: their words have ids of their own, often
another vocabulary for each side. They learn nothing, but a context layer can be trained on them."""

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from model.config import ConfigError, ModelConfig, SpecialIds
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import IMPORTED, VOCABULARY, find_vocabulary, read_json, write_json
from model.training.document_recipe import DocumentRecipe

SOURCE_VOCABULARY = "source-vocabulary.model"


@dataclass(frozen=True)
class Imported:
    """What the manifest of an artifact has beside the configuration: ids before every source, and whether a translation
    that reaches the greatest length ends with EOS."""

    source_prefix: tuple[int, ...] = ()
    forced_eos: bool = False

    def save(self, folder: Path) -> None:
        write_json(folder / IMPORTED, asdict(self))


def load_imported(folder: Path) -> Imported | None:
    """The record of an imported model in a checkpoint folder; None for our own models."""
    if not (folder / IMPORTED).is_file():
        return None
    values = read_json(folder / IMPORTED)
    return Imported(tuple(values["source_prefix"]), bool(values["forced_eos"]))


def source_vocabulary(folder: Path) -> Path | None:
    """The vocabulary of the source, where it has one of its own."""
    path = folder / SOURCE_VOCABULARY
    return path if path.is_file() else None


def copy_texts(start: Path, out: Path) -> None:
    """Copy what makes ids of texts, of a checkpoint folder, imported or not."""
    imported = load_imported(start)
    shutil.copyfile(find_vocabulary(start) if imported is None else start / VOCABULARY, out / VOCABULARY)
    if imported is not None:
        imported.save(out)
        if source_vocabulary(start) is not None:
            shutil.copyfile(start / SOURCE_VOCABULARY, out / SOURCE_VOCABULARY)


def check_trainable(config: ModelConfig, where: str) -> None:
    """Raise ConfigError, which names the reason, for an imported model that no context layer can be trained on."""
    if config.eos_id == config.pad_id:
        raise ConfigError(f"{where}: EOS and padding have one id, {config.eos_id}, so that no loss ends at EOS")
    if not config.source_eos:
        raise ConfigError(f"{where}: sources do not end with EOS, which stands behind the words of stored sentences")


def check_layer(recipe: DocumentRecipe) -> None:
    """Raise ConfigError, which names the key, for what a recipe cannot do with an imported model."""
    section = recipe.document
    refused = {
        "train": (section.train != "context_only", "its weights stay as they are: context_only"),
        "layer side": (section.layer.side != "encoder", "translations of other sentences are not made here: encoder"),
        "items": (bool(section.items), "contrastive items are scored with one vocabulary: leave it out"),
        "drawn": (bool(recipe.data.drawn), "its words are cut in one way: 0"),
    }
    for key, (is_refused, why) in refused.items():
        if is_refused:
            raise ConfigError(f"{key}: {section.base} is an imported model; {why}")


class ImportedVocabulary(Vocabulary):
    """Ids with the `prefix` of every source; pieces that the model has no word for are UNK."""

    def __init__(self, path: Path, size: int, ids: SpecialIds, prefix: tuple[int, ...] = ()) -> None:
        super().__init__(path)
        self._size, self._unknown, self._prefix = size, ids.unk, prefix

    def encode(self, texts: list[str]) -> list[list[int]]:
        return [
            [*self._prefix, *(word if word < self._size else self._unknown for word in ids)]
            for ids in super().encode(texts)
        ]


def vocabularies(folder: Path, config: ModelConfig) -> tuple[Vocabulary, Vocabulary]:
    """Those of source and target of a checkpoint folder, imported or not."""
    imported, target = load_imported(folder), folder / VOCABULARY
    if imported is None:
        own = Vocabulary(target)
        return own, own
    source = source_vocabulary(folder) or target
    return (
        ImportedVocabulary(source, config.source_vocab_size or config.vocab_size, config.ids, imported.source_prefix),
        ImportedVocabulary(target, config.vocab_size, config.ids),
    )
