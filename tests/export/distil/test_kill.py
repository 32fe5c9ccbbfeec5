"""A process of `ringmt distil` that is killed has lost and repeated no line when another one goes on."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import export.distil.command as command
from export.distil.teacher import Row
from tests.children import PATIENCE, child
from tests.export.distil.runs import distil, write_recipe
from tests.model.runs import SAMPLE

LINES = [line for line in (SAMPLE / "tatoeba.en").read_text(encoding="utf-8").splitlines() if line]
COPIES = 8


def wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    """Return when the file has some lines."""
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_bytes().count(b"\n") > len(LINES) // 4):
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline, "it translates nothing"
        time.sleep(0.01)


def test_a_killed_process(tiny_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, out = tmp_path / "text.en", tmp_path / "out"
    text.write_text("\n".join(LINES * COPIES) + "\n", encoding="utf-8")
    arguments = (tiny_artifact, "--text", text, "--recipe", write_recipe(tmp_path), "--out", out, "--threads", 1)
    program = "import sys; from tests.export.distil.runs import distil; distil(*sys.argv[1:])"
    part = out / "translated.jsonl.part"
    with child([sys.executable, "-c", program, *arguments], stderr=subprocess.DEVNULL) as process:
        wait_for(part, process)
    before = part.read_bytes()
    monkeypatch.setattr(command, "train_student", lambda *_: None)
    assert distil(*arguments) == 0
    written = (out / "translated.jsonl").read_bytes()
    assert written.startswith(before[: before.rindex(b"\n") + 1])
    rows = [Row.from_json(row) for row in written.decode("utf-8").split("\n")[:-1]]
    assert len(rows) == len(LINES) * COPIES
    assert all(row == rows[number % len(LINES)] for number, row in enumerate(rows))  # each line's own
    assert len({repr(row) for row in rows}) > 20
