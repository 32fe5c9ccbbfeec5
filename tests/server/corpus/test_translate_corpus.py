"""`ringmt translate-corpus` with real servers: every line once and in order, whatever is killed meanwhile."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from server.cli import main as cli
from server.settings import EngineSettings
from tests.api_keys import new_key
from tests.children import child
from tests.models import SENTENCES, lively_model, tiny_config, write_artifact
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until
from tests.server.processes import ROOT, starting
from tests.server.redis_server import free_port

ODD = [
    "", " ", "\t \r", "Yes.", "  Two spaces. And a return.\r", "\u2028\x0b\x0c\x85", "a\x00b", "\ufeffmark",
    "{name} <b>x</b> %s https://example.org/a?b=c", "\U0001f468\u200d\U0001f469", "x" * 3_000, "1. 2. 3.", "\u202eabc",
]  # fmt: skip


def command(path: Path, output: Path, *flags: str) -> list[str]:
    return ["translate-corpus", str(path), "--output", str(output), "--beam-size", "1", "--max-length", "6", *flags]


def one_by_one(server: RunningServer, lines: list[str]) -> list[str]:
    """The translation of each line alone."""
    known = {
        line: server.translate(line, beam_size=1, max_length=6).json()["translations"][0]["text"] for line in set(lines)
    }
    return [known[line] for line in lines]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(path: Path) -> list[str]:
    lines = path.read_bytes().decode("utf-8").split("\n")
    assert lines.pop() == ""
    return lines


def test_lines_of_every_kind_come_back_in_order(server: RunningServer, tmp_path: Path) -> None:
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    lines = [*ODD, *SENTENCES] * 5
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    assert cli.main(command(path, output, "--servers", server.url, server.url + "/")) == 0
    assert written(output) == one_by_one(server, lines)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.en", "out.de"]


@pytest.mark.parametrize("ends", ["", "\n"])
def test_a_terminal_shows_how_far_it_is(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    path, output, terminal = tmp_path / "in.en", tmp_path / "out.de", Terminal()
    path.write_text("\n".join(["Yes."] * 40) + ends, encoding="utf-8")
    monkeypatch.setattr(sys, "stderr", terminal)
    assert cli.main(command(path, output, "--servers", server.url)) == 0
    assert "| 0/40 [" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert "| 40/40 [" in terminal.getvalue()


def test_no_terminal_shows_nothing(server: RunningServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    path.write_text("Yes.\n", encoding="utf-8")
    assert cli.main(command(path, output, "--servers", server.url)) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n", b"no \xff utf-8\nYes."])
def test_files_of_few_lines(
    server: RunningServer, tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    path.write_bytes(content)
    assert cli.main(command(path, output, "--servers", server.url)) == 0
    lines = content.decode("utf-8", "replace").split("\n")
    assert written(output) == one_by_one(server, lines if lines[-1] else lines[:-1])
    assert ("1 lines were no UTF-8" in capsys.readouterr().err) == (b"\xff" in content)


def test_a_line_longer_than_servers_take_comes_back_whole(tiny_artifact: Path, tmp_path: Path) -> None:
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    long = " ".join(SENTENCES[:8] * 40)
    path.write_text(f"Yes.\n{long}\nYes.\n", encoding="utf-8")
    with ready(settings_for(tiny_artifact, max_text_chars=900, max_body_bytes=2_000)) as server:
        assert cli.main(command(path, output, "--servers", server.url)) == 0
        yes, translated, again = written(output)
        assert yes == again == one_by_one(server, ["Yes."])[0]
        assert translated == " ".join(one_by_one(server, list(SENTENCES[:8])) * 40)


def test_an_overloaded_server_is_tried_again_later(tiny_artifact: Path, tmp_path: Path) -> None:
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    lines = [f"{index}: {SENTENCES[index % 4]}" for index in range(120)]
    path.write_text("\n".join(lines), encoding="utf-8")
    engine = EngineSettings(slots=2, max_waiting=40, num_workers=1, precision="fp32", shortlist="off", max_beam_size=4)
    with ready(settings_for(tiny_artifact, engine)) as server:
        assert cli.main(command(path, output, "--servers", server.url, "--in-flight", "4")) == 0
        assert written(output) == one_by_one(server, lines)
        assert server.metric("requests_rejected_total", reason="overloaded", model="tiny") > 0


def test_errors_say_where_and_why(server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    path.write_text("Yes.\n" * 3)
    closed = f"http://127.0.0.1:{free_port()}"
    for flags, message in (
        (["--servers", server.url, "--target", "fr"], "serves no such model; it has tiny (en to de)"),
        (["--servers", server.url, "--max-length", "9999"], "lines 1 to 3: "),
        (["--servers", "127.0.0.1:8000"], "is no address of a server"),
        (["--servers", "http://127.0.0.1:x"], "is no address of a server"),
        (["--servers", closed, "--patience", "0.1"], "no server has answered for 0.1 s"),
    ):
        assert cli.main([*command(path, output), *flags]) == 1
        assert message in capsys.readouterr().err
        output.with_name("out.de.state").unlink()
        output.with_name("out.de.part").unlink()


def test_an_ambiguous_pair_is_an_error(many: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.en"
    path.write_text("Yes.\n")
    message = (
        "has en-de (en to de), de-en (de to en), en-fr (en to fr): say which with --source and --target, or --model"
    )
    for flags, status in (([], 1), (["--source", "en"], 1), (["--target", "fr"], 0), (["--model", "de-en"], 0)):
        output = tmp_path / "-".join(["out", *flags])
        assert cli.main([*command(path, output), "--servers", many.url, *flags]) == status
        assert (message in capsys.readouterr().err) == bool(status)


def test_two_models_never_write_one_file(
    server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    path.write_text("Yes.\n" * 1_000)
    other = write_artifact(lively_model(tiny_config(), seed=1), tmp_path, graphs=(("onnx", "fp32"),))
    with ready(settings_for(other)) as another:
        assert cli.main(command(path, output, "--servers", server.url, another.url)) == 1
    assert "would translate with another model" in capsys.readouterr().err


def test_a_key_is_sent_to_the_servers_until_its_quota_is_used_up(
    tiny_artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output, secret = tmp_path / "in.en", tmp_path / "out.de", tmp_path / "key"
    path.write_text("Yes.\n")
    key, line = new_key("corpus", ["translate"])
    secret.write_text(key + "\n")
    with ready(settings_for(tiny_artifact, api_keys=f"{line} chars_per_day=7")) as server:
        assert cli.main(command(path, output, "--servers", server.url)) == 1
        assert "a key is needed" in capsys.readouterr().err
        assert cli.main(command(path, output, "--servers", server.url, "--key-file", str(secret))) == 0
        more = command(path, tmp_path / "more.de", "--servers", server.url, "--key-file", str(secret))
        assert cli.main(more) == 1
        assert "7 characters a day" in capsys.readouterr().err
    assert len(written(output)) == 1


def test_a_killed_run_continues_with_servers_that_stop_and_start(
    server: RunningServer, tiny_artifact: Path, tmp_path: Path
) -> None:
    """SIGKILL for the command, then for a server; the other is stopped in good order, and the first comes back."""
    path, output = tmp_path / "in.en", tmp_path / "out.de"
    part = tmp_path / "out.de.part"
    lines = [f"{SENTENCES[index % 7]} {index % 5}" for index in range(2_000)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with starting(tiny_artifact, "--log-level", "error") as a, starting(tiny_artifact, "--log-level", "error") as b:
        until(a.answers, "a server is ready")
        run = [
            sys.executable,
            "-m",
            "server.cli",
            *command(path, output, "--servers", a.url, b.url, "--in-flight", "1"),
        ]
        with child(run, cwd=ROOT, stderr=subprocess.DEVNULL):
            until(lambda: part.exists() and part.stat().st_size > 0, "some lines are written")
        done = part.read_bytes().count(b"\n")
        assert 0 < done < len(lines)
        until(b.answers, "the other server is ready")
        with child(run, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
            until(lambda: part.read_bytes().count(b"\n") > done, "it continues")
            a.kill()
            after = part.read_bytes().count(b"\n")
            until(lambda: part.read_bytes().count(b"\n") > after + 100, "it continues with one server")
            b.process.terminate()
            assert b.process.wait(PATIENCE) == 0
            assert part.exists(), "it was done too soon for this test"
            a.restart()
            _, message = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, message
    assert all(f"{served.url} " in message for served in (a, b))
    assert f"{a.url} answers again" in message
    assert written(output) == one_by_one(server, lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.en", "out.de"]
