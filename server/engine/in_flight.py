"""The way into the engine's queue: every sentence and side task that a worker accepts, until it is resolved."""

import contextlib
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any

from server.engine.queue_budget import Reservation
from server.engine.request import EngineStopped, SentenceRequest, SideTask
from server.engine.scheduler import RequestQueue


class InFlight:
    """Queues sentences and side tasks, and keeps their futures, also of those that a stuck thread works on, until they
    are resolved. Safe from any thread."""

    def __init__(self, queue: RequestQueue) -> None:
        self.queue = queue
        self._futures: set[Future[Any]] = set()
        self._rejection: EngineStopped | None = None
        """Why no more are accepted; None while they are."""
        self.is_stopped = False
        """Whether the worker stops: what runs now is the last."""

    def submit(self, requests: Sequence[SentenceRequest], reservation: Reservation | None = None) -> None:
        """Queue all sentences or none; with a `reservation` they are a portion of those that have it. Raises Overloaded
        or EngineStopped."""
        self.check_accepting()
        self.queue.put(list(requests), reservation)
        self.add([request.future for request in requests])

    def submit_side_task(self, side_task: "SideTask[Any]") -> None:
        """Queue a side task. Raises Overloaded or EngineStopped."""
        self.check_accepting()
        self.queue.put_side_task(side_task)
        self.add([side_task.future])

    def check_accepting(self) -> None:
        """Raise EngineStopped unless more sentences are accepted."""
        if self._rejection is not None:
            raise type(self._rejection)(*self._rejection.args)

    def add(self, futures: "Sequence[Future[Any]]") -> None:
        """Keep queued futures until they are resolved. Raises EngineStopped where the worker has stopped since they
        were accepted: resolved here, their callbacks would wait for locks of the caller."""
        self._futures.update(futures)
        for future in futures:
            future.add_done_callback(self._futures.discard)
        if self.is_stopped:
            self.check_accepting()

    def fail_all(self, error: EngineStopped) -> None:
        """Resolve every future that is not resolved yet with `error`."""
        for future in tuple(self._futures):
            with contextlib.suppress(InvalidStateError):  # another thread has just resolved or cancelled it
                future.set_exception(error)

    def reject(self) -> None:
        """Accept no more, since the server stops."""
        self._rejection = self._rejection or EngineStopped("the server is shutting down and takes no more sentences")

    def stop(self, error: EngineStopped | None = None) -> None:
        """Accept no more, because of `error`; None: since the server stops."""
        if error is None:
            self.reject()
        else:
            self._rejection = error
        self.is_stopped = True
