"""Documents on disk, passages, and training on them."""

import dataclasses
import gzip
import json
import random
import shutil
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from model.config import UNK_ID, ConfigError, ContextConfig
from model.data.batching import Pair, collate
from model.data.corpus import CorpusError
from model.data.documents import (
    Document,
    Passage,
    PlacedPair,
    by_length,
    cut_documents,
    epoch_documents,
    foreign_documents,
    hide_pieces,
    passages,
    read_documents,
    width,
)
from model.data.vocabulary import Vocabulary
from model.document import Words
from model.greedy import greedy
from model.training.bundled import RECIPES, bundled_rows, find_recipe
from model.training.checkpoint import VOCABULARY, WEIGHTS, load_config, load_model
from model.training.document_checkpoint import has_context, load_document_model
from model.training.document_recipe import (
    DocumentRecipe,
    DocumentSection,
    find_base,
    load_any_row,
    parse_document_recipe,
)
from model.training.drafts import drafts_of
from model.training.recipe import DataRecipe, TrainingRecipe, rows_file
from model.training.train_document import DocumentTraining, relative_change, train_document
from tests.documents import lively_document_model, some_pairs
from tests.models import lively_model, tiny_config, write_checkpoint

SAMPLE = Path(__file__).parent.parent / "sample"
DIALOGUES = (14, 20, 19, 19, 18)
"""Sentences of the sample's documents."""


def some_documents(lengths: tuple[int, ...]) -> list[Document]:
    return [
        [PlacedPair(pair, number, index) for index, pair in enumerate(some_pairs((3,) * length, number))]
        for number, length in enumerate(lengths)
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(lively_model(tiny_config(max_length=130), seed=4), tmp_path_factory.mktemp("base"))


def recipe(base: Path, steps: int = 8, training: dict[str, object] | None = None, **section: object) -> DocumentRecipe:
    layer = ContextConfig(num_heads=2, dropout=0.1, side=str(section.pop("side", "encoder")))
    return DocumentRecipe(
        name="tiny-document",
        model=load_config(base),
        document=DocumentSection(str(base), layer, max_sentences=10, **section),  # type: ignore[arg-type]
        data=DataRecipe("en", "de", {"dialogues": 0.4}, {"dialogues": 16}, max_pair_length=40),
        training=TrainingRecipe(
            **{"steps": steps, "warmup_steps": 2, "evaluate_every": 4, "batch_tokens": 256, "muon_rate": None}
            | (training or {})  # type: ignore[arg-type]
        ),
    )


def test_documents_are_what_stands_between_empty_lines(base: Path) -> None:
    documents = read_documents(SAMPLE, "dialogues", ("en", "de"), Vocabulary(base / VOCABULARY), 200)
    lines = (SAMPLE / "dialogues.en").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    assert [len(document) for document in documents] == [len(part.split("\n")) for part in lines]
    vocabulary = Vocabulary(base / VOCABULARY)
    assert vocabulary.encode([lines[1].split("\n")[2]])[0] == documents[1][2].pair.source
    for number, document in enumerate(documents):
        assert [(sentence.document, sentence.index) for sentence in document] == [
            (number, i) for i in range(len(document))
        ]
    few = read_documents(SAMPLE, "dialogues", ("en", "de"), vocabulary, 200, limit=17)
    assert sum(map(len, few)) == 17


def test_long_pairs_leave_their_document(base: Path) -> None:
    vocabulary = Vocabulary(base / VOCABULARY)
    documents = read_documents(SAMPLE, "dialogues", ("en", "de"), vocabulary, 30)
    longest = max(max(len(s.pair.source), len(s.pair.target)) for document in documents for s in document)
    assert longest <= 30
    assert [s.index for s in documents[0]] == list(range(len(documents[0])))


def test_a_corpus_without_documents_is_refused(base: Path) -> None:
    with pytest.raises(CorpusError, match="not divided into documents"):
        read_documents(SAMPLE, "tatoeba", ("en", "de"), Vocabulary(base / VOCABULARY), 200)


@settings(deadline=None, max_examples=50)
@given(lengths=st.lists(st.integers(1, 25), min_size=1, max_size=6), most=st.integers(2, 12), tokens=st.integers(4, 90))
def test_passages_hold_whole_pieces_of_limited_length(lengths: list[int], most: int, tokens: int) -> None:
    documents = some_documents(tuple(lengths))
    pieces = cut_documents(documents, most)
    assert [s.pair for piece in pieces for s in piece] == [s.pair for document in documents for s in document]
    assert max(map(len, pieces)) <= most
    numbered = by_length(epoch_documents({"x": pieces}, {"x": 1}, 1, 0), "seed")
    packed = passages(numbered, tokens)
    for passage in packed:
        one = len({s.document for s in passage.queries}) == 1
        assert passage.keys is passage.queries
        assert one or len(passage.queries) * width(passage.queries) <= tokens
    assert [s for passage in packed for s in passage.queries] == [s for document in numbered for s in document]


@settings(deadline=None, max_examples=30)
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=5), foreign=st.booleans())
def test_the_grids_of_a_passage_name_every_sentence_in_its_documents_row(lengths: list[int], foreign: bool) -> None:
    documents = epoch_documents({"x": some_documents(tuple(lengths))}, {"x": 1}, 0, 0)
    (passage,) = passages(documents, 10_000, foreign_documents(documents, "seed") if foreign else None)
    for grid, sentences in zip(passage.grids(), (passage.queries, passage.keys), strict=True):
        assert sorted(grid[grid >= 0].tolist()) == list(range(len(sentences)))
        for row, document in zip(grid.tolist(), documents, strict=True):
            assert all(sentences[number].document == document[0].document for number in row if number >= 0)


