import io
import signal
import socket
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import httpx
import pytest

from server import cli
from server.metrics import Metrics
from server.settings import EngineSettings
from server.translate_command import LineReader, translate_lines
from server.translator import TranslationOptions, Translator

LINES = "Yes.\n\n  Where is the station?  \n\x00\nYes.\n" * 3


def ringmt(*arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "server.cli", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60)


def test_translate_keeps_lines(tiny_artifact: Path) -> None:
    flags = ["--models", str(tiny_artifact), "--precision", "fp32"]
    done = ringmt("translate", *flags, stdin=LINES.encode() + b"no \xff utf-8\nno end")
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    lines = done.stdout.split(b"\n")
    assert len(lines) == 18
    assert lines[:5] == lines[5:10] == lines[10:15]
    assert lines[0] == lines[4] != b""
    assert lines[1] == b""
    assert lines[2].startswith(b"  ")
    assert lines[2].endswith(b"  ")
    assert lines[3] == b"\x00"
    assert b"\xff" in lines[15]


def test_lines_stay_in_order_when_there_is_little_room(tiny_artifact: Path) -> None:
    engine = EngineSettings(slots=2, max_waiting=2, num_workers=1, precision="fp32")
    translator = Translator.load(tiny_artifact, engine, Metrics())
    try:
        options = TranslationOptions(beam_size=1)
        lines = ["Yes.\n", "We walk home in the rain.\n", "Where is the station?\n"]
        alone = {line: next(iter(translate_lines(translator, [line], options))) for line in lines}
        assert list(translate_lines(translator, lines * 20, options)) == [alone[line] for line in lines * 20]
    finally:
        translator.stop(timeout=0)


def test_a_reader_s_error_is_raised() -> None:
    reader = LineReader(io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))
    with pytest.raises(UnicodeDecodeError):
        reader.next(wait=True)


def test_a_closed_pipe_ends_quietly(tiny_artifact: Path) -> None:
    command = [sys.executable, "-m", "server.cli", "translate", "--models", str(tiny_artifact), "--precision", "fp32"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"Yes.\n")
        process.stdin.flush()
        assert process.stdout.readline() != b""
        process.stdout.close()
        process.stdin.write(b"Yes.\n" * 10)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


def test_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    overview = capsys.readouterr().out
    assert all(command in overview for command in cli.COMMANDS)
    assert cli.main([]) == 2


@pytest.mark.parametrize("command", ["serve", "translate"])
def test_help_names_flags_defaults_and_variables(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "--slots N" in text
    assert "(default 32; RINGMT_SLOTS)" in text


def test_unknown_option_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["serve", "--max-waitin", "3"])
    assert "unknown option '--max-waitin': did you mean '--max-waiting'?" in capsys.readouterr().err


def test_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sevre"]) == 2
    assert "did you mean 'serve'?" in capsys.readouterr().err


def test_a_wrong_folder_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--models", str(tmp_path / "none")]) == 1
    assert "none is not a folder" in capsys.readouterr().err
    assert cli.main(["serve", "--models", str(tmp_path)]) == 1
    assert "holds no artifact" in capsys.readouterr().err


def test_a_wrong_variable_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("RINGMT_SLOTZ", "3")
    assert cli.main(["serve"]) == 1
    assert "did you mean 'RINGMT_SLOTS'?" in capsys.readouterr().err


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    broken = EntryPoint("train", "no_such_package_of_ours:TRAIN", "ringmt.commands")
    monkeypatch.setattr(cli, "entry_points", lambda group: EntryPoints([broken]))
    assert cli.main(["train"]) == 2
    assert "pip install 'ringmt[train]'" in capsys.readouterr().err
    assert cli.main(["export"]) == 2
    message = "'ringmt export' needs packages that are not installed: pip install 'ringmt[train]'"
    assert message in capsys.readouterr().err


def test_serve_answers_and_stops_at_sigterm(tiny_artifact: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--models", str(tiny_artifact), "--precision", "fp32", "--port", str(port)]
    command = [sys.executable, "-m", "server.cli", "serve", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        try:
            while b"running on" not in (line := process.stderr.readline()):
                assert line, "the server ended"
            assert httpx.get(f"http://127.0.0.1:{port}/livez").json() == {"status": "ok"}
        finally:
            process.send_signal(signal.SIGTERM)
        log = process.stderr.read().decode()
        assert process.wait(60) in (0, -signal.SIGTERM), log
        assert "Traceback" not in log
