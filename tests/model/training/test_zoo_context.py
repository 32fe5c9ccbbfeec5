"""Context layers are kept without the sentence model that they were trained on."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from export.compare.rows import read_row
from model.config import ContextConfig
from model.document import DocumentModel
from model.training.bundled import find_recipe
from model.training.checkpoint import METRICS, WEIGHTS, find_base, load_config, load_model
from model.training.document_checkpoint import (
    CONTEXT_SUMMARY,
    CONTEXT_WEIGHTS,
    has_context,
    load_document_model,
    save_document_model,
)
from model.training.document_recipe import DocumentRecipe
from model.training.zoo import ZooError, keep_run

ROW = "documents/encoder-flat-sentence"
BASE = find_base("en-de")


def run(folder: Path, name: str = ROW, **training: Any) -> Path:
    """A finished run of random weights, as training leaves it."""
    recipe = find_recipe(name)
    assert isinstance(recipe, DocumentRecipe)
    torch.manual_seed(3)
    model = DocumentModel(load_model(BASE), recipe.document.layer)
    save_document_model(dict(model.state_dict()), recipe.model, recipe.document.layer, folder)
    values = dataclasses.asdict(recipe)
    values["training"] |= training
    summary = {"recipe": values, "steps": 300, "target_tokens": 5000, "seconds": 61}
    (folder / "training.json").write_text(json.dumps(summary), encoding="utf-8")
    (folder / METRICS).write_text("step,nll dev\n300,1.5\n", encoding="utf-8")
    return folder


def test_a_layer_is_kept_alone_and_stands_on_its_sentence_model(tmp_path: Path) -> None:
    source, kept = run(tmp_path / "run", seed=2), tmp_path / "kept"
    keep_run(source, kept)
    assert sorted(path.name for path in kept.iterdir()) == [CONTEXT_SUMMARY, "context.json", CONTEXT_WEIGHTS]
    assert (kept / CONTEXT_WEIGHTS).stat().st_size < 0.6 * (source / CONTEXT_WEIGHTS).stat().st_size
    summary = json.loads((kept / CONTEXT_SUMMARY).read_text(encoding="utf-8"))
    assert summary["command"] == f"ringmt train --recipe {ROW} --data DATA --out RUN --seed 2"
    assert (summary["stored_as"], summary["seconds"], len(summary["base_sha256"])) == ("fp16", 61, 64)
    before, after = load_document_model(source), load_document_model(kept, BASE)
    for name, tensor in before.state_dict().items():
        assert torch.allclose(tensor, after.state_dict()[name], atol=1e-3)


def test_a_layer_can_be_written_beside_its_sentence_model_and_beside_no_other(tmp_path: Path) -> None:
    source, beside = run(tmp_path / "run"), tmp_path / "beside"
    shutil.copytree(BASE, beside, ignore=shutil.ignore_patterns("context*"))
    assert not has_context(beside)
    keep_run(source, beside)
    assert has_context(beside)
    assert (beside / WEIGHTS).read_bytes() == (BASE / WEIGHTS).read_bytes()
    assert load_document_model(beside).config == ContextConfig("flat-sentence", "encoder", 8, None, 0.1)
    (beside / WEIGHTS).write_bytes(b"another")
    kept = load_file(beside / CONTEXT_WEIGHTS)
    with pytest.raises(ZooError, match=r"holds another sentence model than .*en-de"):
        keep_run(source, beside)
    assert all(torch.equal(tensor, kept[name]) for name, tensor in load_file(beside / CONTEXT_WEIGHTS).items())


def test_a_sentence_model_that_learned_too_is_kept_with_its_layer(tmp_path: Path) -> None:
    name = "documents/all-encoder-sparse-soft"
    source, kept = run(tmp_path / "run", name), tmp_path / "kept"
    values = json.loads((source / "config.json").read_text(encoding="utf-8"))
    (source / "config.json").write_text(json.dumps(values | {"dropout": 0.25}), encoding="utf-8")
    keep_run(source, kept)
    assert load_config(kept).dropout == 0.25  # as it was trained, not as what it began with
    files = ["config.json", "context.json", CONTEXT_WEIGHTS, METRICS, "training.json", WEIGHTS]
    assert sorted(path.name for path in kept.iterdir()) == files
    assert (kept / WEIGHTS).stat().st_size < 0.6 * (source / WEIGHTS).stat().st_size
    summary = json.loads((kept / "training.json").read_text(encoding="utf-8"))
    assert summary["command"] == f"ringmt train --recipe {name} --data DATA --out RUN"
    before, after = load_document_model(source), load_document_model(kept)
    for key, tensor in before.state_dict().items():
        assert torch.allclose(tensor, after.state_dict()[key], atol=1e-3)


def test_it_may_take_the_place_of_the_sentence_model_and_the_layer_that_it_began_with(tmp_path: Path) -> None:
    source, place = run(tmp_path / "run", "documents/all-encoder-sparse-soft"), tmp_path / "place"
    shutil.copytree(BASE, place)
    for name in ("vocabulary.model", "ATTRIBUTION.md", CONTEXT_SUMMARY):
        (place / name).write_text("stays", encoding="utf-8")
    keep_run(source, place)
    assert not (place / CONTEXT_SUMMARY).exists()  # training.json is about both now
    assert (place / METRICS).read_bytes() == (source / METRICS).read_bytes()
    assert {(place / name).read_text(encoding="utf-8") for name in ("vocabulary.model", "ATTRIBUTION.md")} == {"stays"}
    before, after = load_document_model(source), load_document_model(place)
    for key, tensor in before.state_dict().items():
        assert torch.allclose(tensor, after.state_dict()[key], atol=1e-3)


def test_the_control_without_context_is_kept_as_a_sentence_model(tmp_path: Path) -> None:
    source, kept = run(tmp_path / "run", "documents/all-no-context"), tmp_path / "kept"
    for file in ("context.json", CONTEXT_WEIGHTS):
        (source / file).unlink()
    keep_run(source, kept)
    assert sorted(path.name for path in kept.iterdir()) == ["config.json", METRICS, "training.json", WEIGHTS]
    row = read_row(kept)
    assert (row.base, row.has_context) == (kept, False)


def test_refused_runs_give_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="no bundled recipe trains"):
        keep_run(run(tmp_path / "run", steps=3), tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
