"""What is on disk is whole lines in order, whenever the process dies."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.corpus.output import Output, OutputError, RunIdentity
from server.corpus.remote import ServedModel

ONE = RunIdentity("1", {"beam_size": None})
MODEL = ServedModel("tiny", "f", "en", "de")


def test_it_goes_on_and_gets_its_name(tmp_path: Path) -> None:
    path = tmp_path / "out.de"
    output = Output(path, ONE)
    assert (output.num_lines, output.model) == (0, None)
    output.made_with(MODEL)
    output.append(["a", ""])
    output.close()
    output = Output(path, ONE)
    assert (output.num_lines, output.model) == (2, MODEL)
    output.append(["c"])
    output.finish()
    output.close()
    assert path.read_bytes() == b"a\n\nc\n"
    assert list(tmp_path.iterdir()) == [path]


@given(content=st.binary(max_size=40).map(lambda data: data.replace(b"\0", b"\n")))
def test_what_a_kill_left_of_a_line_is_cut_off(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("killed") / "out"
    Output(path, ONE).close()
    part = path.with_name("out.part")
    part.write_bytes(content)
    output = Output(path, ONE)
    assert output.num_lines == content.count(b"\n")
    output.append(["new"])
    output.close()
    assert part.read_bytes() == content[: content.rfind(b"\n") + 1] + b"new\n"


def test_a_kill_after_the_file_got_its_name(tmp_path: Path) -> None:
    path = tmp_path / "out"
    output = Output(path, ONE)
    output.append(["a"])
    output.close()
    path.with_name("out.part").rename(path)
    output = Output(path, ONE)
    assert output.is_finished
    output.finish()
    output.close()
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("precious")
    with pytest.raises(OutputError, match="there exists: remove it"):
        Output(there, ONE)
    assert there.read_text() == "precious"
    mine = tmp_path / "mine"
    first = Output(mine, ONE)
    with pytest.raises(OutputError, match="another process writes"):
        Output(mine, ONE)
    first.close()
    for other, told in ((RunIdentity("2", ONE.asked), "another input"), (RunIdentity("1", {}), "other options")):
        with pytest.raises(OutputError, match=told):
            Output(mine, other)
    mine.with_name("mine.state").write_text("{")
    with pytest.raises(OutputError, match="damaged"):
        Output(mine, ONE)
    mine.with_name("mine.state").unlink()
    mine.with_name("mine.part").write_text("a\n")
    with pytest.raises(OutputError, match="not what it is of"):
        Output(mine, ONE)
