"""Runs a step of fixed shape again and again: on a CUDA device it is recorded once and replayed."""

import logging
import threading
from collections.abc import Callable

import torch

logger = logging.getLogger("ringmt")

FIRST_RUNS = 8
"""Runs of a new shape before it is recorded: while a batch fills, shapes change at once, and a recording takes as long
as several steps."""


class Recorder:
    """Records functions as CUDA graphs. The recordings of a recorder share the memory of their intermediate tensors,
    since they run one after the other, in the device's current stream."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._lock = threading.Lock()
        with torch.cuda.device(device):
            self._pool = torch.cuda.graph_pool_handle()
            # The memory that recordings share is gone with the last of them: this one stays.
            self._first = self.record(lambda: torch.zeros(1, device=device))

    def record(self, function: Callable[[], object]) -> "torch.cuda.CUDAGraph":
        """A recording of `function`, which does not run now. Raises RuntimeError for a function that waits for the
        device."""
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        with self._lock, torch.cuda.device(self.device):
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                try:
                    function()
                finally:
                    graph.capture_end()
        return graph


class RecordedRuns:
    """Calls of a function on a CUDA device: the first ones as they are, then a recording of it. Each call waits for the
    device."""

    def __init__(self, function: Callable[[], None], recorder: Recorder) -> None:
        self._function, self._recorder = function, recorder
        self._first_runs: int | None = FIRST_RUNS
        self._recording: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self._first_runs == 0:
            self._record()
        if self._first_runs:
            self._first_runs -= 1
        with torch.cuda.device(self._recorder.device):
            if self._recording is not None:
                self._recording.replay()
            else:
                self._function()
            torch.cuda.current_stream().synchronize()

    def _record(self) -> None:
        self._first_runs = None
        try:
            self._recording = self._recorder.record(self._function)
        except RuntimeError:
            logger.exception("a step cannot be recorded as a CUDA graph: it stays correct, and is slower")


def repeated(function: Callable[[], None], device: torch.device, recorder: Recorder | None) -> Callable[[], None]:
    """`function`, and then a wait for the device. With a recorder it is recorded."""
    if device.type == "cuda" and recorder is not None:
        return RecordedRuns(function, recorder)
    if device.type == "cpu":
        return function

    def run_and_wait() -> None:
        function()
        if device.type == "cuda":
            torch.cuda.current_stream(device).synchronize()
        elif device.type == "mps":
            torch.mps.synchronize()

    return run_and_wait
