"""What is on disk is whole lines in order, whenever the process dies."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.corpus.output import Output, OutputError, RunIdentity
from server.corpus.remote import ServedModel

IDENTITY = RunIdentity("1", {"beam_size": None})
MODEL = ServedModel("tiny", "f", "en", "de")


def test_an_output_is_continued_and_renamed(tmp_path: Path) -> None:
    path = tmp_path / "out.de"
    output = Output(path, IDENTITY)
    assert (output.num_lines, output.model) == (0, None)
    output.set_model(MODEL)
    output.append(["a", ""])
    output.close()
    output = Output(path, IDENTITY)
    assert (output.num_lines, output.model) == (2, MODEL)
    output.append(["c"])
    output.finish()
    output.close()
    assert path.read_bytes() == b"a\n\nc\n"
    assert list(tmp_path.iterdir()) == [path]


@given(content=st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"\n")))
def test_an_incomplete_line_of_a_killed_run_is_cut_off(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("killed") / "out"
    Output(path, IDENTITY).close()
    part = path.with_name("out.part")
    part.write_bytes(content)
    output = Output(path, IDENTITY)
    assert output.num_lines == content.count(b"\n")
    output.append(["new"])
    output.close()
    assert part.read_bytes() == content[: content.rfind(b"\n") + 1] + b"new\n"


def test_states_have_the_fields_of_earlier_releases(tmp_path: Path) -> None:
    output = Output(tmp_path / "out", IDENTITY)
    output.set_model(MODEL)
    output.close()
    state = json.loads((tmp_path / "out.state").read_text())
    assert state == {
        "identity": {"input_sha256": "1", "asked": {"beam_size": None}},
        "model": {"name": "tiny", "fingerprint": "f", "source": "en", "target": "de"},
    }


def test_a_kill_after_the_rename(tmp_path: Path) -> None:
    path = tmp_path / "out"
    output = Output(path, IDENTITY)
    output.append(["a"])
    output.close()
    path.with_name("out.part").rename(path)
    output = Output(path, IDENTITY)
    assert output.is_finished
    output.finish()
    output.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_files_of_others_are_not_changed(tmp_path: Path) -> None:
    existing = tmp_path / "there"
    existing.write_text("precious")
    with pytest.raises(OutputError, match="there exists: remove it"):
        Output(existing, IDENTITY)
    assert existing.read_text() == "precious"
    path = tmp_path / "mine"
    first = Output(path, IDENTITY)
    with pytest.raises(OutputError, match="another process writes"):
        Output(path, IDENTITY)
    first.close()
    for other, message in (
        (RunIdentity("2", IDENTITY.options), "another input"),
        (RunIdentity("1", {}), "other options"),
    ):
        with pytest.raises(OutputError, match=message):
            Output(path, other)
    path.with_name("mine.state").write_text("{")
    with pytest.raises(OutputError, match="damaged"):
        Output(path, IDENTITY)
    path.with_name("mine.state").unlink()
    path.with_name("mine.part").write_text("a\n")
    with pytest.raises(OutputError, match="without its state"):
        Output(path, IDENTITY)
