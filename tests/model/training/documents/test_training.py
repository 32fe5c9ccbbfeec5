"""Runs that train on documents: what they start from, do, keep and choose."""

import gzip
import json
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from model.data.documents import Passage
from model.greedy import greedy
from model.training.checkpoint import WEIGHTS, load_model
from model.training.document_checkpoint import has_context, load_document_model
from model.training.drafts import drafts_of
from model.training.train_document import DocumentTraining, train_document
from tests.documents import some_pairs
from tests.model.training.documents.some import SAMPLE, recipe


def test_drafts_are_made_once(base: Path, tmp_path: Path) -> None:
    model, sources = load_model(base), [pair.source for pair in some_pairs((3, 6, 2))]
    cache = tmp_path / "drafts"
    made = drafts_of(model, base / WEIGHTS, sources, 9, cache)
    assert made == greedy(model, sources, 9)
    with torch.no_grad():
        model.embedding.weight.zero_()  # whoever asks again gets the file
    assert drafts_of(model, base / WEIGHTS, sources, 9, cache) == made
    assert drafts_of(model, base / WEIGHTS, sources[:2], 9, cache) != made[:2]


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_the_context_layer_learns_and_the_sentence_model_stays(side: str, base: Path, tmp_path: Path) -> None:
    train_document(recipe(base, side=side, training={"precision": "fp32"}), SAMPLE, tmp_path)
    summary = yaml.safe_load((tmp_path / "training.json").read_text(encoding="utf-8"))
    assert summary["steps"] == 8
    assert (tmp_path / "metrics.csv").read_text(encoding="utf-8").count("\n") == 3
    ours, theirs = load_file(tmp_path / WEIGHTS), load_file(base / WEIGHTS)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert load_model(tmp_path).config == load_model(base).config  # a sentence model as well
    model = load_document_model(tmp_path)
    assert model.config.side == side
    run = DocumentTraining(recipe(base, side=side, training={"precision": "fp32"}), SAMPLE, tmp_path / "again")
    before = run.documents.context.state_dict()
    assert any(not torch.equal(tensor, before[name]) for name, tensor in model.context.state_dict().items())
    # Random context hurts a random model; some steps later it hurts less.
    assert summary["dev_nll_with_context"]["dialogues"] < run.dev_scores()["dialogues"]
    assert summary["dev_nll_without_context"]["dialogues"] == pytest.approx(
        run.dev_scores(False)["dialogues"], abs=1e-3
    )
    assert (tmp_path / "drafts").is_dir() == (side == "decoder")


def test_everything_can_learn_and_stores_follow_once_an_epoch(base: Path, tmp_path: Path) -> None:
    class Watching(DocumentTraining):
        def epoch_updates(self, epoch: int) -> list[Passage]:
            work = super().epoch_updates(epoch)
            current = self.documents.base.state_dict()
            same.append(all(torch.equal(t, current[n]) for n, t in self.state_model.state_dict().items()))
            return work

    for refresh, expected in (("epoch", [True, True, True]), ("never", [True, False, False])):
        same: list[bool] = []
        first = recipe(base, train="all", rep_refresh=refresh)
        Watching(first, SAMPLE, tmp_path / refresh).run()
        assert same == expected
        changed, before = load_file(tmp_path / refresh / WEIGHTS), load_file(base / WEIGHTS)
        assert not torch.equal(changed["embedding.weight"], before["embedding.weight"])


@pytest.mark.parametrize("train", ["context_only", "all"])
def test_a_run_that_was_stopped_goes_on_with_the_same_curve(train: str, base: Path, tmp_path: Path) -> None:
    class Stopped(DocumentTraining):
        def evaluate(self, train_nll: float) -> bool:
            super().evaluate(train_nll)
            return False

    whole = recipe(base, train=train, visible="online")
    train_document(whole, SAMPLE, tmp_path / "straight")
    Stopped(whole, SAMPLE, tmp_path / "stopped").run()
    train_document(whole, SAMPLE, tmp_path / "stopped")
    for name in (WEIGHTS, "context.safetensors"):
        straight, stopped = (load_file(tmp_path / folder / name) for folder in ("straight", "stopped"))
        assert all(torch.equal(straight[key], stopped[key]) for key in straight)


def test_the_control_without_context_is_the_sentence_model_trained_on(base: Path, tmp_path: Path) -> None:
    train_document(recipe(base, train="all", context="none"), SAMPLE, tmp_path)
    summary = yaml.safe_load((tmp_path / "training.json").read_text(encoding="utf-8"))
    assert summary["dev_nll_with_context"] == summary["dev_nll_without_context"]
    assert not has_context(tmp_path)
    assert not torch.equal(
        load_file(tmp_path / WEIGHTS)["embedding.weight"], load_file(base / WEIGHTS)["embedding.weight"]
    )


def test_the_control_with_foreign_context_shows_foreign_context(base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, context="shuffled"), SAMPLE, tmp_path)
    true: dict[int, list[int]] = {}
    shown: dict[int, list[int]] = {}
    for passage in run.epoch_updates(0):
        for item, sentences in ((true, passage.queries), (shown, passage.keys)):
            for sentence in sentences:
                item.setdefault(sentence.document, []).append(id(sentence.pair))
    assert len(true) > 2
    assert shown.keys() == true.keys()
    assert sorted(shown.values()) == sorted(true.values())  # each whole document is shown once
    assert all(shown[number] != true[number] for number in true)
    run.update(run.epoch_updates(0)[0])


def test_the_checkpoint_is_chosen_by_perplexity_and_by_items(base: Path, tmp_path: Path) -> None:
    lines = [
        {"src": "Hi.", "ref": "Tag.", "contrastive": ["Nein."], "src_context": ["What is it?"]},
        {"src": "Hi.", "ref": "Nein.", "contrastive": ["Tag."], "src_context": ["What is it?"]},
        {"src": "Hi.", "ref": "Tag.", "contrastive": ["Nein."], "src_context": ["What is it?"]},
    ]
    (tmp_path / "dialogues.en").write_text((SAMPLE / "dialogues.en").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "dialogues.de").write_text((SAMPLE / "dialogues.de").read_text(encoding="utf-8"), encoding="utf-8")
    with gzip.open(tmp_path / "items.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    run = DocumentTraining(recipe(base, items={"items": 3}, items_weight=3.0), tmp_path, tmp_path / "out")
    scores = run.dev_scores()
    right = run.accuracy()
    assert right in (1 / 3, 2 / 3)  # the first and the last are right, or the one between them
    assert run.objective(scores) == pytest.approx(scores["dialogues"] + 3 * (1 - right))
    run.run()
    assert "accuracy" in (tmp_path / "out" / "metrics.csv").read_text(encoding="utf-8").splitlines()[0]


def test_a_layer_can_continue_another(base: Path, tmp_path: Path) -> None:
    train_document(recipe(base), SAMPLE, tmp_path / "first")
    exact: dict[str, object] = {"precision": "fp32"}
    run = DocumentTraining(recipe(base, training=exact, start=str(tmp_path / "first")), SAMPLE, tmp_path / "second")
    trained = load_document_model(tmp_path / "first").context.state_dict()
    assert all(torch.equal(tensor, trained[name]) for name, tensor in run.documents.context.state_dict().items())
