"""`ringmt` whose thread pools are full from their first job on: its threads can be counted.

A pool starts a thread when a job finds none idle, up to its size: how many it has started depends on chance."""

import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from unittest.mock import patch

from server.cli.main import main

submit = ThreadPoolExecutor.submit


def submit_to_full(pool: ThreadPoolExecutor, /, function: Any, *args: Any, **kwargs: Any) -> Future[Any]:
    if not pool._threads:
        together = threading.Barrier(pool._max_workers)  # a job that waits leaves no thread idle
        for _ in range(pool._max_workers):
            submit(pool, together.wait)
    return submit(pool, function, *args, **kwargs)


if __name__ == "__main__":
    with patch.object(ThreadPoolExecutor, "submit", submit_to_full):
        sys.exit(main())
