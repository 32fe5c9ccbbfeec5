"""`ringmt serve` as a process: signals, kills, and artifacts that cannot be served."""

import contextlib
import json
import re
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.api.conftest import PATIENCE, until
from tests.server.dying import LAST_ID
from tests.server.processes import serving, starting

MANY_SENTENCES = "".join("We walk home in the rain, " * 4 + f"and where is the station {n}?\n" for n in range(500))


def test_a_signal_lets_requests_in_flight_finish(tiny_artifact: Path) -> None:
    with (
        serving(tiny_artifact, "--drain-timeout", "60", is_forked=False) as served,
        ThreadPoolExecutor(1) as pool,
    ):
        answer = pool.submit(served.translate, MANY_SENTENCES)
        until(lambda: served.metric("running_sentences") > 0, "the request is being worked on")
        served.process.send_signal(signal.SIGTERM)
        until(lambda: served.status("/readyz") == 503, "the server says that it drains")
        assert served.status("/livez") == 200
        rejected = served.translate("Yes.")
        assert (rejected.status_code, rejected.json()["error"]["type"]) == (503, "not_ready")
        assert answer.result(PATIENCE).status_code == 200
        assert served.process.wait(PATIENCE) == 0
        assert "all that was in flight was answered" in served.process.communicate()[1]


def test_an_idle_server_stops_at_once(tiny_artifact: Path) -> None:
    with serving(tiny_artifact, "--drain-timeout", "600") as served:
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("stop", ["the budget", "a second signal"])
def test_requests_that_take_too_long_are_aborted(tiny_artifact: Path, stop: str) -> None:
    seconds = "0" if stop == "the budget" else "600"
    with serving(tiny_artifact, "--drain-timeout", seconds) as served, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(served.translate, MANY_SENTENCES)
        until(lambda: served.metric("running_sentences") > 0, "the request is being worked on")
        served.process.send_signal(signal.SIGTERM)
        if stop == "a second signal":
            until(lambda: served.status("/readyz") == 503, "the server drains")
            served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENCE) == 1
        assert "were given up" in served.process.communicate()[1]
        # After two signals there may be no time for answers.
        with contextlib.suppress(*[httpx.TransportError] if stop == "a second signal" else []):
            aborted = answer.result(PATIENCE)
            assert (aborted.status_code, aborted.json()["error"]["type"]) == (503, "not_ready")
            assert "the server is stopping" in aborted.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/languages", "/openapi.json"])
def test_a_killed_server_has_sent_whole_answers(tiny_artifact: Path, path: str) -> None:
    """A proxy that has received the head of an answer cannot try another server: head and body are one write."""
    with starting(tiny_artifact, program="tests.server.dying") as served:
        until(served.answers, "the server is ready")
        whole = httpx.get(f"{served.url}{path}")
        last = httpx.get(f"{served.url}{path}", headers={"X-Request-ID": LAST_ID})
        assert served.process.wait(PATIENCE) == -signal.SIGKILL
    assert last.headers["X-Request-ID"] == LAST_ID
    assert (last.status_code, last.content) == (200, whole.content)


def truncated_graph(folder: Path) -> None:
    graph = next(folder.glob("*.onnx"))
    graph.write_bytes(graph.read_bytes()[:-100])


def changed_byte(folder: Path) -> None:
    vocabulary = folder / "vocabulary.model"
    content = bytearray(vocabulary.read_bytes())
    content[len(content) // 2] ^= 1
    vocabulary.write_bytes(content)


def without_vocabulary(folder: Path) -> None:
    (folder / "vocabulary.model").unlink()


def without_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def newer_format(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))


def truncated_manifest(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text()[:100])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            truncated_graph,
            r"\.onnx is not the file that was exported .*copy the artifact again or repeat `ringmt export`",
        ),
        (changed_byte, r"vocabulary\.model is not the file that was exported .*copy the artifact again"),
        (without_vocabulary, r"vocabulary\.model is missing.*copy the artifact again or repeat `ringmt export`"),
        (without_manifest, r"holds no artifact .*`ringmt export` writes one"),
        (newer_format, r"format 99, this server reads \d+: repeat `ringmt export`"),
        (truncated_manifest, r"manifest\.json is not a manifest.*copy the artifact again or repeat `ringmt export`"),
    ],
)
def test_the_error_for_a_damaged_artifact_says_what_to_do(
    tiny_artifact: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    folder = tmp_path / "tiny"
    shutil.copytree(tiny_artifact, folder)
    damage(folder)
    with starting(folder) as served:
        log = served.process.communicate(timeout=PATIENCE)[1]
    assert served.process.returncode == 1
    error = next(line for line in log.splitlines() if line.startswith("ringmt: "))
    assert str(folder) in error
    assert re.search(message, error), error
    assert "Traceback" not in log