def test_an_epoch_is_decided_by_its_number() -> None:
    corpora = {"a": some_documents((2, 3, 4)), "b": some_documents((5,) * 8)}
    one, again, other = (epoch_documents(corpora, {"a": 1, "b": 0.5}, 1, epoch) for epoch in (0, 0, 1))
    assert one == again != other
    assert sorted(map(len, one)) == [2, 3, 4, 5, 5, 5, 5]
    assert [document[0].document for document in one] == list(range(7))


def test_a_foreign_document_takes_the_place_of_the_true_one() -> None:
    documents = some_documents((3, 4, 2, 5))
    foreign = foreign_documents(documents, "seed")
    (passage,) = passages(documents, 10_000, foreign)
    for number in range(4):
        shown = [s for s in passage.keys if s.document == number]
        assert [s.pair for s in shown] == [s.pair for s in foreign[number]]
        assert foreign[number][0].document != number
    keep = passage.keep(online=False)
    assert keep.shape == (14, 14)
    assert bool(keep.any(dim=1).all())


def test_a_passage_knows_who_sees_whom() -> None:
    sentences = [sentence for document in some_documents((2, 2)) for sentence in document]
    keep = Passage(sentences, sentences).keep(online=True)
    assert keep.int().tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]


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
        def epoch_work(self, epoch: int) -> list[Passage]:
            work = super().epoch_work(epoch)
            current = self.documents.base.state_dict()
            same.append(all(torch.equal(t, current[n]) for n, t in self.represents.state_dict().items()))
            return work

    for refresh, expected in (("epoch", [True, True, True]), ("never", [True, False, False])):
        same: list[bool] = []
        one = recipe(base, train="all", rep_refresh=refresh)
        Watching(one, SAMPLE, tmp_path / refresh).run()
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
    for passage in run.epoch_work(0):
        true = {id(s.pair) for s in passage.queries}
        numbers = {s.document for s in passage.queries}
        assert {s.document for s in passage.keys} == numbers
        for number in numbers:
            shown = {id(s.pair) for s in passage.keys if s.document == number}
            assert not shown & {id(s.pair) for s in passage.queries if s.document == number}
        assert true
    run.update(run.epoch_work(0)[0])


@pytest.mark.parametrize("train", ["context_only", "all"])
def test_gradients_go_where_something_learns_and_never_into_the_store(train: str, base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, train=train, side="decoder"), SAMPLE, tmp_path)
    passage = run.epoch_work(0)[0]
    words = run.constant_words(passage.keys, run.documents.base)
    assert not words.key.requires_grad
    assert not words.value.requires_grad
    run.backward(passage)
    assert all(parameter.grad is not None for parameter in run.documents.context.parameters())
    learns = [parameter.grad is not None for parameter in run.documents.base.parameters()]
    assert all(learns) if train == "all" else not any(learns)
    assert run.documents.context.training
    assert run.documents.base.training == (train == "all")


