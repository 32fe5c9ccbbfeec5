"""SIGTERM ends a server whatever hangs in it; the exit status says whether requests were aborted."""

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.api.conftest import PATIENCE, until
from tests.server.processes import Served, serving, starting

LONG = "We walk home in the rain.\n" * 1000
"""Long enough to be split in a thread."""


def terminate(served: Served) -> tuple[int, str]:
    """Send SIGTERM; returns the exit status and the log."""
    served.process.send_signal(signal.SIGTERM)
    try:
        _, log = served.process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.fail("the server did not end by itself")
    assert "Traceback" not in log, log
    return served.process.wait(), log


def listens(served: Served) -> bool:
    try:
        return served.status("/livez") == 200
    except httpx.TransportError:
        return False


def is_silent(served: Served) -> bool:
    try:
        httpx.get(f"{served.url}/livez", timeout=0.5)
    except httpx.TimeoutException:
        return True
    return False


@pytest.fixture
def hang_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file; `hanging` hangs once it exists."""
    monkeypatch.setenv("HANGS_FROM", str(tmp_path / "from-now-on"))
    return tmp_path / "from-now-on"


@pytest.mark.parametrize("drain", ["0", "1"])
def test_while_models_load(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, drain: str) -> None:
    monkeypatch.setenv("HANGS", "load")
    with starting(tiny_artifact, "--drain-timeout", drain, program="tests.server.hanging") as served:
        until(lambda: listens(served), "the server listens")
        assert served.status("/readyz") == 503
        assert terminate(served)[0] == 0


def test_while_many_models_load(tiny_artifact: Path, tmp_path: Path) -> None:
    """Models that are being loaded are finished, no other is loaded."""
    from tests.server.api.pairs import copy_of

    for number in range(30):
        copy_of(tiny_artifact, tmp_path / f"model-{number}", name=f"model-{number}")
    with starting(tmp_path, "--drain-timeout", "600", "--load-models", "start") as served:
        until(lambda: listens(served), "the server listens")
        assert served.status("/readyz") == 503
        status, log = terminate(served)
        assert status == 0
        assert "left behind" not in log


@pytest.mark.parametrize("place", ["cut", "step", "loop"])
def test_while_a_request_hangs(
    tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, hang_file: Path, place: str
) -> None:
    monkeypatch.setenv("HANGS", place)
    with (
        starting(tiny_artifact, "--drain-timeout", "1", program="tests.server.hanging") as served,
        ThreadPoolExecutor(1) as pool,
    ):
        until(served.answers, "the server is ready")
        hang_file.touch()
        response = pool.submit(served.translate, LONG)
        if place == "loop":
            until(lambda: is_silent(served), "the event loop hangs")
        else:
            until(lambda: served.metric("requests_in_progress") > 0, "the request is being worked on")
        assert terminate(served)[0] == 1
        error = response.exception(PATIENCE)
        assert isinstance(error, httpx.TransportError) or response.result().status_code in (500, 503)


@pytest.mark.parametrize(
    ("place", "message"),
    [("executor", "threads that did not end were left behind"), ("cut", "all that was in flight was answered")],
)
def test_when_every_thread_hangs(
    tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    """Requests were aborted at their deadline, but their threads still run: nothing is in flight. Python waits for
    threads of the executor, not for daemon threads that split texts."""
    monkeypatch.setenv("HANGS", place)
    with (
        starting(
            tiny_artifact, "--drain-timeout", "600", "--request-timeout", "0.5", program="tests.server.hanging"
        ) as served,
        ThreadPoolExecutor(40) as pool,
    ):
        until(served.answers, "the server is ready")
        answers = list(pool.map(lambda _: served.translate(LONG, alignment=True).status_code, range(40)))
        assert set(answers) == {504}
        status, log = terminate(served)
        assert status == 0
        assert message in log


@pytest.mark.parametrize("place", ["close", "write"])
def test_when_the_store_hangs(tiny_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("HANGS", place)
    flags = ("--drain-timeout", "1", "--context-store", f"sqlite:///{tmp_path}/documents.db")
    with starting(tiny_artifact, *flags, program="tests.server.hanging") as served:
        until(served.answers, "the server is ready")
        body = {"source": "en", "target": "de", "sentences": ["Yes."] * 10}
        with served.client() as client:
            assert client.post("/v1/documents", json=body).status_code == 202
        terminate(served)


def test_while_documents_are_translated(tiny_artifact: Path, tmp_path: Path) -> None:
    """Documents are released, and finished after a restart."""
    flags = ("--drain-timeout", "600", "--context-store", f"sqlite:///{tmp_path}/documents.db")
    body = {"source": "en", "target": "de", "sentences": [f"We walk home in the rain {n}." for n in range(400)]}
    with serving(tiny_artifact, *flags) as served:
        with served.client() as client:
            kept = client.post("/v1/documents", json=body).json()["id"]
        until(lambda: served.metric("running_sentences") > 0, "the document is being worked on")
        assert terminate(served)[0] == 0
        served.restart()
        until(served.answers, "the server is ready")
        with served.client() as client:
            until(lambda: client.get(f"/v1/documents/{kept}").json()["state"] == "done", "the document is done")
