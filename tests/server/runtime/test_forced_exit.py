"""SIGTERM ends a server whatever runs in it, by itself, with the status that says whether something was given up."""

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.api.conftest import PATIENCE, until
from tests.server.processes import Served, serving, starting

LONG = "We walk home in the rain.\n" * 1000
"""It is cut in a thread."""


def ended(served: Served) -> tuple[int, str]:
    """Send SIGTERM; the exit status, and what was logged."""
    served.process.send_signal(signal.SIGTERM)
    try:
        _, log = served.process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.fail("the server did not end by itself")
    assert "Traceback" not in log, log
    return served.process.returncode, log


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
def hung(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file from which on things hang."""
    monkeypatch.setenv("HANGS_FROM", str(tmp_path / "from-now-on"))
    return tmp_path / "from-now-on"


@pytest.mark.parametrize("drain", ["0", "1"])
def test_while_models_load(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, drain: str) -> None:
    monkeypatch.setenv("HANGS", "load")
    with starting(tiny_artifact, "--drain-timeout", drain, program="tests.server.hanging") as served:
        until(lambda: listens(served), "the server listens")
        assert served.status("/readyz") == 503
        assert ended(served)[0] == 0


def test_while_many_models_load(tiny_artifact: Path, tmp_path: Path) -> None:
    """Those that have begun are finished, no other is begun."""
    from tests.server.api.pairs import copy_of

    for number in range(30):
        copy_of(tiny_artifact, tmp_path / f"model-{number}", name=f"model-{number}")
    with starting(tmp_path, "--drain-timeout", "600") as served:
        until(lambda: listens(served), "the server listens")
        assert served.status("/readyz") == 503
        status, log = ended(served)
        assert status == 0
        assert "left behind" not in log


@pytest.mark.parametrize("what", ["cut", "step", "loop"])
def test_while_a_request_hangs(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, hung: Path, what: str) -> None:
    monkeypatch.setenv("HANGS", what)
    with (
        starting(tiny_artifact, "--drain-timeout", "1", program="tests.server.hanging") as served,
        ThreadPoolExecutor(1) as pool,
    ):
        until(served.answers, "the server is ready")
        hung.touch()
        asked = pool.submit(served.translate, LONG)
        if what == "loop":
            until(lambda: is_silent(served), "the event loop hangs")
        else:
            until(lambda: served.metric("requests_in_progress") > 0, "the request is being worked on")
        assert ended(served)[0] == 1
        error = asked.exception(PATIENCE)
        assert isinstance(error, httpx.TransportError) or asked.result().status_code in (500, 503)


@pytest.mark.parametrize(
    ("what", "end"),
    [("executor", "threads that did not end were left behind"), ("cut", "all that was in flight was answered")],
)
def test_when_every_thread_hangs(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch, what: str, end: str) -> None:
    """Requests were given up by their deadline, and left their threads behind: nothing is in flight. Python waits for
    those of the executor, and for none of those that cut texts."""
    monkeypatch.setenv("HANGS", what)
    with (
        starting(
            tiny_artifact, "--drain-timeout", "600", "--request-timeout", "0.5", program="tests.server.hanging"
        ) as served,
        ThreadPoolExecutor(40) as pool,
    ):
        until(served.answers, "the server is ready")
        answers = list(pool.map(lambda _: served.translate(LONG, alignment=True).status_code, range(40)))
        assert set(answers) == {504}
        status, log = ended(served)
        assert status == 0
        assert end in log


@pytest.mark.parametrize("what", ["close", "write"])
def test_when_the_store_hangs(tiny_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setenv("HANGS", what)
    flags = ("--drain-timeout", "1", "--context-store", f"sqlite:///{tmp_path}/documents.db")
    with starting(tiny_artifact, *flags, program="tests.server.hanging") as served:
        until(served.answers, "the server is ready")
        body = {"source": "en", "target": "de", "sentences": ["Yes."] * 10}
        with served.client() as client:
            assert client.post("/v1/documents", json=body).status_code == 202
        ended(served)


def test_while_documents_are_translated(tiny_artifact: Path, tmp_path: Path) -> None:
    """They are given back, and done after a restart."""
    flags = ("--drain-timeout", "600", "--context-store", f"sqlite:///{tmp_path}/documents.db")
    body = {"source": "en", "target": "de", "sentences": [f"We walk home in the rain {n}." for n in range(400)]}
    with serving(tiny_artifact, *flags) as served:
        with served.client() as client:
            kept = client.post("/v1/documents", json=body).json()["id"]
        until(lambda: served.metric("running_sentences") > 0, "the document is being worked on")
        assert ended(served)[0] == 0
        served.restart()
        until(served.answers, "the server is ready")
        with served.client() as client:
            until(lambda: client.get(f"/v1/documents/{kept}").json()["state"] == "done", "the document is done")