def test_the_bundled_recipes_are_for_documents() -> None:
    for side in ("encoder", "decoder"):
        found = find_recipe(f"document-{side}")
        assert isinstance(found, DocumentRecipe)
        assert found.document.layer.side == side
        assert find_base(found.document.base).name == "en-de"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": "some"}, "train must be one of context_only, all"),
        ({"context": "none"}, "leaves nothing to learn"),
        ({"visible": "past"}, "visible must be one of offline, online"),
        ({"first_gate": 1.0}, "first_gate must be between 0 and 1, or null, not 1.0"),
        ({"quiet": -1}, "quiet must be a number from 0 on, not -1"),
        ({"items": "dev"}, "items must map contrastive sets to numbers, not 'dev'"),
        ({"hide": 1}, r"hide must be a number in \[0, 1\), not 1"),
        ({"max_sentences": 1}, "max_sentences must be a whole number from 2 on, not 1"),
        ({"refresh": "epoch"}, "unknown key 'refresh' in the recipe's document section: did you mean 'rep_refresh'"),
        ({"layer": None}, "the section 'layer'"),
        ({"layer": {"atention": "x"}}, "did you mean 'attention'"),
    ],
)
def test_a_document_recipe_that_cannot_be_used_says_why(changes: dict[str, object], message: str) -> None:
    values = yaml.safe_load((RECIPES / "document-encoder.yaml").read_text(encoding="utf-8"))
    values["document"] |= changes
    with pytest.raises(ConfigError, match=message):
        parse_document_recipe(values)


def test_the_vocabulary_is_the_bases() -> None:
    values = yaml.safe_load((RECIPES / "document-encoder.yaml").read_text(encoding="utf-8"))
    values["data"]["vocab_size"] = 8000
    with pytest.raises(ConfigError, match="the base has its vocabulary"):
        parse_document_recipe(values)


def test_a_base_that_is_not_there_and_a_folder_without_context(base: Path) -> None:
    with pytest.raises(ConfigError, match="neither a checkpoint folder nor a model"):
        find_base("en-dee")
    with pytest.raises(ConfigError, match="holds no context layer"):
        load_document_model(base)


def test_recipes_are_frozen(base: Path) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe(base).document.train = "all"  # type: ignore[misc]


@settings(deadline=None, max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    share=st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0)),
    repeated=st.booleans(),
    seed=st.integers(0, 9),
)
def test_hidden_pieces_are_unknown_to_those_who_look_only(
    lengths: list[int], share: float, repeated: bool, seed: int
) -> None:
    documents = epoch_documents({"x": some_documents(tuple(lengths))}, {"x": 1}, 0, 0)
    few = [  # few kinds of pieces, so that many stand in several sentences
        [dataclasses.replace(s, pair=Pair([4 + piece % 7 for piece in s.pair.source], s.pair.target)) for s in document]
        for document in documents
    ]
    (passage,) = passages(few, 10_000)
    hidden = hide_pieces(passage, share, repeated, random.Random(seed))
    assert hidden.keys == passage.keys
    assert [s.pair.target for s in hidden.queries] == [s.pair.target for s in passage.queries]
    for before, after in zip(passage.queries, hidden.queries, strict=True):
        assert len(before.pair.source) == len(after.pair.source)
        others = [s for s in passage.keys if s.document == before.document and s.index != before.index]
        for old, new in zip(before.pair.source, after.pair.source, strict=True):
            assert new in (old, UNK_ID)
            if new == UNK_ID and repeated:
                assert any(old in other.pair.source for other in others)
    if share == 0:
        assert hidden == passage
    if share == 1 and not repeated:
        assert {piece for s in hidden.queries for piece in s.pair.source} == {UNK_ID}


