"""Log-probabilities of given translations, and accuracy on contrastive sets."""

import dataclasses
import gzip
import itertools
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch

from model.config import EOS_ID, ConfigError
from model.data.batching import Pair, collate
from model.data.corpus import CorpusError
from model.data.items import ContrastiveItem, read_items
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel
from model.document_search import search_document, stack_store, store_sentence
from model.evaluation.command import ContrastiveAccuracyCommand
from model.evaluation.contrastive_accuracy import (
    accuracy,
    by_group,
    context_pairs,
    evaluate_in_context,
    evaluate_items,
    with_shuffled_context,
)
from model.greedy import greedy
from model.reference_search import reference_search
from model.scoring import prefers_reference, score_alone, score_in_context
from model.training.checkpoint import VOCABULARY
from model.training.document_checkpoint import save_document_model
from server.cli.main import Parser
from tests.documents import lively_document_model, some_pairs
from tests.models import SENTENCES, write_checkpoint

SOURCES = [pair.source for pair in some_pairs((4, 6), seed=5)]
ITEM = {
    "src_context": SENTENCES[0],
    "src": SENTENCES[1],
    "ref": SENTENCES[9],
    "contrastive": [SENTENCES[10], SENTENCES[11]],
    "gender": "m",
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = lively_document_model(side="decoder", seed=4)
    folder = write_checkpoint(model.base, tmp_path_factory.mktemp("scoring"))
    save_document_model(model.state_dict(), model.base.config, model.config, folder)
    return folder


def write_items(path: Path, *items: object) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(json.dumps(item) for item in items) + "\n")
    return path


@pytest.mark.parametrize("seed", [4, 11])
def test_a_score_equals_the_score_of_the_search(seed: int) -> None:
    model = lively_document_model(seed=seed)
    for source in SOURCES:
        results = [
            h for h in reference_search(model.base, [*source, EOS_ID], 4, 4, max_length=12) if h.finish_reason == "eos"
        ]
        scores = score_alone(model.base, source, [list(h.ids) for h in results])
        assert scores == pytest.approx([allowing_bans(model, source, h.ids, h.score) for h in results], abs=1e-3)


def allowing_bans(model: DocumentModel, source: list[int], ids: tuple[int, ...], score: float) -> float:
    """The search never chooses PAD, UNK or BOS and shares their probability among the others; take it back."""
    with torch.no_grad():
        target = torch.tensor([[2, *ids]])
        keep = torch.ones(1, len(source) + 1, dtype=torch.bool)
        memory = model.base.encode(torch.tensor([[*source, EOS_ID]]), keep)
        probability = torch.softmax(model.base.embedding.logits(model.base.decode(target, memory, keep)), dim=-1)
    return score + float(torch.log1p(-probability[0, :, :3].sum(dim=-1)).sum())


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_context_counts_and_its_absence_is_the_sentence_model(side: str) -> None:
    model = lively_document_model(side=side)
    targets = [[7, 8, 9], [10, 11]]
    alone = score_alone(model.base, SOURCES[0], targets)
    assert score_in_context(model, SOURCES[0], targets, []) == alone
    seen = score_in_context(model, SOURCES[0], targets, [Pair(SOURCES[1], [12, 13])])
    assert all(abs(first - other) > 1e-2 for first, other in zip(alone, seen, strict=True))
    other_target = score_in_context(model, SOURCES[0], targets, [Pair(SOURCES[1], [14, 15, 16])])
    assert (other_target == seen) == (side == "encoder")


@pytest.mark.parametrize(("side", "seed"), [("encoder", 6), ("encoder", 11), ("decoder", 11)])
def test_context_scores_as_the_online_search_does(side: str, seed: int) -> None:
    """The third sentence of a document; those before it were translated greedily. The search shares the probability of
    tokens that it never chooses among the others, so that the slow reference scores its translations token by token."""
    model, sources = (
        lively_document_model(side=side, seed=seed, decay=0.5),
        [pair.source for pair in some_pairs((4, 6, 5), seed)],
    )
    drafts = greedy(model.base, sources[:2], 10)
    context = [Pair(source, draft) for source, draft in zip(sources, drafts, strict=False)]
    result = search_document(model, sources, online=True, beam_size=3, max_length=10)[2]
    ended = [sentence for sentence in result if sentence.finish_reason == "eos"]
    targets = [list(hypothesis.ids) for hypothesis in ended] + [[7, 8], []]
    scores = score_in_context(model, sources[2], targets, context)
    assert ended
    for score, sentence in zip(scores, ended, strict=False):
        given = token_by_token(model, sources[2], sentence.ids, context)
        assert score == pytest.approx(float(sum(given[:, 0])), abs=1e-4)
        assert sentence.score == pytest.approx(float(sum(given[:, 1])), abs=1e-3)
    for changed in (
        [*context[::-1]],
        [context[0]],
        [Pair(pair.source, pair.target[:1]) for pair in context],
    ):
        other = score_in_context(model, sources[2], targets, changed)
        same = side == "encoder" and [sentence.source for sentence in changed] == [
            sentence.source for sentence in context
        ]
        assert (other == pytest.approx(scores, abs=1e-5)) == same


