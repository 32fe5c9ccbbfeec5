"""Which parameters learn from which sentences, and how far the context layer moves at first and later."""

import dataclasses
from pathlib import Path

import pytest
import torch

from model.data.batching import collate
from model.data.documents import Passage
from model.document import Words
from model.training.train_document import DocumentTraining, relative_change
from tests.documents import lively_document_model
from tests.model.training.documents.some import SAMPLE, recipe


@pytest.mark.parametrize("train", ["context_only", "all"])
def test_gradients_go_where_something_learns_and_never_into_the_store(train: str, base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, train=train, side="decoder"), SAMPLE, tmp_path)
    passage = run.epoch_updates(0)[0]
    words = run.constant_words(passage.keys, run.documents.base)
    assert not words.key.requires_grad
    assert not words.value.requires_grad
    run.backward(passage)
    assert all(parameter.grad is not None for parameter in run.documents.context.parameters())
    learns = [parameter.grad is not None for parameter in run.documents.base.parameters()]
    assert all(learns) if train == "all" else not any(learns)
    assert run.documents.context.training
    assert run.documents.base.training == (train == "all")


@pytest.mark.parametrize(("refresh", "learns"), [("update", True), ("epoch", False)])
def test_gradients_flow_into_stored_sentences_with_refresh_update(
    refresh: str, learns: bool, base: Path, tmp_path: Path
) -> None:
    """The loss of one sentence changes the encoder also by way of the sentences that it sees."""
    run = DocumentTraining(recipe(base, train="all", rep_refresh=refresh), SAMPLE, tmp_path)
    run.documents.eval()
    passage = next(p for p in run.epoch_updates(0) if len(p.queries) > 2)
    keep = passage.distance(online=True)
    row = keep.sum(dim=1).argmax()[None]
    read: list[torch.Tensor] = []
    handle = run.documents.base.encoder.register_forward_hook(lambda _module, _inputs, output: read.append(output))
    run.documents.base.encoder.register_forward_hook(lambda _module, _inputs, output: output.retain_grad())
    run.loss(passage, keep, row, run.state_model, 0.0)[0].backward()  # type: ignore[no-untyped-call]
    handle.remove()
    (memory,) = read
    assert memory.grad is not None
    reached = memory.grad.abs().sum(dim=(1, 2)) > 0
    seen = keep[row[0]] > 0
    assert bool(reached[row[0]])
    assert bool(reached[seen].all()) == learns
    assert not bool(reached[~seen].sum() > 1)


def test_the_sentence_model_can_learn_more_slowly_than_the_layer(base: Path, tmp_path: Path) -> None:
    moved = {}
    for rate in (1.0, 0.1):
        run = DocumentTraining(recipe(base, train="all", base_rate=rate), SAMPLE, tmp_path / str(rate))
        before = run.weights()
        before = {name: weight.clone() for name, weight in before.items()}
        run.documents.eval()  # without dropout both see the same gradients
        run.update(run.epoch_updates(0)[0])
        moved[rate] = {name: (weight - before[name]).norm().item() for name, weight in run.weights().items()}
    for name, full in moved[1.0].items():
        assert moved[0.1][name] == pytest.approx(full * (0.1 if name.startswith("base.") else 1), rel=0.02), name


def test_in_updates_alone_the_sentence_model_learns_and_the_layer_does_not(base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, train="all", alone=0.5), SAMPLE, tmp_path)
    passage, alone = run.epoch_updates(0)[0], 0
    for run.step in range(60):
        run.documents.zero_grad()
        run.backward(passage)
        assert all(parameter.grad is not None for parameter in run.documents.base.parameters())
        (layer_learns,) = {parameter.grad is not None for parameter in run.documents.context.parameters()}
        alone += not layer_learns
    assert 18 <= alone <= 42
    run.update(passage)


def test_pairs_that_need_context_are_not_learned_without_it(base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, train="all", alone=0.9), SAMPLE, tmp_path)
    passage = run.epoch_updates(0)[0]
    sentences = [dataclasses.replace(s, needs_context=number % 2 == 0) for number, s in enumerate(passage.queries)]
    counts = set()
    for run.step in range(20):
        counts.add(run.backward(Passage(sentences, sentences))[1])
    free = sum(len(s.pair.target) + 1 for s in sentences if not s.needs_context)
    assert counts == {free, sum(len(s.pair.target) + 1 for s in sentences)}
    made = [dataclasses.replace(s, needs_context=True) for s in sentences]
    for run.step in range(20):
        assert run.backward(Passage(made, made))[1] == max(counts)


def test_a_frozen_model_learns_only_from_sentences_that_see_another(base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, visible="online"), SAMPLE, tmp_path)
    passage = run.epoch_updates(0)[0]
    first = {s.document: len(s.pair.target) + 1 for s in reversed(passage.queries)}
    everything = sum(len(s.pair.target) + 1 for s in passage.queries)
    assert run.backward(passage)[1] == everything - sum(first.values())


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_training_begins_almost_as_the_sentence_model(side: str, base: Path, tmp_path: Path) -> None:
    """The nearer to 1 the first gate is, the nearer the costs are to those without context."""
    differences = []
    for gate in (0.999, 0.95, None):
        run = DocumentTraining(recipe(base, side=side, first_gate=gate), SAMPLE, tmp_path / str(gate))
        with_context, without = run.dev_scores()["dialogues"], run.dev_scores(with_context=False)["dialogues"]
        differences.append(abs(with_context - without))
    assert differences[0] < differences[1] < differences[2]
    assert differences[0] < 0.02


