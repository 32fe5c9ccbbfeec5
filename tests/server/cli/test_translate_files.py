"""`ringmt translate FILE`: a bar on a terminal, and nothing where there is none."""

import io
import sys
from pathlib import Path

import pytest

from server.cli.main import main


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_on_a_terminal_only(
    tiny_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note.txt").write_text("We walk home in the rain.\nWhere is the station?\n", encoding="utf-8")
    command = ["translate", str(tmp_path / "note.txt"), "--models", str(tiny_artifact), "--precision", "fp32"]
    assert main(command) == 0
    assert capfd.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(command) == 0
    assert terminal.getvalue().startswith("\rnote.txt: ")
    assert "100%" in terminal.getvalue()
    assert "| 2/2 [" in terminal.getvalue()
