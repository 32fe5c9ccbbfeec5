"""`ringmt translate FILE`: a bar on a terminal, and nothing where there is none."""

import io
import sys
from pathlib import Path

import pytest

from server.cli.main import main
from server.settings import BUNDLED_MODELS


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal_only(
    tiny_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note.txt").write_text("We walk home in the rain.\nWhere is the station?\n", encoding="utf-8")
    command = ["translate", str(tmp_path / "note.txt"), "--models", str(tiny_artifact), "--precision", "fp32"]
    assert main(command) == 0
    errors = capfd.readouterr().err
    assert not {"\r", "%", "|"} & {*errors}
    assert all(line.startswith("ringmt: ") for line in errors.splitlines())  # which sentences look wrong
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(command) == 0
    assert terminal.getvalue().startswith("\rnote.txt: ")
    assert "100%" in terminal.getvalue()
    assert "| 2/2 [" in terminal.getvalue()


def test_a_memory_and_a_formality(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "note.txt").write_text("Did you bring your book?\nWhere is the station?\n", encoding="utf-8")
    (tmp_path / "ours.csv").write_text("Where is the station?,Wo geht es zum Zug?\nNo.,\n", encoding="utf-8")
    model = ["--models", str(BUNDLED_MODELS / "en-de")]
    command = ["translate", str(tmp_path / "note.txt"), *model, "--memory", str(tmp_path / "ours.csv")]
    for formality, pronoun in (("more", "Sie"), ("less", "du")):
        assert main([*command, "--formality", formality]) == 0
        first, second = (tmp_path / "note.de.txt").read_text(encoding="utf-8").splitlines()
        assert pronoun in first.split()
        assert second == "Wo geht es zum Zug?"
    assert "1 pair is not used: its target is empty" in capfd.readouterr().err
    assert main(["translate", *model, "--memory", str(tmp_path / "ours.csv")]) == 1
    assert "--memory is for files" in capfd.readouterr().err
    english = ["translate", "--models", str(BUNDLED_MODELS / "de-en"), "--formality", "more"]
    assert main(english) == 1
    assert "--formality is not for de to en" in capfd.readouterr().err
