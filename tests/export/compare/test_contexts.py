"""The whole command on tiny runs with context."""

import argparse
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from export.compare import measurements
from export.compare.claims import HOLDS, NOT_COMPARABLE, NOT_TRIED, ONE_SEED, claim_of
from export.compare.command import compare_command
from export.compare.conditions import ALONE, ANOTHERS, IN_CONTEXT, SHUFFLED, WITH, WITHOUT, distances, stored_document
from export.compare.estimate import Costs, SeedSpread
from export.compare.measurements import Measured, MeasurementPlan, measure_contrastive
from export.compare.papers import CONTEXT_TABLES, OWN_ITEMS
from export.compare.report import Comparison, markdown, short_sections
from export.compare.rows import CompareError, find_rows, read_row
from export.compare.store import Store
from export.compare.text import TextChoice, read_set
from export.compare.translate import translations_in_context
from export.compare.variants import WRONG_ITEMS, Family, Variant, families
from model.config import CONTEXT_ATTENTIONS, CONTEXT_SIDES
from model.data.vocabulary import Vocabulary
from model.document_search import search_document
from model.training.bundled import bundled_rows, find_recipe
from model.training.checkpoint import SUMMARY, WEIGHTS, load_config, load_model, save_model
from model.training.document_checkpoint import CONTEXT_SUMMARY, CONTEXT_WEIGHTS
from model.training.document_recipe import DocumentRecipe
from server.artifact.artifact import file_hash
from tests.export.compare.runs import SAMPLE, base_folder, finished_run

ITEM = (
    '{"src": "It is cold.", "ref": "Es ist kalt.", "contrastive": ["Er ist kalt."], '
    '"src_context": "Where is the station?", "gender": "n"}\n'
)


