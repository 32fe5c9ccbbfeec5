"""The whole command on tiny checkpoints."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from export.compare import measurements
from export.compare.command import compare_command
from export.compare.decode import tokens_per_second
from export.compare.measurements import Measured
from export.compare.rows import CompareError
from export.compare.table import likelihood_table
from server.cli import COMMANDS, EXTRAS
from tests.export.compare.checkpoints import SAMPLE, finished, measured, row
from tests.models import tiny_config


def compare(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    compare_command.add_arguments(parser)
    return compare_command.run(parser.parse_args([str(argument) for argument in arguments]))


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
    assert "| full | full | 1 |" in shown
    assert "N=2 - full" in shown
    assert "p against full" in shown
    assert "12 sentences, beam 2" in shown
    assert "Chelba et al. 2019" in shown
    assert (out / "results.md").read_text(encoding="utf-8").startswith(shown.strip())
    assert (out / "ngram-1.png").stat().st_size > 1000
    monkeypatch.setattr(measurements, "load_model", lambda path: pytest.fail(f"{path} is measured again"))
    monkeypatch.setattr(measurements, "translations", lambda *args: pytest.fail("translated again"))
    for more in ([], ["--only", "table"]):
        assert compare(*options(folder, "--json", kept, *more)) == 0
        assert capsys.readouterr().out == shown


def test_a_table_of_nothing_measured_has_the_rows_and_no_figures(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(*options(folder, "--json", tmp_path / "none.json", "--only", "table")) == 0
    shown = capsys.readouterr().out
    assert "| n2 | - | - |" in shown
    assert "Not measured." in shown
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
