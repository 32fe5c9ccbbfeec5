"""Distributes chunks of a file to several servers, and returns their translations in order."""

import functools
import heapq
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from server.corpus.chunks import Chunk, translate_lines
from server.corpus.remote import (
    CorpusOptions,
    Remote,
    RequestRejected,
    ServedModel,
    ServerBusy,
    ServerFault,
    TooLarge,
    Unreachable,
)

AHEAD = 4
"""Chunks per connection that are read ahead of the oldest unwritten chunk."""
MAX_FAULTS = 5
"""Failures of servers with one chunk after which the run fails."""
LONGEST_WAIT = 5.0
"""Seconds between two attempts to reach an unreachable server, at most."""


class NoServerAvailable(RuntimeError):
    """No server has answered within the patience of the run."""


class Spread:
    """Runs `in_flight` threads for each server, each with its own connection. The chunks of an unreachable server go to
    the others. Use it once."""

    def __init__(
        self,
        urls: Sequence[str],
        options: CorpusOptions,
        model: ServedModel | None,
        in_flight: int,
        patience: float,
        on_event: Callable[[str], None],
    ) -> None:
        """`model`: the model that every server must have; None for the model of the first server that answers.
        `patience`: seconds without an answer from any server after which the run fails. `on_event` is called with a
        message when a server becomes unreachable or answers again. Raises RequestRejected for an invalid address."""
        self._model, self._patience, self._on_event = model, patience, on_event
        self._changed = threading.Condition()
        self._waiting: list[Chunk] = []
        """A heap: earlier chunks, which were returned, are taken first."""
        self._faults: dict[int, int] = {}
        self._done: dict[int, list[str]] = {}
        self._failure: Exception | None = None
        self._has_ended = threading.Event()
        self._last_answer = time.monotonic()
        remotes = [Remote(url, options) for url in urls for _ in range(in_flight)]
        self._window = AHEAD * len(remotes)
        self._unreachable: set[str] = set()
        self._threads = [threading.Thread(target=self._work, args=(remote,), daemon=True) for remote in remotes]

    def model(self) -> ServedModel:
        """The model of the first server that answers. Raises RequestRejected and NoServerAvailable."""
        for thread in self._threads:
            thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._model is not None or self._failure is not None)
            if self._failure is not None:
                raise self._failure
            return self._agreed_model

    @property
    def _agreed_model(self) -> ServedModel:
        assert self._model is not None
        return self._model

    def translate(self, chunks: Iterator[Chunk]) -> Iterator[tuple[Chunk, list[str]]]:
        """Every chunk with its translations, in order; call `model` before. Raises RequestRejected, ServerFault or
        NoServerAvailable."""
        in_flight: list[Chunk] = []
        try:
            while True:
                while len(in_flight) < self._window and (chunk := next(chunks, None)) is not None:
                    in_flight.append(chunk)
                    with self._changed:
                        heapq.heappush(self._waiting, chunk)
                        self._changed.notify_all()
                if not in_flight:
                    return
                yield in_flight[0], self._result(in_flight.pop(0).start)
        finally:
            self._end()

    def _result(self, start: int) -> list[str]:
        with self._changed:
            self._changed.wait_for(lambda: start in self._done or self._failure is not None)
            if start not in self._done:
                assert self._failure is not None
                raise self._failure
            return self._done.pop(start)

    def _end(self) -> None:
        self._has_ended.set()
        with self._changed:
            self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._failure = self._failure or error
        self._end()

    def _work(self, remote: Remote) -> None:
        """The loop of a thread: send chunks to this server whenever it answers and has the run's model."""
        try:
            while not self._has_ended.is_set():
                if not self._connect(remote):
                    return
                self._serve(remote)
        except Exception as error:
            self._fail(error)
        finally:
            remote.close()

    def _connect(self, remote: Remote) -> bool:
        """Wait until the server answers, and check that it has the run's model; False if the run has ended before.
        Raises RequestRejected and NoServerAvailable."""
        wait = 0.1
        while True:
            try:
                self._check_model(remote, remote.model())
                return True
            except ServerBusy as busy:
                wait = busy.seconds
            except (Unreachable, ServerFault, TooLarge) as error:
                self._report_unreachable(remote.url, str(error))
                wait = min(2 * wait, LONGEST_WAIT)
                if time.monotonic() - self._last_answer > self._patience:
                    message = f"no server has answered for {self._patience:g} s, the last: {error}"
                    raise NoServerAvailable(message) from None
            if self._has_ended.wait(wait):
                return False

    def _check_model(self, remote: Remote, model: ServedModel) -> None:
        with self._changed:
            self._last_answer = time.monotonic()
            self._model = self._model or model
            self._changed.notify_all()
            if model != self._model:
                raise RequestRejected(
                    f"{remote.url} would translate with another model than the lines so far: it has '{model.name}' "
                    f"({model.fingerprint}), they were made with '{self._model.name}' ({self._model.fingerprint}). "
                    "Serve the same model there, or omit the server"
                )
            if remote.url in self._unreachable:
                self._unreachable.discard(remote.url)
                self._on_event(f"{remote.url} answers again")

    def _report_unreachable(self, url: str, reason: str) -> None:
        with self._changed:
            if url not in self._unreachable:
                self._unreachable.add(url)
                self._on_event(f"{reason}; its lines go to other servers until it answers")

    def _serve(self, remote: Remote) -> None:
        """Send chunks until the server is unreachable, or the run has ended."""
        while (chunk := self._take()) is not None:
            try:
                lines = translate_lines(functools.partial(remote.translate, model=self._agreed_model), chunk.lines)
            except ServerBusy as busy:
                self._return(chunk)
                self._has_ended.wait(busy.seconds)
            except Unreachable as error:
                self._return(chunk)
                self._report_unreachable(remote.url, str(error))
                return
            except ServerFault as error:
                self._count_fault(chunk, error)
                self._return(chunk)
                return
            except RequestRejected as error:
                raise RequestRejected(f"lines {chunk.start + 1} to {chunk.start + len(chunk.lines)}: {error}") from None
            else:
                with self._changed:
                    self._last_answer = time.monotonic()
                    self._done[chunk.start] = lines
                    self._changed.notify_all()

    def _take(self) -> Chunk | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._has_ended.is_set())
            return None if self._has_ended.is_set() else heapq.heappop(self._waiting)

    def _return(self, chunk: Chunk) -> None:
        with self._changed:
            heapq.heappush(self._waiting, chunk)
            self._changed.notify_all()

    def _count_fault(self, chunk: Chunk, error: ServerFault) -> None:
        """Raises ServerFault after MAX_FAULTS attempts."""
        with self._changed:
            self._faults[chunk.start] = self._faults.get(chunk.start, 0) + 1
            if self._faults[chunk.start] >= MAX_FAULTS:
                first, last = chunk.start + 1, chunk.start + len(chunk.lines)
                raise ServerFault(f"lines {first} to {last} failed {MAX_FAULTS} times, the last time so: {error}")