def test_pieces_that_are_everywhere_are_not_hidden() -> None:
    rows = [[10, 60 + index, 30 if index in (3, 7) else 40 + index] for index in range(12)]
    document = [PlacedPair(Pair(row, [5]), 0, index) for index, row in enumerate(rows)]
    hidden = hide_pieces(Passage(document, document), 1.0, True, random.Random(0))
    assert [s.pair.source[2] == UNK_ID for s in hidden.queries] == [index in (3, 7) for index in range(12)]
    assert all(s.pair.source[:2] == row[:2] for s, row in zip(hidden.queries, rows, strict=True))


def test_hiding_is_for_training_and_not_for_dev(base: Path, tmp_path: Path) -> None:
    plain, hiding = (
        DocumentTraining(recipe(base, hide=hide, first_gate=None), SAMPLE, tmp_path / str(hide)) for hide in (0.0, 0.5)
    )
    assert plain.dev_scores() == hiding.dev_scores()
    torch.manual_seed(0)
    (before, tokens), passage = plain.backward(plain.epoch_work(0)[0]), hiding.epoch_work(0)[0]
    torch.manual_seed(0)
    after, same = hiding.backward(passage)
    assert tokens == same
    assert abs(before - after) > 1e-2


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


def test_the_frozen_model_can_have_dropout_and_what_is_stored_has_none(tmp_path: Path) -> None:
    base = write_checkpoint(lively_model(tiny_config(max_length=130, dropout=0.3), seed=4), tmp_path / "base")
    for dropout in (False, True):
        run = DocumentTraining(recipe(base, base_dropout=dropout), SAMPLE, tmp_path / str(dropout))
        assert run.documents.base.training == dropout
        passage = run.epoch_work(0)[0]
        stored = [run.constant_words(passage.keys, run.represents).key for _ in range(2)]
        assert torch.equal(*stored)
        assert run.documents.base.training == dropout
        first = run.dev_scores()
        assert first == run.dev_scores()
        run.documents.context.eval()
        keep, rows = passage.keep(online=False), torch.arange(len(passage.queries))
        losses = [run.loss(passage, keep, rows, run.represents, 0.0)[1] for _ in range(2)]
        assert (losses[0] != losses[1]) == dropout


def test_an_opened_gate_is_the_same_everywhere() -> None:
    model = lively_document_model()
    model.context.open_gate(0.9)
    with torch.no_grad():
        store = model.store(Words(torch.randn(4, 5, 32), torch.randn(4, 5, 32), torch.ones(4, 5, dtype=torch.bool)))
        query = torch.randn(1, 7, 32)
        result = model.look(query, query, store, torch.ones(1, 4, dtype=torch.bool))
    assert torch.allclose(result.gate, torch.full_like(result.gate, 0.9), atol=1e-4)


