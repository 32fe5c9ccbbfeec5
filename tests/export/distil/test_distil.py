"""`ringmt distil`: interrupted runs end like others, what changed is refused, and the student answers a request."""

import gzip
import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import export.distil.command as command
from export.artifact_writer import ExportOptions, export_artifact
from export.distil.inputs import OtherInputs
from export.distil.pairs import read_counts, write_pairs
from export.distil.teacher import LONGEST_LINE, Row, Teacher, row_of
from model.config import ConfigError
from model.training.run import TrainingRun
from server.artifact.manifest import ArtifactError
from server.cli.main import COMMANDS
from server.corpus.output import Output, OutputError, RunIdentity
from server.settings import EngineSettings, Settings
from server.translation.assembly import SentenceTranslation
from server.translation.translator import Translator
from tests.export.distil.runs import RECIPE, distil, files_of, write_recipe
from tests.model.runs import SAMPLE
from tests.models import SENTENCES
from tests.server.api.conftest import running, until

LINES = [line for line in (SAMPLE / "tatoeba.en").read_text(encoding="utf-8").splitlines()[:120] if line]
BEAM = ("--beam", 2, "--threads", 1)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences in three documents, some twice; a line that is no UTF-8, and one that is too long."""
    lines = [line.encode() for line in (*LINES[:60], "", *LINES[60:], *LINES[:5], "", "", "Yes. No. Where is it?")]
    path = tmp_path_factory.mktemp("text") / "text.en"
    path.write_bytes(b"\n".join([*lines, b"\xff\xfe", b"a " * LONGEST_LINE]))
    return path


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("recipe"))


@pytest.fixture(scope="module")
def whole(tiny_artifact: Path, text: Path, recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert distil(tiny_artifact, "--text", text, "--recipe", recipe, "--out", out, *BEAM) == 0
    return out


def test_pairs_are_parallel_and_what_is_left_out_is_counted(whole: Path, text: Path) -> None:
    rows = [Row.from_json(line) for line in (whole / "translated.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(rows) == text.read_bytes().count(b"\n") + 1
    assert [rows[-2], rows[-1]] == [Row([], ["not_utf8"]), Row([], ["too_long"])]
    assert len(rows[-3].pairs) + len(rows[-3].left_out) == 3  # its sentences
    counts = read_counts(whole / "pairs")
    assert counts.lines == len(rows)
    assert counts.train + counts.dev == sum(len(row.pairs) for row in rows) > 20
    assert sum(counts.left_out.values()) == sum(len(row.left_out) for row in rows)
    sides = {
        name: [
            (whole / "pairs" / f"{name}.{side}").read_text(encoding="utf-8").split("\n")[:-1] for side in ("en", "de")
        ]
        for name in ("train", "dev")
    }
    written = [pair for name in sides for pair in zip(*sides[name], strict=True) if pair != ("", "")]
    assert sorted(written) == sorted(pair for row in rows for pair in row.pairs)
    assert not {*sides["train"][0]} & {*sides["dev"][0]}  # a sentence that is there twice is on one side
    assert "" not in sides["dev"][0]
    assert sides["train"][0].count("") == sides["train"][1].count("") >= 1
    assert "" not in sides["train"][0][:1]


def test_translations_are_those_of_the_server(whole: Path, tiny_artifact: Path) -> None:
    with running(settings_of(tiny_artifact, "int8")) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        answers = [server.translate(line, beam_size=2).json()["translations"][0] for line in LINES[:10]]
    rows = (whole / "translated.jsonl").read_text(encoding="utf-8").split("\n")
    for answer, row in zip(answers, map(Row.from_json, rows[:10]), strict=True):
        flagged = [sentence["flags"] for sentence in answer["sentences"]]
        assert len(row.left_out) == sum(map(bool, flagged))
        if not any(flagged):
            assert " ".join(target for _, target in row.pairs) == " ".join(answer["text"].split())


def settings_of(artifact: Path, precision: str) -> Settings:
    engine = EngineSettings(num_workers=1, precision=precision)  # type: ignore[arg-type]
    return Settings(engine=engine, models=(artifact,), port=0, log_level="error")


class Interrupted:
    """Stands in the place of `translate_lines`; the command is interrupted after so many lines."""

    def __init__(self, lines: int) -> None:
        self.lines, self.translate = lines, Teacher.rows

    def rows(self, teacher: Teacher, translator: Translator, lines: Iterable[bytes]) -> Iterator[Row]:
        yield from itertools.islice(self.translate(teacher, translator, lines), self.lines)
        raise KeyboardInterrupt


def interrupt(monkeypatch: pytest.MonkeyPatch, lines: int) -> None:
    interrupted = Interrupted(lines)
    monkeypatch.setattr(Teacher, "rows", lambda *arguments: interrupted.rows(*arguments))


def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    whole: Path, tiny_artifact: Path, text: Path, recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After Ctrl-C, after a kill in the middle of a line, and after Ctrl-C in training."""
    out = tmp_path / "out"
    arguments = (tiny_artifact, "--text", text, "--recipe", recipe, "--out", out, *BEAM)
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 30)
        with pytest.raises(KeyboardInterrupt):
            distil(*arguments)
    assert "30 lines are translated; run the same command again to continue" in capsys.readouterr().err
    part = out / "translated.jsonl.part"
    assert part.read_bytes().count(b"\n") == 30
    with part.open("ab") as file:
        file.write(b'[[["half of')
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 20)
        with pytest.raises(KeyboardInterrupt):
            distil(*arguments)
    shown = capsys.readouterr().err
    assert "50 lines are translated" in shown
    assert "tiny" in shown  # the bar, which begins where the run continues
    assert "30/" in shown
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingRun, "update", interrupted_update(TrainingRun.update, 4))
        with pytest.raises(KeyboardInterrupt):
            distil(*arguments)
    assert not (out / "student" / "weights.safetensors").exists()
    assert files_of(out / "pairs") == files_of(whole / "pairs")
    assert (out / "translated.jsonl").read_bytes() == (whole / "translated.jsonl").read_bytes()
    with pytest.MonkeyPatch.context() as patch:  # nothing is translated again
        patch.setattr(Teacher, "loaded", stopped)
        assert distil(*arguments) == 0
    weights = [folder / "student" / "weights.safetensors" for folder in (out, whole)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    assert sorted(files_of(out)) == sorted(files_of(whole))


def stopped(*arguments: object) -> None:
    raise KeyboardInterrupt


def interrupted_update(update: Callable[..., Any], after: int) -> Callable[..., Any]:
    """An update of training; the command is interrupted after so many."""
    numbers = itertools.count()

    def updated(run: Any, data: Any) -> Any:
        if next(numbers) == after:
            raise KeyboardInterrupt
        return update(run, data)

    return updated


def test_a_finished_run_is_left_alone(
    whole: Path, tiny_artifact: Path, text: Path, recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(whole)
    monkeypatch.setattr(Teacher, "loaded", stopped)
    assert distil(tiny_artifact, "--text", text, "--recipe", recipe, "--out", whole, *BEAM) == 0
    assert files_of(whole) == before


def test_the_student_is_of_the_pairs_and_records_its_teacher(whole: Path) -> None:
    summary = json.loads((whole / "student" / "training.json").read_text(encoding="utf-8"))
    assert summary["recipe"]["data"]["corpora"] == {"train": 1.0}
    assert summary["recipe"]["model"]["ngram"] == 3
    assert (summary["teacher"]["teacher"], summary["teacher"]["beam"]) == ("tiny", 2)
    assert summary["teacher"]["licence"] == "CC0-1.0"
    assert summary["steps"] == 6


def test_a_served_student_answers(whole: Path, tmp_path: Path) -> None:
    options = ExportOptions("student", ("en", "de"), calibration=SENTENCES[:4], examples=SENTENCES[:2])
    export_artifact(whole / "student", tmp_path / "student", options)
    with running(settings_of(tmp_path / "student", "int8")) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        answer = server.translate("Where is the station?").json()
    assert answer["translations"][0]["text"]


Change = Callable[[Path, Path, Path], tuple[object, ...]]
"""(artifact, text, scratch) -> other arguments of the same run."""


def other_text(artifact: Path, text: Path, scratch: Path) -> tuple[object, ...]:
    other = scratch / "other.en"
    other.write_bytes(text.read_bytes() + b"more\n")
    return artifact, "--text", other, *BEAM


def other_artifact(artifact: Path, text: Path, scratch: Path) -> tuple[object, ...]:
    other = scratch / "other"
    shutil.copytree(artifact, other)
    manifest = json.loads((other / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["golden.json"] = "0" * 64
    (other / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return other, "--text", text, *BEAM


CHANGES: dict[str, tuple[Change, str]] = {
    "text": (other_text, "has translations of another text: repeat that command, or choose another --out"),
    "artifact": (other_artifact, "has translations of another artifact: repeat"),
    "beam": (lambda artifact, text, _: (artifact, "--text", text, "--beam", 3), "has translations of another beam"),
    "seed": (
        lambda artifact, text, _: (artifact, "--text", text, *BEAM, "--seed", 0),
        "student was begun with another recipe, seed or number of steps: repeat that command, or move the folder away",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_inputs_are_refused(
    change: str, whole: Path, tiny_artifact: Path, text: Path, recipe: Path, tmp_path: Path
) -> None:
    before = files_of(whole)
    make, message = CHANGES[change]
    with pytest.raises(OtherInputs, match=message):
        distil(*make(tiny_artifact, text, tmp_path), "--recipe", recipe, "--out", whole)
    assert files_of(whole) == before


def test_a_second_student_of_the_same_translations(
    whole: Path, tiny_artifact: Path, text: Path, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    (out / "student").rename(out / "first")
    monkeypatch.setattr(Teacher, "loaded", stopped)
    distil(tiny_artifact, "--text", text, "--recipe", recipe, "--out", out, *BEAM, "--seed", 7, "--steps", 3)
    recorded = json.loads((out / "student" / "training.json").read_text(encoding="utf-8"))["recipe"]["training"]
    assert (recorded["seed"], recorded["steps"]) == (7, 3)


def test_what_cannot_be_done_is_refused_before_anything_is_written(
    tiny_artifact: Path, text: Path, recipe: Path, tmp_path: Path
) -> None:
    out, refused = tmp_path / "out", (tiny_artifact, "--text", text, "--out", tmp_path / "out")
    with pytest.raises(ConfigError, match="trains a context layer, which needs documents that people translated"):
        distil(*refused, "--recipe", "documents/encoder-sparse-soft")
    with pytest.raises(ConfigError, match="trains a language model, which translates nothing"):
        distil(*refused, "--recipe", "language/base")
    with pytest.raises(ValueError, match="--beam must be at least 1, not 0"):
        distil(*refused, "--recipe", recipe, "--beam", 0)
    with pytest.raises(ArtifactError, match="has no pair, or several, from fr to any language"):
        distil(*refused, "--recipe", recipe, "--source", "fr")
    with pytest.raises(OSError, match="nowhere"):
        distil(tiny_artifact, "--text", tmp_path / "nowhere.en", "--out", out, "--recipe", recipe)
    assert not out.exists()
    out.mkdir()
    (out / "letter.txt").write_text("mine")
    with pytest.raises(OtherInputs, match="out is not empty, and no run of this command: choose another --out"):
        distil(*refused, "--recipe", recipe)
    assert files_of(out) == {"letter.txt": b"mine"}


def test_too_little_text_says_so(tiny_artifact: Path, recipe: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.en.gz"
    text.write_bytes(gzip.compress(b"\n\n"))
    arguments = (tiny_artifact, "--text", text, "--recipe", recipe, *BEAM, "--out")
    with pytest.raises(ValueError, match="too few sentences to train on: 0 pairs and 0 for dev, of 2 lines"):
        distil(*arguments, tmp_path / "out")
    assert not (tmp_path / "out" / "pairs").exists()


def test_a_vocabulary_too_large_for_the_text_says_so(
    whole: Path, tiny_artifact: Path, text: Path, tmp_path: Path
) -> None:
    """And a recipe with a smaller one continues with the same translations."""
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    shutil.rmtree(out / "student")
    large = write_recipe(tmp_path, RECIPE.replace("330", "4000"), "large")
    with pytest.raises(ConfigError, match="no vocabulary of 4000 pieces can be learned from this text; give more text"):
        distil(tiny_artifact, "--text", text, "--recipe", large, "--out", out, *BEAM)
    small = write_recipe(tmp_path, RECIPE.replace("330", "340"), "small")
    assert distil(tiny_artifact, "--text", text, "--recipe", small, "--out", out, *BEAM) == 0


def test_two_processes_do_not_write_the_same_folder(text: Path, tmp_path: Path) -> None:
    identity = RunIdentity.of(text, {})
    output = Output(tmp_path / "translated.jsonl", identity)
    with pytest.raises(OutputError, match="another process writes"):
        command.translate(None, text, tmp_path / "translated.jsonl", identity)  # type: ignore[arg-type]
    output.close()


def test_a_damaged_record_is_no_new_run(
    whole: Path, tiny_artifact: Path, text: Path, recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    (out / "distil.json").write_text("{")
    with pytest.raises(OtherInputs, match=r"distil\.json is damaged: remove .*out, and begin again"):
        distil(tiny_artifact, "--text", text, "--recipe", recipe, "--out", out, *BEAM)


def sentence(source: str, target: str, *flags: str) -> SentenceTranslation:
    return SentenceTranslation(source, target, 0.0, "eos", 1, flags)


def test_sentences_with_a_flag_are_left_out() -> None:
    row = row_of(
        [
            sentence("One\u2028 two.", "Eins\r zwei.\t"),
            sentence("Three.", "Drei Drei", "loop", "truncated"),
            sentence("...", ""),
            sentence("Four.", "Vier", "truncated"),
        ]
    )
    assert row == Row([("One two.", "Eins zwei.")], ["loop", "empty", "truncated"])
    assert Row.from_json(row.to_json()) == row


def test_most_pairs_of_a_long_text_are_for_training(tmp_path: Path) -> None:
    with (tmp_path / "rows").open("w", encoding="utf-8") as file:
        for number in range(4000):
            file.write(Row([(f"s {number % 1999}", f"t {number}")], []).to_json() + "\n")
    counts = write_pairs(tmp_path / "rows", tmp_path / "pairs", ("en", "de"))
    assert counts.train + counts.dev == 4000
    assert 100 < counts.dev < 300  # a twentieth
    sides = [{*(tmp_path / "pairs" / f"{name}.en").read_text().splitlines()} for name in ("train", "dev")]
    assert len(sides[0]) + len(sides[1]) == 1999  # a sentence that is there twice is on one side


def test_the_command_is_in_the_overview() -> None:
    assert "distil" in COMMANDS
