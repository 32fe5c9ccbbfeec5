"""A real server on a free port of this machine, with a tiny model."""

import contextlib
import dataclasses
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn

from server.api.admission.authentication import TIMEOUT_HEADER
from server.api.app import create_app
from server.api.serving.server_state import ServerState
from server.cli.draining_server import DrainingServer
from server.cli.serve import config_of
from server.settings import EngineSettings, Settings
from tests.build_once import build_once
from tests.server.api.pairs import paths_of_pairs, write_pairs

PATIENCE = 60.0
"""Seconds after which a test gives up on the server."""


@dataclass(frozen=True)
class RunningServer:
    url: str
    state: ServerState
    uvicorn: uvicorn.Server
    thread: threading.Thread

    def client(self, within: float | None = None) -> httpx.Client:
        """A client; each of its requests asks for an answer `within` so many seconds."""
        headers = {} if within is None else {TIMEOUT_HEADER: str(within)}
        return httpx.Client(base_url=self.url, timeout=PATIENCE, headers=headers)

    def translate(self, text: object, **fields: object) -> httpx.Response:
        with self.client() as client:
            return client.post("/v1/translate", json={"text": text, "source": "en", "target": "de", **fields})

    @property
    def sentences(self) -> int:
        """Sentences that wait or run."""
        workers = [translator.worker for translator in self.state.translators.values()]
        return sum(worker.waiting_sentences + worker.running_sentences for worker in workers)

    def metric(self, name: str, **labels: str) -> float:
        value = self.state.metrics.registry.get_sample_value(f"ringmt_{name}", labels)
        assert value is not None, f"no series {name} {labels}"
        return value


Start = Callable[[Settings], AbstractContextManager[RunningServer]]


def until(condition: Callable[[], bool], what: str) -> None:
    """Return soon after `condition` holds; fail after PATIENCE seconds. A look may be a request to the server, so the
    pause between two looks grows with the time that has passed."""
    began = time.monotonic()
    while not condition():
        passed = time.monotonic() - began
        assert passed < PATIENCE, f"waited in vain until {what}"
        threading.Event().wait(min(0.1, 0.005 + passed / 20))


@contextlib.contextmanager
def running(settings: Settings) -> Iterator[RunningServer]:
    """A server in a thread; it may not be ready yet."""
    app = create_app(settings)
    server = DrainingServer(config_of(settings, app), app.state.server)
    listening = socket.create_server(("127.0.0.1", 0))  # ours: a server that fails at once has closed its own by now
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started, "the server listens")
        yield RunningServer(f"http://127.0.0.1:{port}", app.state.server, server, thread)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server did not stop"


def settings_for(artifact: Path, engine: EngineSettings | None = None, **changes: Any) -> Settings:
    small = EngineSettings(
        slots=4,
        max_waiting=512,
        num_workers=1,
        precision="fp32",
        shortlist="off",
        max_beam_size=4,
        translation_cache_bytes=0,  # texts of tests repeat themselves, and are to be work
    )
    settings = Settings(
        engine=engine or small,
        port=0,
        models=(artifact,),
        log_level="error",
        max_text_chars=20_000,
        max_total_chars=40_000,
        max_texts=50,
        request_timeout=PATIENCE,
        drain_timeout=5,
    )
    return dataclasses.replace(settings, **changes)


@contextlib.contextmanager
def ready(settings: Settings) -> Iterator[RunningServer]:
    """A server that is ready."""
    with running(settings) as server:
        until(lambda: server.state.why_not_ready is None or server.state.failure is not None, "the model is loaded")
        assert server.state.failure is None
        yield server


@pytest.fixture(scope="session", autouse=True)
def _deepl_asks_again_at_once() -> Iterator[None]:
    """DeepL's client lets five seconds pass before it asks again whether a document is done."""
    soon = SimpleNamespace(time=time.time, sleep=lambda seconds: time.sleep(0.01))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepl.translator.time", soon)
        yield


@pytest.fixture(scope="session")
def server(tiny_artifact: Path) -> Iterator[RunningServer]:
    """A server that is ready."""
    with ready(settings_for(tiny_artifact)) as server:
        yield server


@pytest.fixture(scope="session")
def document_server(document_artifact: Path) -> Iterator[RunningServer]:
    """A server whose model knows context."""
    with ready(settings_for(document_artifact)) as server:
        yield server


@pytest.fixture(scope="session")
def pairs(shared: Path) -> dict[str, Path]:
    """Artifacts of several pairs of languages by name; their own folder is "models"."""
    return paths_of_pairs(build_once(shared / "pairs", lambda folder: write_pairs(folder / "models")) / "models")


@pytest.fixture(scope="session")
def many(pairs: dict[str, Path]) -> Iterator[RunningServer]:
    """A server of a whole folder of models."""
    with ready(settings_for(pairs["en-de"].parents[1])) as server:
        yield server
