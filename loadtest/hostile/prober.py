"""Signs of life of a server while something is sent to it: asked for by a process of its own (`probe`)."""

import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Literal

from loadtest.hostile.attempt import Address

Kind = Literal["live", "sentence"]


@dataclass(frozen=True)
class Sign:
    """`began` is of time.monotonic; `seconds` until the answer; `status` 0 where there was none."""

    kind: str
    began: float
    seconds: float
    status: int

    @property
    def ended(self) -> float:
        return self.began + self.seconds


class Prober:
    """Asks from its first moment until it is closed."""

    def __init__(self, address: Address) -> None:
        command = [sys.executable, "-m", "loadtest.hostile.probe", address.host, str(address.port)]
        environment = os.environ | ({"PROBE_KEY": address.key} if address.key else {})
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self._signs: list[Sign] = []
        self._changed = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                kind, began, seconds, status = line.split()
                with self._changed:
                    self._signs.append(Sign(kind, float(began), float(seconds), int(status)))
                    self._changed.notify_all()

    def during(self, kind: Kind, begin: float, end: float) -> list[Sign]:
        """What was in flight at any time between two moments."""
        with self._changed:
            return [one for one in self._signs if one.kind == kind and one.began <= end and one.ended >= begin]

    def answered_after(self, moment: float, seconds: float) -> bool:
        """Wait until both kinds are answered that were asked for after `moment`; False if they are not in time."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._later("live", moment) and self._later("sentence", moment), seconds
            )

    def _later(self, kind: Kind, moment: float) -> bool:
        return any(one.kind == kind and one.began > moment and one.status for one in reversed(self._signs))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reading.join()
