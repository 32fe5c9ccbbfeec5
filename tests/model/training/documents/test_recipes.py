"""Recipes for documents: the bundled ones, their rows, and those that cannot be used."""

import dataclasses
import shutil
from pathlib import Path

import pytest
import yaml

from model.config import ConfigError
from model.training.bundled import bundled_rows, find_recipe
from model.training.checkpoint import find_base
from model.training.document_checkpoint import load_document_model
from model.training.document_recipe import DocumentRecipe, load_any_row, parse_document_recipe
from model.training.recipe import RECIPES, rows_file
from tests.model.training.documents.some import recipe


def test_the_bundled_recipes_are_for_documents() -> None:
    for row in bundled_rows("documents"):
        result = find_recipe(row)
        assert isinstance(result, DocumentRecipe)
        side = "decoder" if "decoder" in row else "encoder"
        assert (result.document.layer.side, find_base(result.document.base).name) == (side, "en-de")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": "some"}, "train must be one of context_only, all"),
        ({"context": "none"}, "leaves nothing to learn"),
        ({"visible": "past"}, "visible must be one of offline, online"),
        ({"first_gate": 1.0}, "first_gate must be between 0 and 1, or null, not 1.0"),
        ({"base_rate": 0}, "base_rate must be above 0 and at most 1, not 0"),
        ({"train": "all", "alone": 1}, "alone must be a share from 0 on and below 1, not 1"),
        ({"alone": 0.2}, "alone is for train 'all'"),
        ({"quiet": -1}, "quiet must be a number from 0 on, not -1"),
        ({"items": "dev"}, "items must map contrastive sets to numbers, not 'dev'"),
        ({"max_sentences": 1}, "max_sentences must be a whole number from 2 on, not 1"),
        ({"refresh": "epoch"}, "unknown key 'refresh' in the recipe's document section: did you mean 'rep_refresh'"),
        ({"layer": None}, "the section 'layer'"),
        ({"layer": {"atention": "x"}}, "did you mean 'attention'"),
    ],
)
def test_a_document_recipe_that_cannot_be_used_says_why(changes: dict[str, object], message: str) -> None:
    values = yaml.safe_load((RECIPES / "documents.yaml").read_text(encoding="utf-8"))
    values["document"] |= changes
    with pytest.raises(ConfigError, match=message):
        parse_document_recipe(values)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("data/vocab_size", 8000, "the base has its vocabulary"),
        ("data/drawn", 50, "drawn must be a share from 0 to 1, not 50"),
        ("training/sorted_by", "longest", "documents are sorted otherwise"),
    ],
)
def test_data_and_training_that_do_not_fit_documents_are_refused(key: str, value: object, message: str) -> None:
    values = yaml.safe_load((RECIPES / "documents.yaml").read_text(encoding="utf-8"))
    section, _, name = key.partition("/")
    values[section][name] = value
    with pytest.raises(ConfigError, match=message):
        parse_document_recipe(values)


def test_a_base_that_is_not_there_and_a_folder_without_context(base: Path) -> None:
    with pytest.raises(ConfigError, match="neither a checkpoint folder nor a model"):
        find_base("en-dee")
    with pytest.raises(ConfigError, match="holds no context layer"):
        load_document_model(base)


def test_recipes_are_frozen(base: Path) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe(base).document.train = "all"  # type: ignore[misc]


def test_a_row_changes_the_document_section(tmp_path: Path) -> None:
    base = find_recipe("documents")
    assert isinstance(base, DocumentRecipe)
    result = find_recipe("documents/decoder-flat-word")
    assert isinstance(result, DocumentRecipe)
    assert (result.name, result.document.layer.attention) == ("documents/decoder-flat-word", "flat-word")
    assert dataclasses.replace(result, name=base.name, document=base.document) == base
    layer = dataclasses.replace(base.document.layer, attention="flat-word", side="decoder")
    assert result.document == dataclasses.replace(base.document, layer=layer)
    path = tmp_path / "documents.yaml"
    shutil.copyfile(RECIPES / "documents.yaml", path)
    rows_file(path).write_text(
        "slower: {training: {adam_rate: 2.0e-4}}\nbad: {visble: online}\nworse: [1]\nlayer: {layer: 3}\n",
        encoding="utf-8",
    )
    assert load_any_row(path, "slower").training == dataclasses.replace(base.training, adam_rate=2e-4)
    with pytest.raises(ConfigError, match=r"documents-rows.yaml, row bad: .*did you mean 'visible'"):
        load_any_row(path, "bad")
    with pytest.raises(ConfigError, match="row worse: a row must be a mapping"):
        load_any_row(path, "worse")
    with pytest.raises(ConfigError, match="row layer: "):
        load_any_row(path, "layer")
    with pytest.raises(ConfigError, match="did you mean 'worse'"):
        load_any_row(path, "wors")
