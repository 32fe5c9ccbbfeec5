"""The threads of models that were replaced or unloaded end."""

import gc
import threading
from typing import Any, cast

import pytest

from server.api.serving import retired_models
from server.api.serving.retired_models import RetiredModels
from server.runtime.ref_count import RefCount
from tests.server.api.conftest import PATIENCE


class Model:
    """Only the garbage collector frees it."""

    name = "cyclic"

    def __init__(self) -> None:
        self.users, self.itself = RefCount(), self

    def stop(self, timeout: float) -> None:
        """It is stopped."""


def test_a_model_may_be_freed_by_a_collection_while_its_thread_waits_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter collects at any moment, in any thread: also in this one, between two steps of its wait."""
    wait = threading.Condition.wait

    def collect_and_wait(condition: threading.Condition, timeout: float | None = None) -> bool:
        if threading.current_thread().name == "retire-cyclic":
            gc.collect()
        return wait(condition, timeout)

    monkeypatch.setattr(retired_models, "collect", lambda: None)
    monkeypatch.setattr(threading.Condition, "wait", collect_and_wait)
    retired = RetiredModels()
    retired.add([cast(Any, Model())])
    [thread] = retired._threads
    thread.join(PATIENCE / 4)
    assert not thread.is_alive()
