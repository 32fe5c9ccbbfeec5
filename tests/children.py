"""Processes that tests start: none outlives its block, whatever happens in the block."""

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

PATIENCE = 60.0
"""Seconds after which a test gives up on a process."""


class Child(subprocess.Popen[Any]):
    """A process for which nobody waits longer than PATIENCE, unless a test says so."""

    def wait(self, timeout: float | None = PATIENCE) -> int:
        return super().wait(timeout)

    def communicate(self, input: Any = None, timeout: float | None = PATIENCE) -> tuple[Any, Any]:
        return super().communicate(input, timeout)

    def end(self) -> None:
        """Kill the process, if it has not ended, and close its pipes without reading them: what it started may have
        them, and live on."""
        self.kill()
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what is left to be written is read by nobody
                    pipe.close()
        self.wait()


@contextlib.contextmanager
def child(command: Sequence[object], **options: Any) -> Iterator[Child]:
    """A process, with the options of subprocess.Popen. At the end of the block it is killed, if it has not ended:
    Popen's own block would wait for it, for ever where the test failed before it told the process to end."""
    process = Child([str(part) for part in command], **options)
    try:
        yield process
    finally:
        process.end()
