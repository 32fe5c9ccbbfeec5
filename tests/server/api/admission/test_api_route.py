"""What the door does for every route alike."""

import gc
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import pytest

from server.engine.in_flight import InFlight
from server.engine.queue_budget import Reservation
from server.engine.request import SentenceRequest
from server.scheduling.shared_budget import SharedBudget
from server.text.split.plan import TextPlan
from server.translation.translator import Translator
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.native.test_translate import error_of


def never_cut(translator: Translator, text: str, splits: bool = True) -> TextPlan:
    raise AssertionError("a text was cut that could not be queued")


def test_what_cannot_be_queued_is_refused_before_it_is_cut(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "plan", never_cut)
    assert error_of(server.translate("a\n" * 600), 413)["type"] == "too_large"
    [translator] = server.state.translators.values()
    waiting = translator.worker.queue
    monkeypatch.setattr(waiting._budget, "_sentences", full(waiting.max_waiting))
    assert error_of(server.translate("Yes."), 429)["type"] == "overloaded"


def full(limit: int) -> SharedBudget:
    budget = SharedBudget(limit)
    budget.acquire("", limit)
    return budget


def lost(in_flight: InFlight, requests: Sequence[SentenceRequest], reservation: Reservation | None = None) -> None:
    """An engine that takes sentences and never answers."""


def test_the_deadline_is_the_documented_one(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ready(settings_for(tiny_artifact, request_timeout=0.2)) as server:
        monkeypatch.setattr(InFlight, "submit", lost)
        for fields in ({}, {"context": "Yes."}):
            started = time.monotonic()
            assert error_of(server.translate("Yes.", **fields), 504)["type"] == "deadline_exceeded"
            assert time.monotonic() - started < 1.7


def test_every_route_counts_its_work_and_forgets_it(server: RunningServer) -> None:
    assert server.translate("Yes.").status_code == 200
    until(lambda: server.metric("requests_in_progress", model="tiny") == 0, "nothing is in progress")


@pytest.mark.parametrize(("text", "status"), [("a" * 30_000, 413), ("a\n" * 600, 413), (["Yes."] * 40 + [3], 422)])
def test_a_refused_request_is_freed_at_once(server: RunningServer, text: object, status: int) -> None:
    """Were its error in a cycle with the frames that it passed, they would keep its body and all its texts."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert server.translate(text).status_code == status
        until(lambda: server.metric("requests_in_progress", model="tiny") == 0, "nothing is in progress")
        gc.collect()
        frames = [found.f_code.co_filename for found in gc.garbage if isinstance(found, FrameType)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not [name for name in frames if "/server/api/" in name and "/tests/" not in name]


@pytest.mark.parametrize("path", ["/v1/models", "/v1/languages"])
def test_unknown_parameters_are_named(server: RunningServer, path: str) -> None:
    with server.client() as client:
        error = error_of(client.get(path, params={"explain": "true"}), 422)
    assert (error["type"], error["param"]) == ("invalid_value", "explain")


def test_the_shell_s_translation_loads_no_server() -> None:
    code = "import sys, server.cli.translate; sys.exit(bool({'fastapi', 'uvicorn', 'starlette'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
