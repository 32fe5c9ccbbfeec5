import io
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path

import httpx
import pytest

from server.cli import main as cli
from server.cli.command import ENTRY_POINT_GROUP
from server.keys.ring import KeyRing
from server.settings import EngineSettings
from server.stores.interface import ContextStore
from server.stores.open_store import open_store
from server.stores.sqlite import SqliteStore
from server.telemetry.metrics import Metrics
from server.translation.offline import LineReader, translate_lines
from server.translation.translator import Translator
from tests.children import child
from tests.server.api.conftest import until

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


def test_lines_stay_in_order_with_a_short_queue(tiny_artifact: Path) -> None:
    engine = EngineSettings(slots=2, max_waiting=2, num_workers=1, precision="fp32", translation_cache_bytes=0)
    translator = Translator.load(tiny_artifact, engine, Metrics())
    try:
        options = translator.options(beam_size=1)
        lines = ["Yes.\n", "We walk home in the rain.\n", "Where is the station?\n"]
        alone = {line: next(iter(translate_lines(translator, [line], options))).text for line in lines}
        together = [translation.text for translation in translate_lines(translator, lines * 20, options)]
        assert together == [alone[line] for line in lines * 20]
    finally:
        translator.stop(timeout=0)


def test_a_read_error_is_raised() -> None:
    reader = LineReader(io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))
    with pytest.raises(UnicodeDecodeError):
        reader.next(wait=True)


def test_a_closed_pipe_ends_quietly(tiny_artifact: Path) -> None:
    command = [sys.executable, "-m", "server.cli", "translate", "--models", str(tiny_artifact), "--precision", "fp32"]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
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
    assert {entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)} <= set(cli.COMMANDS)
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


def test_a_wrong_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--models", str(tmp_path / "none")]) == 1
    assert "none is not a folder" in capsys.readouterr().err
    assert cli.main(["serve", "--models", str(tmp_path)]) == 1
    assert "holds no artifact" in capsys.readouterr().err


def test_a_wrong_variable_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
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
    with child(command, stderr=subprocess.PIPE) as process:
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


def translated(arguments: Sequence[str], written: pytest.CaptureFixture[bytes]) -> bytes:
    """What `ringmt translate` writes, in this process; it succeeds and has no complaint."""
    status = cli.main(["translate", *arguments])
    output = written.readouterr()
    assert (status, output.err) == (0, b"")
    return output.out


def test_a_file_is_translated_as_a_document(
    document_artifact: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "story.en"
    path.write_bytes(b"  One day. Two days!\n\n- Yes.\r\nYes. \xff\n")
    flags = ["--models", str(document_artifact), "--precision", "fp32", "--document", str(path)]
    by_mode = {mode: translated([*flags, "--mode", mode], capsysbinary) for mode in ("offline", "online")}
    for written in by_mode.values():
        lines = written.split(b"\n")
        assert (lines[0][:2], lines[1], lines[2][:2], lines[2][-1:], lines[4]) == (b"  ", b"", b"- ", b"\r", b"")
    assert by_mode["offline"] != by_mode["online"]
    assert translated(flags, capsysbinary) == by_mode["offline"]


def test_an_interrupted_document_continues(
    document_artifact: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path, url = tmp_path / "story.en", f"sqlite:///{tmp_path}/documents.db"
    path.write_text("\n".join(f"Day {number}." for number in range(200)))
    flags = [
        "--models",
        str(document_artifact),
        "--precision",
        "fp32",
        "--max-length",
        "16",
        "--document",
        str(path),
    ]
    kept = [*flags, "--context-store", url]
    store = open_store(url)
    try:
        with child([sys.executable, "-m", "server.cli", "translate", *kept, "--slots", "1"]):
            until(lambda: num_translated(store) > 0, "a part is translated")
        assert 0 < num_translated(store) < 200
        finished = {
            sentence.index: sentence
            for name in ids(store)
            for sentence in store.sentences(name)
            if not sentence.is_pending
        }
        done = translated(kept, capsysbinary)
        assert done == translated(flags, capsysbinary)
        [name] = ids(store)
        assert {
            sentence.index: sentence for sentence in store.sentences(name) if sentence.index in finished
        } == finished
        assert store.claim("server", 1, [store.document(name).model]) is None
        assert translated(kept, capsysbinary) == done
    finally:
        store.close()


def ids(store: ContextStore) -> list[str]:
    """Ids of all documents of a SQLite store."""
    assert isinstance(store, SqliteStore)
    with store._transaction("DEFERRED") as connection:
        return [name for (name,) in connection.execute("SELECT id FROM documents")]


def num_translated(store: ContextStore) -> int:
    return sum(not sentence.is_pending for name in ids(store) for sentence in store.sentences(name))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--mode", "online"], "--mode is for --document"),
        (["--document", "no-such-file"], "no-such-file"),
        (["--document", __file__, "--context-store", "x://y"], "context_store begins with x://"),
    ],
)
def test_invalid_document_options(
    tiny_artifact: Path, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["translate", "--models", str(tiny_artifact), "--precision", "fp32", *flags]) == 1
    assert message in capsys.readouterr().err


def test_a_key_is_accepted_by_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["key", "shop", "--scopes", "translate", "--rate", "5"]) == 0
    output = capsys.readouterr()
    ring = KeyRing.load(output.out)
    [key] = ring.keys
    assert (key.name, key.scopes, key.limits.rate) == ("shop", frozenset({"translate"}), 5.0)
    assert ring.find(output.err.split()[-1]) is key
    assert cli.main(["key", "shop", "--scopes", "translat"]) == 1
    assert "did you mean 'translate'" in capsys.readouterr().err