def token_by_token(model: DocumentModel, source: list[int], ids: tuple[int, ...], context: list[Pair]) -> torch.Tensor:
    """[token, 2]: log-probability of each token of a translation, and the same among the tokens that a search may
    choose. Stored sentences are made one by one."""
    rows = []
    with torch.no_grad():
        store = stack_store([store_sentence(model, pair.source, pair.target) for pair in context])
        away = torch.arange(len(context), 0, -1)[None]
        for length in range(len(ids) + 1):
            state = model.hidden(collate([Pair(source, list(ids[:length]))]), store, away)[0, length]
            logits = model.base.embedding.logits(state)
            wanted = [*ids, EOS_ID][length]
            allowed = logits.clone()
            allowed[:3] = -torch.inf
            rows.append([float(torch.log_softmax(item, dim=-1)[wanted]) for item in (logits, allowed)])
    return torch.tensor(rows)


@pytest.mark.parametrize("count", [1, 3, 7, 20])
def test_a_limit_takes_items_from_all_over_the_set(
    count: int, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As far apart as they can be; all of them where there are no more."""
    total = 11
    path = write_items(tmp_path / "set.jsonl.gz", *(ITEM | {"src": f"Number {index}."} for index in range(total)))
    taken: list[int] = []

    def judged(model: object, vocabulary: object, items: Iterable[ContrastiveItem], *more: object) -> dict[str, Any]:
        taken.extend(int(item.source.strip("Number .")) for item in items)
        return {"without context": [True] * len(taken)}

    monkeypatch.setattr("model.evaluation.command.evaluate_items", judged)
    command, parser = ContrastiveAccuracyCommand(), Parser("ringmt contrastive-accuracy", "")
    command.add_arguments(parser)
    assert command.run(parser.parse([str(checkpoint), "--set", str(path), "--limit", str(count)])) == 0
    assert len(taken) == min(count, total)
    edges = [*taken, total]
    gaps = {after - before for before, after in itertools.pairwise(edges)}
    assert taken[0] == 0
    assert max(gaps) - min(gaps) <= 1


def test_groups_count_their_own_items_only() -> None:
    numbers = random.Random(1)
    items = [
        ContrastiveItem(
            "s", "r", ("w",), (), (), (("gender", numbers.choice("mfn")), ("template", numbers.choice("ab")))
        )
        for _ in range(60)
    ]
    right = [numbers.random() < 0.6 for _ in items]
    actual = by_group(items, right)
    assert set(actual) == {"all", *(f"gender {item}" for item in "mfn"), "template a", "template b"}
    for name, result in actual.items():
        mine = [r for i, r in zip(items, right, strict=True) if name == "all" or tuple(name.split(" ")) in i.groups]
        assert result == accuracy(mine)
        assert 0 < result.items < 60 or name == "all"


def test_wilson_intervals() -> None:
    """Against published values: 81 of 263, Newcombe 1998, Table I."""
    result = accuracy([True] * 81 + [False] * 182)
    assert result.low == pytest.approx(0.2553, abs=1e-4)
    assert result.high == pytest.approx(0.3662, abs=1e-4)
    assert accuracy([True] * 5).high == pytest.approx(1)
    assert accuracy([False] * 5).low == pytest.approx(0)


def test_equal_is_not_preferred() -> None:
    assert prefers_reference([-1.0, -2.0, -1.5])
    assert not prefers_reference([-1.0, -1.0])
    assert not prefers_reference([-1.0, -2.0, -0.5])


def test_items_are_judged_with_their_own_context(checkpoint: Path, tmp_path: Path) -> None:
    vocabulary = Vocabulary(checkpoint / VOCABULARY)
    model = lively_document_model(side="decoder", seed=4)
    (item,) = read_items(write_items(tmp_path / "a.jsonl.gz", ITEM | {"ref_context": SENTENCES[8]}))
    own, reference = (context_pairs(model, vocabulary, item, from_reference) for from_reference in (False, True))
    assert own[0].source == reference[0].source == vocabulary.encode([SENTENCES[0]])[0]
    assert reference[0].target == vocabulary.encode([SENTENCES[8]])[0]
    assert own[0].target == greedy(model.base, [own[0].source], 64)[0]
    source, *targets = vocabulary.encode([item.source, item.reference, *item.wrong])
    expected = prefers_reference(score_in_context(model, source, targets, own))
    assert evaluate_items(model, vocabulary, [item])["with context"] == [expected]
    assert list(evaluate_items(model.base, vocabulary, [item])) == ["without context"]


def test_the_control_has_everybody_elses_context(checkpoint: Path, tmp_path: Path) -> None:
    """No item keeps its own, every context is used once, and nothing else of an item changes."""
    path = write_items(tmp_path / "set.jsonl.gz", *(ITEM | {"src_context": f"Number {index}."} for index in range(9)))
    items = read_items(path)
    others = with_shuffled_context(items)
    own, theirs = ([item.source_context for item in some] for some in (items, others))
    assert sorted(own) == sorted(theirs)
    assert all(first != other for first, other in zip(own, theirs, strict=True))
    assert [dataclasses.replace(item, source_context=()) for item in others] == [
        dataclasses.replace(item, source_context=()) for item in items
    ]
    assert others == with_shuffled_context(items)
    with pytest.raises(ValueError, match="needs two items"):
        with_shuffled_context(items[:1])
    model, vocabulary = lively_document_model(seed=4), Vocabulary(checkpoint / VOCABULARY)
    assert evaluate_in_context(model, vocabulary, others) == evaluate_items(model, vocabulary, others)["with context"]


def test_the_command_prints_groups_and_conditions(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_items(tmp_path / "set.jsonl.gz", ITEM, ITEM | {"gender": "f", "src_context": ""}, ITEM)
    command, parser = ContrastiveAccuracyCommand(), Parser("ringmt contrastive-accuracy", "")
    command.add_arguments(parser)
    report = tmp_path / "report.json"
    assert command.run(parser.parse([str(checkpoint), "--set", str(path), "--json", str(report)])) == 0
    printed = capsys.readouterr().out
    assert "| items | number | without context | with context |" in printed
    assert "| all | 3 |" in printed
    assert "| gender f | 1 |" in printed
    values = json.loads(report.read_text(encoding="utf-8"))
    assert values["with context"]["gender m"]["items"] == 2
    assert values["with context"]["gender f"] == values["without context"]["gender f"]  # it has no context
    assert command.run(parser.parse([str(checkpoint), "--set", str(path), "--limit", "1"])) == 0
    assert "| all | 1 |" in capsys.readouterr().out
    assert command.run(parser.parse([str(checkpoint), "--set", str(path), "--shuffled"])) == 0
    assert "| without context | with context | with another's context |" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="needs two items"):
        command.run(parser.parse([str(checkpoint), "--set", str(path), "--shuffled", "--limit", "1"]))
    with pytest.raises(ConfigError, match="at least 1"):
        command.run(parser.parse([str(checkpoint), "--set", str(path), "--limit", "0"]))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"src": "a", "ref": "b"}, "line 1 lacks 'contrastive'"),
        (["a"], "line 1 lacks 'src'"),
        (ITEM | {"ref_context": ["a", "b"]}, "differ in their number of sentences"),
    ],
)
def test_an_item_that_cannot_be_used_says_why(item: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=message):
        read_items(write_items(tmp_path / "a.jsonl.gz", item))


def test_a_context_may_have_several_sentences(tmp_path: Path) -> None:
    (item,) = read_items(write_items(tmp_path / "a.jsonl.gz", ITEM | {"src_context": ["One.", "Two."]}))
    assert isinstance(item, ContrastiveItem)
    assert item.source_context == ("One.", "Two.")
    path = tmp_path / "b.jsonl"
    path.write_text("{\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="line 1 is not JSON"):
        read_items(path)
