"""Kept context layers stand on their sentence models, can be trained again, and stay small."""

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
import torch

from export.compare.rows import Row, read_row, row_of
from model.config import CONTEXT_ATTENTIONS, CONTEXT_SIDES, ContextConfig
from model.data.batching import Pair, collate
from model.data.vocabulary import Vocabulary
from model.document import words_of
from model.training.bundled import find_recipe
from model.training.document_checkpoint import CONTEXT_WEIGHTS
from model.training.document_recipe import DocumentRecipe, DocumentSection
from model.training.run_records import find_records
from model.training.zoo import train_command_line
from tests.models import SENTENCES

ZOO = Path(__file__).parent.parent.parent / "model/zoo"
RECORDS = find_records(ZOO / "documents")
ROWS = {path.name: row_of(path, record) for path, record in RECORDS.items()}
BUNDLED = read_row(ZOO / "en-de")


def section(row: Row) -> DocumentSection:
    assert row.section is not None
    return row.section


def with_weights() -> list[Row]:
    return [row for row in (*ROWS.values(), BUNDLED) if row.has_weights and row.has_context]


def test_every_kind_has_three_seeds_on_either_side_and_a_page() -> None:
    seeds = Counter(row.bundled for row in ROWS.values())
    for side in CONTEXT_SIDES:
        assert {seeds[f"documents/{side}-{kind}"] for kind in CONTEXT_ATTENTIONS} == {3}
    assert seeds["documents/encoder-sparse-soft-shuffled"] == 3
    page = (ZOO / "documents/README.md").read_text(encoding="utf-8")
    assert [name for name in ROWS if f"| {name} |" not in page] == []


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: str(row.name))
def test_a_layer_says_how_to_train_it_again(row: Row) -> None:
    record = RECORDS[row.folder]
    recipe = find_recipe(row.recipe.name)
    assert isinstance(recipe, DocumentRecipe)
    training = dataclasses.replace(recipe.training, seed=row.seed)
    assert dataclasses.replace(recipe, training=training) == row.recipe
    assert record.training["command"] == train_command_line(recipe.name, row.recipe)
    assert (record.config is None) == section(row).freezes_base
    assert (record.context is None) == (not row.has_context)
    assert record.context is None or ContextConfig.from_dict(record.context) == section(row).layer


def test_layers_in_the_zoo_are_small() -> None:
    for row in with_weights():
        assert (row.folder / CONTEXT_WEIGHTS).stat().st_size < 3 * 2**20


@pytest.mark.parametrize("row", with_weights(), ids=lambda row: str(row.name))
def test_a_layer_changes_a_sentence_that_sees_others_and_no_other(row: Row) -> None:
    model, vocabulary = row.load_in_context(), Vocabulary(row.vocabulary)
    sources, targets = (vocabulary.encode(list(SENTENCES[first : first + 4])) for first in (0, 8))
    batch = collate([Pair(*both) for both in zip(sources, targets, strict=True)])
    with torch.no_grad():
        store = model.store(words_of(model.base, model.config.side, batch))
        alone = model.base.hidden(batch.source, batch.source_keep, batch.target_in)
        blind = model.hidden(batch, store, torch.zeros(4, 4, dtype=torch.bool))
        seeing = model.hidden(batch, store, ~torch.eye(4, dtype=torch.bool))
    assert torch.allclose(alone, blind, atol=1e-4)
    assert (seeing - alone).abs().max() > 1e-3
