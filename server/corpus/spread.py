"""Spreads portions of a file over several servers, and gives their translations in order."""

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
"""Portions that are read, per connection, before the oldest of them is written."""
MAX_FAULTS = 5
"""How often servers may fail with a portion before the run has failed."""
LONGEST_WAIT = 5.0
"""The most seconds between two attempts to reach a server that is away."""


class NoServerAvailable(RuntimeError):
    """No server has answered for too long."""


class Spread:
    """Runs `in_flight` threads for each server, each with a connection of its own. When a server goes away, the others
    take its portions. Use it once."""

    def __init__(
        self,
        urls: Sequence[str],
        asked: CorpusOptions,
        model: ServedModel | None,
        in_flight: int,
        patience: float,
        told: Callable[[str], None],
    ) -> None:
        """`model`: the model that every server must have; None for that of the first server that answers. `patience`:
        seconds without an answer from any server before the run fails. `told` is called when servers go away and come
        back. Raises RequestRejected for an invalid address."""
        self._model, self._patience, self._told = model, patience, told
        self._changed = threading.Condition()
        self._waiting: list[Chunk] = []
        """A heap: earlier portions, which were given back, are taken first."""
        self._faults: dict[int, int] = {}
        self._done: dict[int, list[str]] = {}
        self._failure: Exception | None = None
        self._is_over = threading.Event()
        self._answered = time.monotonic()
        remotes = [Remote(url, asked) for url in urls for _ in range(in_flight)]
        self._window = AHEAD * len(remotes)
        self._away: set[str] = set()
        self._threads = [threading.Thread(target=self._work, args=(one,), daemon=True) for one in remotes]

    def model(self) -> ServedModel:
        """The model of the first server that answers. Raises RequestRejected and NoServerAvailable."""
        for thread in self._threads:
            thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._model is not None or self._failure is not None)
            if self._failure is not None:
                raise self._failure
            return self._agreed

    @property
    def _agreed(self) -> ServedModel:
        assert self._model is not None
        return self._model

    def translate(self, chunks: Iterator[Chunk]) -> Iterator[tuple[Chunk, list[str]]]:
        """Every portion with its translations, in order; call `model` before. Raises RequestRejected, ServerFault or
        NoServerAvailable."""
        order: list[Chunk] = []
        try:
            while True:
                while len(order) < self._window and (chunk := next(chunks, None)) is not None:
                    order.append(chunk)
                    with self._changed:
                        heapq.heappush(self._waiting, chunk)
                        self._changed.notify_all()
                if not order:
                    return
                yield order[0], self._result(order.pop(0).start)
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
        self._is_over.set()
        with self._changed:
            self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        with self._changed:
            self._failure = self._failure or error
        self._end()

    def _work(self, remote: Remote) -> None:
        """A thread's work: send portions to this server whenever it answers and has the right model."""
        try:
            while not self._is_over.is_set():
                if not self._meet(remote):
                    return
                self._serve(remote)
        except Exception as error:
            self._fail(error)
        finally:
            remote.close()

    def _meet(self, remote: Remote) -> bool:
        """Wait until the server answers, and check that it has the run's model; False when the run is over before.
        Raises RequestRejected and NoServerAvailable."""
        wait = 0.1
        while True:
            try:
                self._agree(remote, remote.model())
                return True
            except ServerBusy as busy:
                wait = busy.seconds
            except (Unreachable, ServerFault, TooLarge) as error:
                self._note(remote.url, str(error))
                wait = min(2 * wait, LONGEST_WAIT)
                if time.monotonic() - self._answered > self._patience:
                    message = f"no server has answered for {self._patience:g} s, the last: {error}"
                    raise NoServerAvailable(message) from None
            if self._is_over.wait(wait):
                return False

    def _agree(self, remote: Remote, model: ServedModel) -> None:
        with self._changed:
            self._answered = time.monotonic()
            self._model = self._model or model
            self._changed.notify_all()
            if model != self._model:
                raise RequestRejected(
                    f"{remote.url} would translate with another model than the lines so far: it has '{model.name}' "
                    f"({model.fingerprint}), they were made with '{self._model.name}' ({self._model.fingerprint}). "
                    "Serve that one there too, or leave the server out"
                )
            if remote.url in self._away:
                self._away.discard(remote.url)
                self._told(f"{remote.url} answers again")

    def _note(self, url: str, reason: str) -> None:
        with self._changed:
            if url not in self._away:
                self._away.add(url)
                self._told(f"{reason}; its lines go to others until it is back")

    def _serve(self, remote: Remote) -> None:
        """Send portions until the server is away, or the run is over."""
        while (chunk := self._take()) is not None:
            try:
                lines = translate_lines(functools.partial(remote.translate, model=self._agreed), chunk.lines)
            except ServerBusy as busy:
                self._give_back(chunk)
                self._is_over.wait(busy.seconds)
            except Unreachable as error:
                self._give_back(chunk)
                self._note(remote.url, str(error))
                return
            except ServerFault as error:
                self._count_fault(chunk, error)
                self._give_back(chunk)
                return
            except RequestRejected as error:
                raise RequestRejected(f"lines {chunk.start + 1} to {chunk.start + len(chunk.lines)}: {error}") from None
            else:
                with self._changed:
                    self._answered = time.monotonic()
                    self._done[chunk.start] = lines
                    self._changed.notify_all()

    def _take(self) -> Chunk | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_over.is_set())
            return None if self._is_over.is_set() else heapq.heappop(self._waiting)

    def _give_back(self, chunk: Chunk) -> None:
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