def test_a_row_changes_the_document_section(tmp_path: Path) -> None:
    base = find_recipe("documents")
    assert isinstance(base, DocumentRecipe)
    found = find_recipe("documents/decoder-flat-word")
    assert isinstance(found, DocumentRecipe)
    assert (found.name, found.document.layer.attention) == ("documents/decoder-flat-word", "flat-word")
    assert dataclasses.replace(found, name=base.name, document=base.document) == base
    layer = dataclasses.replace(base.document.layer, attention="flat-word", side="decoder")
    assert found.document == dataclasses.replace(base.document, layer=layer)
    slower = find_recipe("documents/all-no-context")
    assert slower.training == dataclasses.replace(base.training, adam_rate=2e-4, muon_rate=4e-4)
    for row in bundled_rows("documents"):
        assert isinstance(find_recipe(row), DocumentRecipe)
    path = tmp_path / "documents.yaml"
    shutil.copyfile(RECIPES / "documents.yaml", path)
    rows_file(path).write_text("bad: {visble: online}\nworse: [1]\nlayer: {layer: 3}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"documents-rows.yaml, row bad: .*did you mean 'visible'"):
        load_any_row(path, "bad")
    with pytest.raises(ConfigError, match="row worse: a row must be a mapping"):
        load_any_row(path, "worse")
    with pytest.raises(ConfigError, match="row layer: "):
        load_any_row(path, "layer")
    with pytest.raises(ConfigError, match="did you mean 'worse'"):
        load_any_row(path, "wors")


@pytest.mark.parametrize(("refresh", "learns"), [("update", True), ("epoch", False)])
def test_where_everything_learns_sentences_can_learn_to_show_what_others_need(
    refresh: str, learns: bool, base: Path, tmp_path: Path
) -> None:
    """The loss of one sentence changes the encoder also by way of the sentences that it sees."""
    run = DocumentTraining(recipe(base, train="all", rep_refresh=refresh), SAMPLE, tmp_path)
    run.documents.eval()
    passage = next(p for p in run.epoch_work(0) if len(p.queries) > 2)
    keep = passage.keep(online=True)
    row = keep.sum(dim=1).argmax()[None]
    read: list[torch.Tensor] = []
    handle = run.documents.base.encoder.register_forward_hook(lambda _module, _inputs, output: read.append(output))
    run.documents.base.encoder.register_forward_hook(lambda _module, _inputs, output: output.retain_grad())
    run.loss(passage, keep, row, run.represents, 0.0)[0].backward()  # type: ignore[no-untyped-call]
    handle.remove()
    (memory,) = read
    assert memory.grad is not None
    reached = memory.grad.abs().sum(dim=(1, 2)) > 0
    seen = keep[row[0]]
    assert bool(reached[row[0]])
    assert bool(reached[seen].all()) == learns
    assert not bool(reached[~seen].sum() > 1)


def test_a_frozen_model_learns_only_from_sentences_that_see_another(base: Path, tmp_path: Path) -> None:
    run = DocumentTraining(recipe(base, visible="online"), SAMPLE, tmp_path)
    passage = run.epoch_work(0)[0]
    first = {s.document: len(s.pair.target) + 1 for s in reversed(passage.queries)}
    everything = sum(len(s.pair.target) + 1 for s in passage.queries)
    assert run.backward(passage)[1] == everything - sum(first.values())


def test_a_layer_that_pays_for_what_it_changes_changes_less(base: Path, tmp_path: Path) -> None:
    changed = []
    for quiet in (0.0, 5.0):
        run = DocumentTraining(recipe(base, steps=16, quiet=quiet, first_gate=0.6), SAMPLE, tmp_path / str(quiet))
        run.run()
        passage = run.epoch_work(0)[0]
        batch = collate([sentence.pair for sentence in passage.queries])
        with torch.no_grad():
            memory = run.documents.base.encode(batch.source, batch.source_keep)
            words = run.constant_words(passage.keys, run.represents)
            run.documents.eval()
            seen = run.documents.look_within(memory, memory, words, *passage.grids(), passage.keep(online=False)).state
        changed.append(float(relative_change(memory, seen, batch.source_keep)))
    assert changed[1] < 0.9 * changed[0]


def test_the_checkpoint_is_chosen_by_perplexity_and_by_items(base: Path, tmp_path: Path) -> None:
    lines = [
        {"src": "Hi.", "ref": "Tag.", "contrastive": ["Nein."], "src_context": ["What is it?"]},
        {"src": "Hi.", "ref": "Nein.", "contrastive": ["Tag."], "src_context": ["What is it?"]},
    ]
    (tmp_path / "dialogues.en").write_text((SAMPLE / "dialogues.en").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "dialogues.de").write_text((SAMPLE / "dialogues.de").read_text(encoding="utf-8"), encoding="utf-8")
    with gzip.open(tmp_path / "items.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))
    run = DocumentTraining(recipe(base, items={"items": 2}, items_weight=3.0), tmp_path, tmp_path / "out")
    scores = run.dev_scores()
    assert run.accuracy() == 0.5  # one of the two is right, whichever the model prefers
    assert run.objective(scores) == pytest.approx(scores["dialogues"] + 1.5)
    run.run()
    assert "accuracy" in (tmp_path / "out" / "metrics.csv").read_text(encoding="utf-8").splitlines()[0]


def test_a_layer_can_go_on_from_another(base: Path, tmp_path: Path) -> None:
    train_document(recipe(base), SAMPLE, tmp_path / "first")
    exact: dict[str, object] = {"precision": "fp32"}
    run = DocumentTraining(recipe(base, training=exact, start=str(tmp_path / "first")), SAMPLE, tmp_path / "second")
    trained = load_document_model(tmp_path / "first").context.state_dict()
    assert all(torch.equal(tensor, trained[name]) for name, tensor in run.documents.context.state_dict().items())
