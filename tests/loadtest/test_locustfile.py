"""The users of locust against a real server: checks that hold, and a fault that they see."""

import os
import subprocess
import sys
from pathlib import Path

from loadtest.expected import Expected
from loadtest.texts import PARAGRAPHS, SHORT, STORY
from server.settings import EngineSettings
from tests.models import lively_model, tiny_config, write_artifact
from tests.server.api.conftest import RunningServer, ready, settings_for

ROOT = Path(__file__).parents[2]


def locust(server: RunningServer, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A run at whose end every user finishes what it is at: a user who was there has had an answer, however slow."""
    command = [sys.executable, "-m", "locust", "-f", "loadtest/locustfile.py", "--host", server.url, "--headless"]
    command += ["--only-summary", "--stop-timeout", "60", *options]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "LOADTEST_MAX_P95_MS": "60000", **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=settings, timeout=120, check=False)


def engine(max_waiting: int) -> EngineSettings:
    return EngineSettings(
        slots=2, max_waiting=max_waiting, num_workers=1, precision="fp32", shortlist="off", max_beam_size=4,
        translation_cache_bytes=0,
    )  # fmt: skip


def test_every_kind_of_user_succeeds(document_artifact: Path, tmp_path: Path) -> None:
    with ready(settings_for(document_artifact, engine(max_waiting=160))) as server:
        shape = {"LOADTEST_SHAPE": "spike", "LOADTEST_USERS": "12", "LOADTEST_SECONDS": "9"}
        done = locust(server, "--html", str(tmp_path / "report.html"), **shape)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for name in ("short text", "list of 50", "document: ", "server metrics:"):
        assert name in done.stdout + done.stderr, name
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_429_is_no_failure_and_may_be_too_frequent(document_artifact: Path) -> None:
    """Of lists of 50 texts (of two sentences at most) that come together, one fits into this server's queue."""
    with ready(settings_for(document_artifact, engine(max_waiting=100))) as server:
        lists = ("BatchUser", "--users", "4", "--spawn-rate", "4", "--run-time", "1s")
        done = locust(server, *lists)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert "list of 50 (refused: 429)" in done.stdout + done.stderr
        missed = locust(server, *lists, LOADTEST_MAX_REFUSED="0.1")
        assert missed.returncode == 1
        assert "requests were refused" in missed.stderr


def test_a_translation_that_differs_from_the_idle_server_is_detected(tiny_artifact: Path, tmp_path: Path) -> None:
    expected = Expected()
    changed = write_artifact(lively_model(tiny_config(), seed=1), tmp_path, graphs=(("onnx", "fp32"),))
    with ready(settings_for(tiny_artifact)) as server, ready(settings_for(changed)) as other:
        expected.learn(server.url)
        for current, is_well in ((server, True), (other, False)):
            texts = [*SHORT, *PARAGRAPHS]
            answer = [translation["text"] for translation in current.translate(texts).json()["translations"]]
            assert (expected.find_problem(texts, answer) is None) == is_well
            assert expected.find_problem(texts, answer[:-1]) is not None
            body = {"sentences": STORY, "source": "en", "target": "de", "mode": "offline", "wait": True}
            with current.client() as client:
                document = client.post("/v1/documents", json=body).json()
            problems = [expected.find_sentence_problem("offline", sentence) for sentence in document["sentences"]]
            assert (problems == [None] * len(STORY)) == is_well
