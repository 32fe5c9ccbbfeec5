"""How far a file is, and how long it will take by its speed until now: one account for all APIs."""

import time
from dataclasses import dataclass


@dataclass
class FileProgress:
    """How many sentences of a file are translated, in all stages, and since when."""

    done: int = 0
    total: int = 0
    _began: float | None = None
    _is_finished: bool = False

    def update(self, done: int, total: int) -> None:
        """Called before every batch of sentences and at the end. Counts that would let `fraction` fall are ignored."""
        if self._began is None:
            self._began = time.monotonic()
        if total > 0 and min(done, total) * self.total >= self.done * total:
            self.done, self.total = min(done, total), total

    def finish(self) -> None:
        """The file is translated and written."""
        self.done, self._is_finished = self.total, True

    @property
    def fraction(self) -> float:
        """The share of sentences that are translated; it never falls, and is 1 when the file is finished."""
        if self._is_finished:
            return 1.0
        return self.done / self.total if self.total else 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the first sentence."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the file is finished, at the speed until now; None before the first batch is done."""
        if self._is_finished:
            return 0.0
        return self.seconds * (self.total - self.done) / self.done if self.done else None