def compare(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    compare_command.add_arguments(parser)
    return compare_command.run(parser.parse_args([str(argument) for argument in arguments]))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers, a control that was shown other documents, and one that learned everything without context."""
    base, folder = base_folder(tmp_path_factory.mktemp("base")), tmp_path_factory.mktemp("runs")
    finished_run(folder / "decoder-flat-word", base, "flat-word", "decoder")
    finished_run(folder / "encoder-sparse-soft", base)
    finished_run(folder / "encoder-sparse-soft-shuffled", base, context="shuffled")
    finished_run(folder / "all-no-context", base, train="all", context="none")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for language in ("en", "de"):
        lines = (SAMPLE / f"dialogues.{language}").read_text(encoding="utf-8").split("\n")[:34]
        (folder / f"dialogues.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "items.jsonl").write_text(ITEM * 3, encoding="utf-8")
    return folder


def options(runs: Path, data: Path, *more: object) -> list[object]:
    sizes = ["--limit", 20, "--translate-limit", 10, "--items", 2, "--beam", 1]
    return [runs, "--data", data, "--sets", "dialogues", "--contrastive", "items", *sizes, *more]


def test_rows_are_measured_once_under_every_condition(
    runs: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, out = tmp_path / "measured.json", tmp_path / "out"
    assert compare(*options(runs, data, "--json", kept, "--out", out)) == 0
    shown = capsys.readouterr().out
    rows = re.findall(r"^\| ([\w-]+) \|", shown.split("## What the papers")[0], flags=re.M)
    assert rows == [
        "row", "---", "all-no-context", "decoder-flat-word", "encoder-sparse-soft", "encoder-sparse-soft-shuffled"
    ]  # fmt: skip
    number = r"[+-][\d.]+ ± [\d.]+"
    assert re.search(rf"\| encoder-sparse-soft \| .* \| [\d.]+ ± [\d.]+ \| {number} \| {number} \| {number} \|", shown)
    assert re.search(r"\| all-no-context \| .* \| [\d.]+ ± [\d.]+ \| - \| - \| - \| - \|", shown)
    tables = (out / "tables.md").read_text(encoding="utf-8")
    heads = re.findall(r"^(\|.*)\n\| ---((?: \| ---)*) \|\n(\|.*)$", tables, flags=re.M)
    assert len(heads) == 4
    assert all(head.count("|") == first.count("|") == rule.count("|") + 2 for head, rule, first in heads)
    for condition in (ALONE, *IN_CONTEXT):
        assert f"| encoder-sparse-soft, {condition} | " in tables
    assert "| encoder-sparse-soft, with context | " in tables
    zeros = re.search(r"\| encoder-sparse-soft \| online \| ([\d.]+)% \| ([\d.]+)% \|", tables)
    assert zeros is not None
    assert 0 < float(zeros[1]) < 100
    for name in ("sentence_nll", "costs_in_context", "translations_alone", "translations_in_context", "evaluate_items"):
        monkeypatch.setattr(measurements, name, lambda *args, name=name: pytest.fail(f"{name} again"))
    for more in ([], ["--only", "table"]):
        assert compare(*options(runs, data, "--json", kept, *more)) == 0
        assert capsys.readouterr().out == shown


def test_the_page_includes_the_handwritten_section(runs: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "tried.md").write_text("## What was tried\n\nNothing moved.\n", encoding="utf-8")
    assert compare(*options(runs, data, "--json", tmp_path / "none.json", "--only", "table", "--out", tmp_path)) == 0
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "\n\n## What was tried\n\nNothing moved.\n\n## What differs from the papers" in page
    assert "kinds of context layers" in page
    assert "read 0.1 million target tokens" in page


def test_a_shuffled_document_sees_the_whole_of_the_next_and_nothing_of_itself() -> None:
    assert [stored_document(SHUFFLED, index, 3) for index in range(3)] == [1, 2, 0]
    assert [stored_document("offline", index, 3) for index in range(3)] == [0, 1, 2]
    assert distances(SHUFFLED, 2, 3).tolist() == [[True] * 3] * 2
    assert distances("online", 2, 2).tolist() == [[False, False], [True, False]]
    assert distances("offline", 2, 2).tolist() == [[False, True], [True, False]]


def test_translations_in_context_are_those_of_the_greedy_reference(runs: Path, data: Path) -> None:
    row = next(row for row in find_rows([runs]) if row.name == "encoder-sparse-soft")
    text = read_set(data, "dialogues", ("en", "de"), row.vocabulary, TextChoice(60, None, 20))
    model, vocabulary = row.load_in_context(), Vocabulary(row.vocabulary)
    documents = [[pair.source for pair in document] for document in text.pairs]
    longest = min(100, row.config.max_length - 1)
    for condition in ("online", "offline"):
        actual = [
            search_document(model, document, condition == "online", beam_size=1, max_length=longest)
            for document in documents
        ]
        expected = vocabulary.decode([list(best.ids) for document in actual for best, *_ in document])
        assert translations_in_context(row, text, condition) == expected
    assert translations_in_context(row, text, SHUFFLED) != expected


def test_wrong_sets_and_pages_are_refused(runs: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(CompareError, match="--items must be at least 1"):
        compare(*options(runs, data), "--items", 0)
    with pytest.raises(CompareError, match=r"'tatoeba-dev' is not divided into documents .* needs documents"):
        compare(runs, "--data", SAMPLE, "--sets", "tatoeba-dev", "--limit", 5, "--translate", "")


def test_rows_share_their_frozen_sentence_model(runs: Path, tmp_path: Path) -> None:
    by_name = {row.name: row for row in find_rows([runs])}
    frozen = [row for row in by_name.values() if row.section and row.section.freezes_base]
    assert len({row.alone_hash for row in frozen}) == 1
    changed = by_name["all-no-context"]
    assert changed.alone_hash == changed.weights_hash != frozen[0].alone_hash
    assert not changed.has_context
    assert len({row.weights_hash for row in by_name.values()}) == 3  # two differ in training alone and are equal here
    with pytest.raises(CompareError, match="is not a finished run"):
        read_row(tmp_path)
    other = read_row(finished_run(tmp_path / "other", base_folder(tmp_path / "base")))
    assert other.budget != frozen[0].budget  # on another sentence model


def test_a_row_without_weights_outlives_the_sentence_model_that_it_was_trained_on(tmp_path: Path) -> None:
    """What was measured counts, on the sentence model that it was measured on; its layer is put on no other."""
    base, run = base_folder(tmp_path / "base"), tmp_path / "run"
    summary = json.loads((finished_run(run, base) / SUMMARY).read_text(encoding="utf-8"))
    (run / SUMMARY).unlink()
    hashes = {CONTEXT_WEIGHTS: file_hash(run / CONTEXT_WEIGHTS)}
    known = {**summary, "sha256": hashes, "base_sha256": file_hash(base / WEIGHTS)}
    (run / CONTEXT_SUMMARY).write_text(json.dumps(known), encoding="utf-8")
    before = read_row(run)
    save_model({name: 2 * weight for name, weight in load_model(base).state_dict().items()}, load_config(base), base)
    with pytest.raises(CompareError, match="was trained on other weights than those of"):
        read_row(run)
    (run / CONTEXT_WEIGHTS).unlink()
    after = read_row(run)
    assert (after.alone_hash, after.weights_hash) == (before.alone_hash, before.weights_hash)
    with pytest.raises(CompareError, match="kept without its weights"):
        after.load_alone()


def test_every_row_of_the_paper_has_a_recipe_of_the_same_kind() -> None:
    expected = {f"{side}-{kind}": (side, kind) for side in CONTEXT_SIDES for kind in CONTEXT_ATTENTIONS}
    for table, condition in zip(CONTEXT_TABLES[:2], ("offline", "online"), strict=True):
        assert list(table.figures)[1:] == [f"documents/{name}, {condition}" for name in expected]
    for name, (side, kind) in expected.items():
        recipe = find_recipe(f"documents/{name}")
        assert isinstance(recipe, DocumentRecipe)
        assert (recipe.document.layer.side, recipe.document.layer.attention) == (side, kind)
        assert recipe.document.freezes_base
    controls = [row for row in bundled_rows("documents") if row.partition("/")[2] not in expected]
    assert len(controls) == 6


def judged(folder: Path, base: Path, name: str, seed: int, shares: dict[str, float]) -> Measured:
    """A row as if it were a bundled one, with such shares of 400 items right; seeds differ a little."""
    attention = name.partition("-")[2]
    run = read_row(finished_run(folder / f"{name}-{seed}", base, attention))
    numbers = np.random.default_rng([seed, len(name)]).random(400)
    right = {condition: (numbers < share).tolist() for condition, share in shares.items()}
    return Measured(dataclasses.replace(run, bundled=f"documents/{name}"), {}, right={"items": right})


def test_items_in_context_are_compared_with_items_in_shuffled_context(tmp_path: Path) -> None:
    """Paired by item, with the error of seeds: 0.7 of the items with their context, 0.5 with another's."""
    base = base_folder(tmp_path / "base")
    shares = {WITHOUT: 0.5, WITH: 0.7, ANOTHERS: 0.5}
    rows = [judged(tmp_path, base, "encoder-sparse-soft", seed, shares) for seed in (1, 2, 3)]
    rows += [judged(tmp_path, base, "encoder-flat-word", 1, shares | {WITH: 0.5})]
    (family,) = families(rows, WRONG_ITEMS)
    seen = family.members[f"documents/encoder-sparse-soft, {WITH}"]
    assert seen.seeds == 3
    assert seen.costs["items"].estimate.value == pytest.approx(0.3, abs=0.05)
    claims = {claim.text: claim_of(claim, OWN_ITEMS, family) for claim in OWN_ITEMS.claims}
    own = next(claim for text, claim in claims.items() if text.startswith("a layer finds more in"))
    steps = {step.label: step for step in own.steps}
    verdicts = dict(zip(steps, own.verdicts, strict=True))
    label = f"encoder-sparse-soft, {ANOTHERS} - encoder-sparse-soft, {WITH}"
    resolved = steps[label]
    assert verdicts[label] == HOLDS
    assert resolved.difference is not None
    assert resolved.difference.estimate.value == pytest.approx(0.2, abs=0.03)
    assert verdicts[f"encoder-flat-word, {ANOTHERS} - encoder-flat-word, {WITH}"] == ONE_SEED
    assert verdicts[f"encoder-flat-sentence, {ANOTHERS} - encoder-flat-sentence, {WITH}"] == NOT_TRIED
    text = markdown(short_sections(Comparison(rows, MeasurementPlan(SAMPLE, (), ()), "full")))
    assert " of items | " in text
    assert "From seed to seed share of wrong items differs by 0.0" in text
    assert "Claims are tested in log-perplexity and share of wrong items" in text


def test_rows_without_the_shuffled_condition_are_measured_again(runs: Path, data: Path) -> None:
    row = next(row for row in find_rows([runs]) if row.name == "encoder-sparse-soft")
    plan, store = MeasurementPlan(data, (), (), contrastive=("items",), items=2), Store(None)
    measure_contrastive(row, plan, store)
    result = store.get(row.weights_hash, plan.items_key("items"))
    assert result is not None
    assert list(result) == [WITHOUT, WITH, ANOTHERS]
    store.put(row.weights_hash, plan.items_key("items"), {WITHOUT: [1, 1], WITH: [1, 1]})
    measure_contrastive(row, plan, store)
    assert store.get(row.weights_hash, plan.items_key("items")) == result


def test_claims_of_context_on_ordinary_text_are_not_comparable() -> None:
    """Every claim that is judged by log-perplexity of ordinary text, the paper's and ours."""
    costs = {"dev": Costs(np.random.default_rng(0).gamma(2, 10, 100), np.full(100, 10.0))}
    for paper in CONTEXT_TABLES:
        names = {name for claim in paper.claims for step in claim.steps for side in step for name in side}
        members = {name: Variant(name, costs, 3) for name in names | set(paper.figures)}
        family = Family(members, SeedSpread(0.001, 9), (1, 1))
        assert {claim_of(claim, paper, family).verdict for claim in paper.claims} == {NOT_COMPARABLE}


def test_the_papers_statements_are_under_its_name_and_ours_are_not() -> None:
    offline, _, section_4_2, _ = CONTEXT_TABLES
    assert not section_4_2.is_own
    assert OWN_ITEMS.is_own
    assert offline.figures["documents/encoder-flat-word, offline"][0] == 24.55  # Table 2, TED
    assert offline.figures["documents/encoder-sparse-sparse, offline"][0] == 24.27
    assert "flat attention beats hierarchical attention on talks, encoder, offline" in [c.text for c in offline.claims]
