"""A document that was accepted stays, and its client learns its id, whatever is slow or gone afterwards."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.api.native import documents as routes
from server.documents.cutting import listed_sentences
from server.stores.interface import StoreError
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.documents import STORY, Documents, checked, translations
from tests.server.documents.some import document

Broken = Callable[[RunningServer, pytest.MonkeyPatch, threading.Event], None]


def slow_store(server: RunningServer, broken: pytest.MonkeyPatch, may_go: threading.Event) -> None:
    """It hangs whenever the document is to be read."""
    store = server.state.documents.store
    for name in ("read", "document"):
        call = getattr(store, name)
        broken.setattr(store, name, lambda *given, call=call: (may_go.wait(60), call(*given))[1])


def lost_store(server: RunningServer, broken: pytest.MonkeyPatch, _: threading.Event) -> None:
    def gone(*_: object) -> None:
        raise StoreError("gone")

    for name in ("read", "document"):
        broken.setattr(server.state.documents.store, name, gone)


def no_time_to_read(server: RunningServer, broken: pytest.MonkeyPatch, may_go: threading.Event) -> None:
    """Waiting ends with the deadline of the request itself."""
    slow_store(server, broken, may_go)
    broken.setattr(routes, "READING_SECONDS", 0.0)


@pytest.mark.parametrize("fault", [slow_store, lost_store, no_time_to_read])
def test_it_is_not_deleted_by_the_deadline(
    document_artifact: Path, fault: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go = threading.Event()
    with ready(settings_for(document_artifact, document_lease=0.5)) as server, server.client() as client:
        with monkeypatch.context() as broken, server.client(within=1.0) as hurried:
            fault(server, broken, may_go)
            body = {"sentences": STORY, "source": "en", "target": "de", "wait": True}
            answer = hurried.post("/v1/documents", json=body)
            may_go.set()
        [kept] = client.get("/v1/documents").json()["documents"]
        if fault is not no_time_to_read:  # its answer may be too late
            accepted = checked(answer, 202)
            assert (accepted["id"], accepted["state"], accepted["progress"]) == (kept["id"], "queued", 0)
            assert answer.headers["Location"] == f"/v1/documents/{kept['id']}"
        assert answer.status_code in (202, 504)
        Documents(client).done(kept["id"], explain="false")


def test_options_of_a_newer_ringmt_are_left_out(document_artifact: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ready(settings_for(document_artifact)) as server, server.client() as client:
        caplog.set_level(logging.WARNING, "ringmt")
        [translator] = server.state.translators.values()
        expected = Documents(client).post(sentences=STORY[:2], beam_size=2, max_length=8, mode="online")
        options: dict[str, Any] = {
            "beam_size": 2,
            "length_penalty": None,
            "max_length": 8,
            "new\nest": [1],
            "temper": 2,
        }
        sentences = listed_sentences(STORY[:2], translator)
        now = time.time()
        kept = document(
            "newer", model=translator.name, fingerprint=translator.fingerprint, num_sentences=2, options=options,
            created=now, touched=now, mode="online",
        )  # fmt: skip
        server.state.documents.store.create(kept, sentences)
        server.state.documents.runner.wake()
        done = Documents(client).done("newer", explain="false")
        assert translations(done) == translations(expected)
        Documents(client).append("newer", "Next.")
        assert server.state.documents.store.document("newer").options == options
    assert "document newer has options that this RingMT does not know ('new\\nest', 'temper')" in caplog.text