def test_an_opened_gate_is_the_same_everywhere() -> None:
    model = lively_document_model()
    model.context.initialize_gate(0.9)
    with torch.no_grad():
        store = model.store(Words(torch.randn(4, 5, 32), torch.randn(4, 5, 32), torch.ones(4, 5, dtype=torch.bool)))
        query = torch.randn(1, 7, 32)
        result = model.attend(query, query, store, torch.ones(1, 4, dtype=torch.bool))
    assert torch.allclose(result.gate, torch.full_like(result.gate, 0.9), atol=1e-4)


def test_the_quiet_loss_reduces_changes_of_the_state(base: Path, tmp_path: Path) -> None:
    changed = []
    for quiet in (0.0, 5.0):
        run = DocumentTraining(recipe(base, steps=16, quiet=quiet, first_gate=0.6), SAMPLE, tmp_path / str(quiet))
        run.run()
        passage = run.epoch_updates(0)[0]
        batch = collate([sentence.pair for sentence in passage.queries])
        with torch.no_grad():
            memory = run.documents.base.encode(batch.source, batch.source_keep)
            words = run.constant_words(passage.keys, run.state_model)
            run.documents.eval()
            seen = run.documents.attend_within(
                memory, memory, words, *passage.grids(), passage.distance(online=False)
            ).state
        changed.append(float(relative_change(memory, seen, batch.source_keep)))
    assert changed[1] < 0.9 * changed[0]


def test_dev_sets_are_scored_online_unless_sentences_see_all_others_in_training(base: Path, tmp_path: Path) -> None:
    results = {}
    for visible in ("offline", "online", "both"):
        run = DocumentTraining(recipe(base, visible=visible, first_gate=None), SAMPLE, tmp_path / visible)
        results[visible] = run.dev_scores()["dialogues"]
    assert results["both"] == results["online"]
    assert abs(results["online"] - results["offline"]) > 1e-4


@pytest.mark.parametrize(("visible", "least", "most"), [("offline", 0, 0), ("online", 60, 60), ("both", 18, 42)])
def test_updates_are_online_as_often_as_the_recipe_says(
    visible: str, least: int, most: int, base: Path, tmp_path: Path
) -> None:
    """Online the first sentence of a document sees none, and teaches a frozen model nothing."""
    run = DocumentTraining(recipe(base, visible=visible), SAMPLE, tmp_path)
    passage = run.epoch_updates(0)[0]
    tokens = [len(sentence.pair.target) + 1 for sentence in passage.queries]
    first = [sentence.index == 0 for sentence in passage.queries]
    online = 0
    for run.step in range(60):
        _, counted = run.backward(passage)
        assert counted in (sum(tokens), sum(n for n, is_first in zip(tokens, first, strict=True) if not is_first))
        online += counted != sum(tokens)
    assert least <= online <= most


def parts_of_the_loss(run: DocumentTraining, passage: Passage, **section: object) -> float:
    """The loss of all sentences of a passage, without dropout, under a changed recipe."""
    run.documents.eval()
    before, run.section = run.section, dataclasses.replace(run.section, **section)  # type: ignore[arg-type]
    rows = torch.arange(len(passage.queries))
    loss, _, _ = run.loss(passage, passage.distance(online=False), rows, run.state_model, 0.0)
    run.section = before
    return float(loss.detach())


def test_stressed_words_count_more_by_their_own_loss(base: Path, tmp_path: Path) -> None:
    """All words stressed with 1 double the loss, none leave it, and some add their share of it."""
    run = DocumentTraining(recipe(base, training={"precision": "fp32"}), SAMPLE, tmp_path)
    passage = run.epoch_updates(0)[0]
    batch = collate([sentence.pair for sentence in passage.queries])
    ids = torch.unique(batch.target_out[batch.target_out > 0])
    plain = parts_of_the_loss(run, passage)

    def added(stressed: torch.Tensor, stress: float) -> float:
        run.stressed = stressed
        return parts_of_the_loss(run, passage, stress=stress) - plain

    every, some, others = added(ids, 1.0), added(ids[::2], 1.0), added(ids[1::2], 1.0)
    assert every == pytest.approx(plain, rel=1e-4)
    assert some > 0 < others
    assert some + others == pytest.approx(every, rel=1e-4)
    assert added(ids[::2], 0.25) == pytest.approx(some / 4, rel=1e-3)
    assert added(ids[:0], 1.0) == 0
    run.stressed = ids
    with torch.no_grad():  # on dev all words count alike
        assert parts_of_the_loss(run, passage, stress=1.0) == pytest.approx(plain, rel=1e-6)


def test_stressed_words_have_one_piece(base: Path, tmp_path: Path) -> None:
    """Pieces of other words stress nothing."""
    run = DocumentTraining(recipe(base, stressed=("er", "sie", "supercalifragilistic"), stress=1.0), SAMPLE, tmp_path)
    one_piece = [ids[0] for ids in run.vocabulary.encode(["er", "sie", "supercalifragilistic"]) if len(ids) == 1]
    assert run.stressed.tolist() == sorted(one_piece)


def test_moving_states_costs_by_how_far_they_are_moved(base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, first_gate=0.6, training={"precision": "fp32"}), SAMPLE, tmp_path)
    passage = run.epoch_updates(0)[0]
    plain, half, first = (parts_of_the_loss(run, passage, quiet=quiet) for quiet in (0.0, 0.5, 1.0))
    assert first > half > plain
    assert first - plain == pytest.approx(2 * (half - plain), rel=1e-3)
