"""The whole command on tiny checkpoints."""

import argparse
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.compare import measurements
from export.compare.command import compare_command
from export.compare.decode import tokens_per_second
from export.compare.measurements import Measured, Plan
from export.compare.page import MARK, write_page
from export.compare.report import report
from export.compare.rows import CompareError
from export.compare.table import likelihood_table
from model.training.bundled import find_recipe
from server.cli import COMMANDS, EXTRAS
from tests.export.compare.checkpoints import SAMPLE, finished, language_model, measured, row
from tests.models import tiny_config


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
    return [folder, "--data", SAMPLE, "--sets", "tatoeba-dev", "--limit", 12, "--beam", 2, "--rounds", 0, *more]


def test_rows_are_measured_once_and_then_only_shown(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, out = tmp_path / "measured.json", tmp_path / "out"
    assert compare(*options(folder, "--json", kept, "--out", out)) == 0
    shown = capsys.readouterr().out
    assert "| n2 | plain N=2 | 1 |" in shown
    assert "N=2 - full" in shown
    assert "p against full" in shown
    assert "12 sentences, beam 2" in shown
    assert "Chelba et al. 2019" in shown
    page = (out / "README.md").read_text(encoding="utf-8")
    assert page.startswith(MARK)
    assert shown.strip() in page
    assert (out / "plots/ngram-1.png").stat().st_size > 1000
    assert linked(page) == drawn(out)
    monkeypatch.setattr(measurements, "load_any_model", lambda path: pytest.fail(f"{path} is measured again"))
    monkeypatch.setattr(measurements, "translations", lambda *args: pytest.fail("translated again"))
    for more in ([], ["--only", "table"]):
        assert compare(*options(folder, "--json", kept, *more)) == 0
        assert capsys.readouterr().out == shown


def test_a_table_of_nothing_measured_has_the_rows_and_no_figures(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*options(folder, "--json", tmp_path / "none.json", "--only", "table")) == 0
    shown = capsys.readouterr().out
    assert re.search(r"\| n2 \| plain N=2 \| 1 \| [\d,]+ \| [\d,]+ \| - \| - \| - \| - \| - \| - \| - \|", shown)
    assert "Tokens/s were not measured." in shown
    assert not (tmp_path / "none.json").exists()


def test_wrong_options_say_what_is_right(folder: Path) -> None:
    with pytest.raises(CompareError, match="no row is called 'base': full, n2"):
        compare(*options(folder, "--reference", "base"))
    with pytest.raises(CompareError, match="say which file"):
        compare(*options(folder, "--only", "table"))


def test_speed_is_that_of_each_configuration() -> None:
    short, long = tokens_per_second([tiny_config(ngram=2), tiny_config(decoder_layers=8)], beam=2, rounds=1)
    assert short > long > 100


def test_seeds_are_shown_with_mean_and_range(tmp_path: Path) -> None:
    rows: list[Measured] = [measured(row(tmp_path, f"n4-{seed}", seed), 0.1 * seed, noise=0.0) for seed in (1, 2)]
    values = [float(np.round(one.costs["dev"].estimate.value, 3)) for one in rows]
    last = likelihood_table(rows, ["dev"]).splitlines()[-1]
    assert last.startswith("| 2 seeds: n4-1, n4-2 |")
    assert f"({values[0]:.3f} to {values[1]:.3f})" in last


def test_the_command_is_listed_with_the_extra_that_it_needs() -> None:
    assert "compare" in COMMANDS
    assert EXTRAS["compare"] == "train"


def test_rows_with_windows_are_drawn_and_language_models_have_perplexities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, out = tmp_path / "rows", tmp_path / "out"
    finished(rows / "gauss", encoder_attention={"kind": "localness"}, cross_attention={"kind": "localness"})
    finished(rows / "window", decoder_attention={"kind": "window"})
    language_model(rows / "lm")
    arguments = options(rows, "--translate-limit", 3, "--json", tmp_path / "measured.json", "--out", out)
    assert compare(*arguments) == 0
    shown = capsys.readouterr().out
    languages = shown.split("### Language models")[1]
    assert re.search(r"\| lm \| LM plain full \| 1 \| [\d,]+ \| [\d.]+ ± [\d.]+ \|", languages)
    assert "| lm |" not in shown.split("### Language models")[0]
    assert "3 sentences, beam 2" in shown
    page = (out / "README.md").read_text(encoding="utf-8")
    assert linked(page) == drawn(out) == {"plots/window-sizes.png", "plots/window-masks-window.png"}
    assert "d=32, 2 layers; d=32, 2+2 layers" in page
    monkeypatch.setattr(measurements, "load_any_model", lambda path: pytest.fail(f"{path} is measured again"))
    (out / "plots/window-masks-gone.png").write_bytes(b"from another comparison")
    assert compare(*arguments) == 0
    assert linked((out / "README.md").read_text(encoding="utf-8")) == drawn(out)


def test_a_page_of_another_kind_is_not_overwritten(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(CompareError, match=r"README.md was not written by `ringmt compare`"):
        compare(*options(folder, "--json", tmp_path / "none.json", "--only", "table", "--out", tmp_path))
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# Mine\n"


def plan() -> Plan:
    return Plan(SAMPLE, ("tatoeba-dev",), (), None, None, 2, 0)


def bundled(folder: Path, name: str, offset: float, **changes: Any) -> Measured:
    """Measured as if it were trained from a bundled row."""
    config = find_recipe(name).model
    one = row(folder, name.replace("/", "-"), ngram=config.ngram)
    found = measured(replace(one, bundled=name), offset)
    return replace(found, costs={"tatoeba-dev": found.costs["dev"]}, **changes)


def test_papers_stand_beside_rows_of_the_bundled_recipes_and_the_rest_is_said_to_be_missing(tmp_path: Path) -> None:
    rows = [bundled(tmp_path, "small/full", 0.1), bundled(tmp_path, "small/relative", 0.0)]
    text = report(rows, plan(), "small-full")
    assert "Yang et al. 2018: Table 4" in text
    assert "| relative | 24.53 | 27.94 |" in text
    assert "| localness-query-relative | 24.96 | 28.54 | not trained | - |" in text
    assert "- relative positions and localness each beat plain attention: **not resolved**" in text
    assert "Table 6" not in text
    missing = text.split("### Not trained")[1]
    assert "n2, n3" in missing
    assert "window-all" in missing
    assert " relative," in missing  # the language model's
    write_page(tmp_path / "out", text, rows)
    page = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert "ringmt train --recipe small/full --data DATA --out RUN\n" in page
    assert "10.0 minutes" in page


@pytest.mark.parametrize(("last", "wanted"), [(0.05, "the best is N=3, at -0.0"), (0.0, "falls as N grows, as in")])
def test_the_order_of_n_is_put_in_words(last: float, wanted: str, tmp_path: Path) -> None:
    offsets = {"small/n2": 0.6, "small/n3": 0.2 if last == 0 else 0.0, "small/n8": 0.1, "small/full": last}
    text = report([bundled(tmp_path, name, offset) for name, offset in offsets.items()], plan(), "small-full")
    assert "N=2 is clearly the worst" in text
    assert wanted in text
