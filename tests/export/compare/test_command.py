"""The whole command on tiny checkpoints."""

import argparse
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from export.compare import measurements
from export.compare.command import compare_command
from export.compare.conditions import ALONE
from export.compare.measurements import Measured, MeasurementPlan
from export.compare.page import MARK, write_page
from export.compare.report import Comparison, full_sections, markdown, short_sections
from export.compare.rows import CompareError
from export.compare.tables import likelihood_table
from model.training.bundled import find_recipe
from server.cli.main import COMMANDS, SERVER_COMMANDS
from tests.export.compare.checkpoints import SAMPLE, finished, language_model, measured, row


def compare(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    compare_command.add_arguments(parser)
    return compare_command.run(parser.parse_args([str(argument) for argument in arguments]))


def linked(page: str) -> set[str]:
    return set(re.findall(r"\]\((plots/[^)]+)\)", page))


def drawn(folder: Path) -> set[str]:
    return {f"plots/{path.name}" for path in (folder / "plots").iterdir()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A row with full attention and one with N=2."""
    rows = tmp_path_factory.mktemp("rows")
    finished(rows / "full", ngram=None, max_length=64)
    finished(rows / "n2", ngram=2, max_length=64)
    return rows


def options(folder: Path, *more: object) -> list[object]:
    return [folder, "--data", SAMPLE, "--sets", "tatoeba-dev", "--limit", 12, "--beam", 2, *more]


def test_rows_are_measured_once(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, out = tmp_path / "measured.json.gz", tmp_path / "out"
    assert compare(*options(folder, "--json", kept, "--out", out)) == 0
    shown = capsys.readouterr().out
    assert "full attention is better" not in shown  # two orders are no order
    assert re.search(
        r"\| N=2 is the worst \| 1.5 M \| [^|]+ ± [^|]+ \| 0 of 1 \| \*\*not comparable: one seed\*\* \|", shown
    )
    assert "12 sentences, beam 2" in shown
    page, tables = ((out / name).read_text(encoding="utf-8") for name in ("README.md", "tables.md"))
    assert page.startswith(MARK)
    assert tables.startswith(MARK)
    assert shown.strip() in page
    assert "| n2 | plain N=2 | 1 |" in tables
    assert "| N=2 - full |" in tables
    assert "p against full" in tables
    assert "none on the weights inside attention" in page
    assert (page.count("± is "), tables.count("± is ")) == (1, 1)
    assert (out / "plots/ngram-1.png").stat().st_size > 1000
    assert linked(page + tables) == drawn(out)
    monkeypatch.setattr(measurements, "sentence_nll", lambda model, pairs: pytest.fail("measured again"))
    monkeypatch.setattr(measurements, "translations_alone", lambda *args: pytest.fail("translated again"))
    for more in ([], ["--only", "table"]):
        assert compare(*options(folder, "--json", kept, *more)) == 0
        assert capsys.readouterr().out == shown


def test_a_table_of_nothing_measured_has_the_rows_and_no_figures(folder: Path, tmp_path: Path) -> None:
    arguments = options(folder, "--json", tmp_path / "none.json", "--only", "table", "--out", tmp_path / "out")
    assert compare(*arguments) == 0
    tables = (tmp_path / "out/tables.md").read_text(encoding="utf-8")
    assert "| n2 | plain N=2 | 1 | - | - | - | - | - |" in tables
    assert not (tmp_path / "none.json").exists()


def test_wrong_options_are_refused_with_the_reason(folder: Path) -> None:
    with pytest.raises(CompareError, match="no row is called 'base': full, n2"):
        compare(*options(folder, "--reference", "base"))
    with pytest.raises(CompareError, match="say which file"):
        compare(*options(folder, "--only", "table"))
    with pytest.raises(CompareError, match="--translate-limit must be at least 1, not 0"):
        compare(*options(folder, "--translate-limit", 0))


def test_seeds_have_mean_and_range(tmp_path: Path) -> None:
    rows: list[Measured] = [measured(row(tmp_path, f"n4-{seed}", seed), 0.1 * seed, noise=0.0) for seed in (1, 2)]
    values = [float(np.round(item.alone["dev"].estimate.value, 3)) for item in rows]
    last = likelihood_table(rows, ["dev"]).splitlines()[-1]
    assert last.startswith("| 2 seeds: n4-1, n4-2 |")
    assert f"({values[0]:.3f} to {values[1]:.3f})" in last


def test_the_command_is_listed_and_needs_an_extra() -> None:
    assert "compare" in COMMANDS
    assert "compare" not in SERVER_COMMANDS


def test_rows_with_windows_are_drawn_and_language_models_have_perplexities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, out = tmp_path / "rows", tmp_path / "out"
    finished(rows / "gauss", encoder_attention={"kind": "localness"}, cross_attention={"kind": "localness"})
    finished(rows / "window", decoder_attention={"kind": "window"})
    finished(rows / "window-again", seed=2, decoder_attention={"kind": "window"})  # one picture for both seeds
    finished(rows / "wind", encoder_attention={"kind": "window"})
    language_model(rows / "lm")
    arguments = options(rows, "--translate-limit", 3, "--json", tmp_path / "measured.json", "--out", out)
    assert compare(*arguments) == 0
    page, tables = ((out / name).read_text(encoding="utf-8") for name in ("README.md", "tables.md"))
    languages = tables.split("## Language models")[1]
    assert re.search(r"\| lm \| LM plain full \| 1 \| [\d,]+ \| [\d.]+ ± [\d.]+ \|", languages)
    assert "| lm |" not in tables.split("## Language models")[0]
    assert "3 sentences, beam 2" in page
    assert linked(page) == {"plots/window-sizes.png", "plots/window-masks-wind.png"}
    assert linked(tables) == {"plots/window-masks-window.png"}
    assert linked(page) | linked(tables) == drawn(out)
    assert "d=32, 2 layers; d=32, 2+2 layers" in page
    (out / "plots/window-masks-gone.png").write_bytes(b"from another comparison")
    assert compare(*arguments) == 0
    assert linked(page) | linked(tables) == drawn(out)


def test_longer_trained_rows_have_the_same_claims(tmp_path: Path) -> None:
    rows = [
        bundled(tmp_path, f"{recipe}/{row}", offset + seed / 1000, seed)
        for recipe in ("small", "longer")
        for row, offset in (("full", 0.1), ("relative", 0.0))
        for seed in (1, 2)
    ]
    short, full = (markdown(sections(found(rows))) for sections in (short_sections, full_sections))
    claim = "relative positions and localness each beat plain attention (of BLEU; judged by log-perplexity)"
    assert short.count(f"| Yang et al. 2018, Table 4 | {claim} | 1.5 M | +0.1") == 2
    assert "Nguyen et al. 2020" not in short  # all that it claims is of rows that are not there
    assert "| longer/relative |" in short
    assert full.count("| relative | 24.53 | 27.94 |") == 2


def test_a_page_of_another_kind_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(CompareError, match=r"README.md was not written by `ringmt compare`"):
        compare(*options(folder, "--json", tmp_path / "none.json", "--only", "table", "--out", tmp_path))
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# Mine\n"


def found(rows: list[Measured]) -> Comparison:
    return Comparison(rows, MeasurementPlan(SAMPLE, ("tatoeba-dev",), ()), "full")


def bundled(folder: Path, name: str, offset: float, seed: int = 1) -> Measured:
    """Measured as if it were trained from a bundled row."""
    config = find_recipe(name).model
    width = 64 + 8 * len(name)  # other variants are other models
    first = row(folder, f"{name.replace('/', '-')}-{seed}", seed, ngram=config.ngram, ffn_dim=width)
    costs = measured(first, offset).alone["dev"]
    return Measured(replace(first, bundled=name), {ALONE: {"tatoeba-dev": costs}})


def test_papers_stand_beside_bundled_rows_and_missing_rows_are_named(tmp_path: Path) -> None:
    rows = [
        bundled(tmp_path, name, offset + seed / 1000, seed)
        for name, offset in (("small/full", 0.1), ("small/relative", 0.0))
        for seed in (1, 2)
    ]
    short, full = (markdown(sections(found(rows))) for sections in (short_sections, full_sections))
    assert "## Yang et al. 2018: Table 4: together with relative positions, 1.5 M target tokens" in full
    assert re.search(r"\| relative \| 24.53 \| 27.94 \| 1.5 M \| [\d.]+ ± [\d.]+ \| -0.10", full)
    assert "| localness-query-relative | 24.96 | 28.54 | not tried | - | - |" in full
    assert re.search(
        r"each beat plain attention \(of BLEU; judged by log-perplexity\) \| 1.5 M \| \+0.1\S+ ± \S+ nats \| 1 of 1, "
        r"as claimed \| \*\*not tried\*\*",
        short,
    )
    assert re.search(
        r"From seed to seed log-perplexity differs by 0\.\d+ nats \(2 degrees of freedom, 1.5 M target", short
    )
    assert "| small/relative | plain full | 2 | 1.5 M |" in short
    assert "Table 6" not in full
    write_page(tmp_path / "out", found(rows))
    page = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    missing = page.split("Not trained, though")[1].split("\n")[0]
    assert "small/n2, small/n3" in missing
    assert "small/relative," not in missing
    assert "ringmt train --recipe small/full --data DATA --out RUN\n" in page
    assert "10.0 minutes" in page
