"""The whole command on tiny runs."""

import argparse
import re
from pathlib import Path

import pytest

from export.compare.documents import measurements
from export.compare.documents.command import compare_documents_command
from export.compare.documents.paper import BLEU_ROWS, PAPER_FFN, PAPER_HEADS, PAPER_WIDTH, SIZES
from export.compare.documents.report import MARK
from export.compare.documents.rows import find_document_rows, read_document_row
from export.compare.documents.tables import parameters_of
from export.compare.rows import CompareError
from model.config import CONTEXT_ATTENTIONS, CONTEXT_SIDES, ContextConfig
from model.training.bundled import bundled_rows, find_recipe
from model.training.document_recipe import DocumentRecipe
from tests.export.compare.documents.runs import SAMPLE, base_folder, finished_run

ITEM = (
    '{"src": "It is cold.", "ref": "Es ist kalt.", "contrastive": ["Er ist kalt."], '
    '"src_context": "Where is the station?", "gender": "n"}\n'
)


def compare(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    compare_documents_command.add_arguments(parser)
    return compare_documents_command.run(parser.parse_args([str(argument) for argument in arguments]))


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
    sizes = ["--scored", 20, "--translated", 10, "--items", 2, "--rounds", 1]
    return [runs, "--data", data, "--sets", "dialogues", "--contrastive", "items", *sizes, *more]


def test_rows_are_measured_once_and_then_only_shown(
    runs: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, out = tmp_path / "measured.json", tmp_path / "out"
    assert compare(*options(runs, data, "--json", kept, "--out", out)) == 0
    shown = capsys.readouterr().out
    rows = re.findall(r"^\| ([\w-]+) \|", shown.split("## What agrees")[0], flags=re.M)
    assert rows == [
        "row", "---", "encoder-sparse-soft", "decoder-flat-word", "encoder-sparse-soft-shuffled", "all-no-context"
    ]  # fmt: skip
    heads = re.findall(r"^(\|.*)\n\| ---((?: \| ---)*) \|\n(\|.*)$", shown, flags=re.M)
    assert len(heads) > 8
    assert all(head.count("|") == first.count("|") == rule.count("|") + 2 for head, rule, first in heads)
    assert "every context layer beats its sentence model, offline" in shown
    assert "the true context beats another document's: encoder-sparse-soft" in shown
    assert re.search(r"\| sentence model \| - \| [\d.]+ ± [\d.]+ \|", shown)
    assert re.search(r"\| all-no-context \| alone \| [+-][\d.]+ ± [\d.]+ \|", shown)
    assert re.search(r"\| encoder-sparse-soft \| 24.23 \(\+0.95\) \|", shown)
    assert re.search(r"\| encoder-sparse-soft \| 54.2 M \(\+4.2 M\) \| 74.11 \(-14%\) \| 4,198,912 \|", shown)
    assert re.search(r"\| sentence model \| 50.0 M \| 86.33 \| - \| [\d,]+ \| [\d,]+ \|", shown)
    assert "| encoder-sparse-soft, with context | " in shown
    assert "dialogues: 2 documents with" in shown
    zeros = re.search(r"\| encoder-sparse-soft \| online \| ([\d.]+)% \| ([\d.]+)% \|", shown)
    assert zeros is not None
    assert 0 < float(zeros[1]) < 100
    page = (out / "README.md").read_text(encoding="utf-8")
    assert page.startswith(MARK)
    assert shown.strip() in page
    for name in ("costs_alone", "costs_in_context", "greedy_document", "greedy", "judge", "words_per_second"):
        monkeypatch.setattr(measurements, name, lambda *args, name=name: pytest.fail(f"{name} again"))
    for more in ([], ["--only", "table"]):
        assert compare(*options(runs, data, "--json", kept, *more)) == 0
        assert capsys.readouterr().out == shown


def test_a_table_of_nothing_measured_has_no_figures(
    runs: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*options(runs, data, "--json", tmp_path / "none.json", "--only", "table")) == 0
    shown = capsys.readouterr().out
    assert "| encoder-sparse-soft | online | - | - |" in shown
    assert "not measured" in shown
    assert "not trained" not in shown


def test_the_page_has_what_somebody_wrote_beside_it(runs: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "tried.md").write_text("## What was tried\n\nNothing moved.\n", encoding="utf-8")
    assert compare(*options(runs, data, "--json", tmp_path / "none.json", "--only", "table", "--out", tmp_path)) == 0
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "\n\n## What was tried\n\nNothing moved.\n\n## Train one again" in page
    assert "0.1 million target tokens at most" in page


def test_wrong_options_say_what_is_right(runs: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(CompareError, match="say which file"):
        compare(*options(runs, data, "--only", "table"))
    with pytest.raises(CompareError, match="--items must be at least 1"):
        compare(*options(runs, data), "--items", 0)
    (tmp_path / "README.md").write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(CompareError, match="was not written by `ringmt compare-documents`"):
        compare(*options(runs, data, "--json", tmp_path / "x", "--only", "table", "--out", tmp_path))


def test_rows_share_their_frozen_sentence_model(runs: Path, tmp_path: Path) -> None:
    by_name = {row.name: row for row in find_document_rows([runs])}
    assert list(by_name) == sorted(by_name)
    frozen = [row for row in by_name.values() if row.section.freezes_base]
    assert len({row.alone for row in frozen}) == 1
    changed = by_name["all-no-context"]
    assert changed.alone == changed.subject != frozen[0].alone
    assert not changed.has_context
    assert len({row.subject for row in by_name.values()}) == 3  # the two that differ in training alone are equal here
    with pytest.raises(CompareError, match="no finished run"):
        find_document_rows([tmp_path])
    with pytest.raises(CompareError, match="is not a finished run with context"):
        read_document_row(tmp_path)
    with pytest.raises(CompareError, match="two folders are called 'all-no-context'"):
        find_document_rows([runs, runs / "all-no-context"])
    other = finished_run(tmp_path / "other", base_folder(tmp_path / "base"))
    with pytest.raises(CompareError, match="on several sentence models"):
        find_document_rows([runs, other])


def test_every_row_of_the_paper_has_a_recipe_of_the_same_kind() -> None:
    expected = {f"{side}-{kind}": (side, kind) for side in CONTEXT_SIDES for kind in CONTEXT_ATTENTIONS}
    assert {row.row for row in BLEU_ROWS} == set(expected)
    for name, (side, kind) in expected.items():
        recipe = find_recipe(f"documents/{name}")
        assert isinstance(recipe, DocumentRecipe)
        assert (recipe.document.layer.side, recipe.document.layer.attention) == (side, kind)
        assert recipe.document.freezes_base
    controls = [row for row in bundled_rows("documents") if row.partition("/")[2] not in expected]
    assert len(controls) == 4


def test_layers_have_the_papers_number_of_parameters() -> None:
    (base, _) = SIZES[None]
    for name, (millions, _) in SIZES.items():
        if name is not None:
            kind = name.removeprefix("encoder-")
            config = ContextConfig(kind, "encoder", PAPER_HEADS, PAPER_FFN)
            assert round(parameters_of(PAPER_WIDTH, config) / 1e6, 1) == pytest.approx(millions - base, abs=0.05)
