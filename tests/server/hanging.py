"""`ringmt` in which something never comes back: what the environment variable HANGS names."""

import os
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

from server.cli.main import main

PLACES = {
    "load": "server.translation.translator.Translator.load",
    "cut": "server.translation.assembly.Work.cut",
    "executor": "server.engine.worker.EngineWorker.prepare_alignments",
    "step": "server.engine.engine.Engine.step",
    "loop": "server.api.admission.admitted_request.AdmittedRequest.translator",
    "close": "server.stores.sqlite.SqliteStore.close",
    "write": "server.stores.sqlite.SqliteStore.update",
}
"""What hangs: while models load, in a thread of a request, in one of the event loop's executor, in an engine, in the
event loop itself, in the store when it is closed, and when it is written."""
FIRST_FREE = ("step",)
"""Those that are needed for the start hang once the file of HANGS_FROM is there."""


def hang(*_: Any, **__: Any) -> None:
    threading.Event().wait()


def hang_later(place: str) -> Any:
    """The original, until the file is there."""
    module, _, name = place.rpartition(".")
    package, _, owner = module.rpartition(".")
    original = getattr(getattr(sys.modules[package], owner), name)

    def either(*args: Any, **kwargs: Any) -> Any:
        if Path(os.environ["HANGS_FROM"]).exists():
            hang()
        return original(*args, **kwargs)

    return either


if __name__ == "__main__":
    what = os.environ["HANGS"]
    __import__(PLACES[what].rsplit(".", 2)[0])
    with patch(PLACES[what], hang_later(PLACES[what]) if what in FIRST_FREE else hang):
        sys.exit(main())
