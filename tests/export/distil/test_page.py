"""The commands of export/distil/README.md do what the page says, on a tiny model."""

import argparse
import dataclasses
import importlib
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from export.distil import teacher
from export.distil.pairs import read_counts
from export.distil.teacher import row_of
from model.training.bundled import find_recipe
from model.training.document_recipe import SECTIONS
from server.artifact.manifest import read_manifest
from server.cli.main import COMMANDS
from server.settings import EngineSettings, Settings
from server.translation.assembly import SentenceTranslation
from tests.export.distil.runs import write_recipe
from tests.marian import Shape, write_marian
from tests.model.runs import SAMPLE
from tests.server.api.conftest import running, until

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "export" / "distil" / "README.md").read_text(encoding="utf-8")
LINES = [
    line.removeprefix("   ")
    for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.S)
    for line in block.splitlines()
    if line.strip()
]
STUDENT, CONTEXT = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.S))
FP32 = ("--graphs", "onnx-fp32")
SMALLER: dict[str, tuple[str, ...]] = {
    "import": FP32, "distil": ("--threads", "1"), "export": FP32, "evaluate": FP32,
}  # fmt: skip
"""Options that a tiny model needs besides."""


def ringmt(line: str) -> None:
    """Run a line of the page, by the entry points of this tree."""
    program, name, *arguments = shlex.split(line)
    assert program == "ringmt"
    assert name in COMMANDS
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, attribute = project["project"]["entry-points"]["ringmt.commands"][name].partition(":")
    command: Any = getattr(importlib.import_module(module), attribute)
    parser = argparse.ArgumentParser(allow_abbrev=False)
    command.add_arguments(parser)
    assert command.run(parser.parse_args([*arguments, *SMALLER.get(name, ())])) == 0, line


def answers(artifact: Path) -> None:
    engine = EngineSettings(num_workers=1, precision="fp32")
    with running(Settings(engine=engine, models=(artifact,), port=0, log_level="error")) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        assert server.translate("Where is the station?").status_code == 200


def unflagged(sentence: SentenceTranslation) -> SentenceTranslation:
    """Random weights babble, which would leave nothing to train on."""
    return dataclasses.replace(sentence, flags=())


def test_every_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(teacher, "row_of", lambda sentences: row_of([unflagged(each) for each in sentences]))
    write_marian(tmp_path / "opus-mt-en-de", Shape())
    shutil.copyfile(SAMPLE / "tatoeba.en", tmp_path / "sentences.en")
    write_recipe(tmp_path)
    (tmp_path / "documents").mkdir()
    for side in ("en", "de"):
        shutil.copyfile(SAMPLE / f"dialogues.{side}", tmp_path / "documents" / f"talks.{side}")
    smaller = {
        **CONTEXT,
        "data": {**CONTEXT["data"], "max_pair_length": 40},
        "training": {"steps": 2, "evaluate_every": 2, "batch_tokens": 400, "warmup_steps": 1},
    }
    write_recipe(tmp_path, yaml.safe_dump(smaller), "context")
    served = []
    for line in LINES:
        if line.startswith("ringmt serve "):
            served.append(tmp_path / line.split()[-1])
            answers(served[-1])
        elif line.startswith("ringmt shortlist "):
            with pytest.raises(ValueError, match="saves no time; --sizes names others"):  # of 80 words
                ringmt(line)
        else:
            ringmt(line)
    assert len(LINES) == 10
    assert [read_manifest(folder).context is not None for folder in served] == [False, True]
    assert read_counts(tmp_path / "night" / "pairs").train > 20


def test_recipes_of_the_page_are_recipes(tmp_path: Path) -> None:
    student = find_recipe(str(write_recipe(tmp_path, yaml.safe_dump(STUDENT))))
    assert (student.model.ngram, student.training.steps) == (8, 30000)
    assert {*CONTEXT} == {*SECTIONS}
    assert CONTEXT["document"]["base"] in next(line for line in LINES if "unpack" in line).split()


def test_files_of_the_page_are_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "export" / "distil" / target).exists(), target
    assert all((ROOT / name).exists() for name in re.findall(r"`(tests/[\w./-]+)`", PAGE))
