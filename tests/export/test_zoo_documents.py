"""Kept context layers stand on their sentence models, can be trained again, and stay small."""

import json
from pathlib import Path

import pytest
import torch

from export.compare.documents.report import MARK
from export.compare.documents.rows import DocumentRow, read_document_row
from model.data.batching import Pair, collate
from model.data.vocabulary import Vocabulary
from model.document import words_of
from model.training.bundled import find_recipe
from model.training.document_checkpoint import CONTEXT_SUMMARY
from model.training.document_recipe import DocumentRecipe
from tests.models import SENTENCES

ZOO = Path(__file__).parent.parent.parent / "model/zoo"
ROWS = {row.name: row for row in map(read_document_row, sorted(p.parent for p in ZOO.glob(f"*/*/{CONTEXT_SUMMARY}")))}
BUNDLED = ZOO / "en-de"


def rows() -> list[DocumentRow]:
    return [*ROWS.values(), read_document_row(BUNDLED)]


def test_there_is_a_layer_of_every_kind_and_a_page() -> None:
    kinds = {(row.section.layer.side, row.section.layer.attention) for row in ROWS.values()}
    assert len(kinds) == 8
    assert (ZOO / "documents/README.md").read_text(encoding="utf-8").startswith(MARK)


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row.name))
def test_a_layer_says_how_to_train_it_again(row: DocumentRow) -> None:
    summary = json.loads((row.folder / CONTEXT_SUMMARY).read_text(encoding="utf-8"))
    recipe = find_recipe(row.recipe.name)
    assert isinstance(recipe, DocumentRecipe)
    assert recipe == row.recipe
    assert summary["command"] == f"ringmt train --recipe {recipe.name} --data DATA --out RUN"
    assert (row.folder / "context.safetensors").stat().st_size < 3 * 2**20


@pytest.mark.parametrize("row", rows(), ids=lambda row: str(row.name))
def test_a_layer_changes_a_sentence_that_sees_others_and_no_other(row: DocumentRow) -> None:
    model, vocabulary = row.load(), Vocabulary(row.vocabulary)
    sources, targets = (vocabulary.encode(list(SENTENCES[first : first + 4])) for first in (0, 8))
    batch = collate([Pair(*both) for both in zip(sources, targets, strict=True)])
    with torch.no_grad():
        store = model.store(words_of(model.base, model.config.side, batch))
        alone = model.base.hidden(batch.source, batch.source_keep, batch.target_in)
        blind = model.hidden(batch, store, torch.zeros(4, 4, dtype=torch.bool))
        seeing = model.hidden(batch, store, ~torch.eye(4, dtype=torch.bool))
    assert torch.allclose(alone, blind, atol=1e-4)
    assert (seeing - alone).abs().max() > 1e-3
