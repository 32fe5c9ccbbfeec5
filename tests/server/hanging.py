"""`ringmt` in which a function never returns: the one that the environment variable HANGS names."""

import os
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

from server.cli.main import main

PLACES = {
    "load": "server.translation.translator.Translator.load",
    "cut": "server.translation.planning.Planner.plan_request",
    "executor": "server.engine.side_tasks.SideTasks.prepare_alignments",
    "step": "server.engine.engine.Engine.step",
    "loop": "server.api.admission.admitted_request.AdmittedRequest.choose",
    "close": "server.stores.sqlite.SqliteStore.close",
    "write": "server.stores.sqlite.SqliteStore.update",
}
"""Functions by names of HANGS: loading of models, a request's thread, a thread of the event loop's executor, an engine,
the event loop, closing and writing of the store."""
NEEDED_AT_START = ("step",)
"""Functions that the start needs: they hang once the file of HANGS_FROM exists."""


def hang(*_: Any, **__: Any) -> None:
    threading.Event().wait()


def hang_later(place: str) -> Any:
    """The original function, until the file exists."""
    module, _, name = place.rpartition(".")
    package, _, owner = module.rpartition(".")
    original = getattr(getattr(sys.modules[package], owner), name)

    def original_or_hang(*args: Any, **kwargs: Any) -> Any:
        if Path(os.environ["HANGS_FROM"]).exists():
            hang()
        return original(*args, **kwargs)

    return original_or_hang


if __name__ == "__main__":
    place = os.environ["HANGS"]
    __import__(PLACES[place].rsplit(".", 2)[0])
    with patch(PLACES[place], hang_later(PLACES[place]) if place in NEEDED_AT_START else hang):
        sys.exit(main())
