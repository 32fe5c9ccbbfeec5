"""Probes of a server while a hostile input is sent, by a separate process (`probe`)."""

import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Literal

from loadtest.hostile.attempt import Address

Kind = Literal["live", "sentence"]
LIVE_EVERY, SENTENCE_EVERY = 0.01, 0.05
"""Seconds between a response and the next request."""


@dataclass(frozen=True)
class Probe:
    """`began`: time.monotonic; `seconds` until the response; `status` 0 without a response."""

    kind: str
    began: float
    seconds: float
    status: int

    @property
    def ended(self) -> float:
        return self.began + self.seconds


class Prober:
    """Probes the server from its creation until `close`."""

    def __init__(self, address: Address) -> None:
        command = [sys.executable, "-m", "loadtest.hostile.probe", address.host, str(address.port)]
        command += [str(LIVE_EVERY), str(SENTENCE_EVERY)]
        environment = os.environ | ({"PROBE_KEY": address.key} if address.key else {})
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self._probes: list[Probe] = []
        self._changed = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if not line.endswith("\n"):  # the process was killed meanwhile
                    break
                kind, began, seconds, status = line.split()
                with self._changed:
                    self._probes.append(Probe(kind, float(began), float(seconds), int(status)))
                    self._changed.notify_all()

    def during(self, kind: Kind, begin: float, end: float) -> list[Probe]:
        """The probes that were in flight between two moments."""
        with self._changed:
            return [
                probe for probe in self._probes if probe.kind == kind and probe.began <= end and probe.ended >= begin
            ]

    def answered_after(self, moment: float, seconds: float) -> bool:
        """Wait until a probe of both kinds that began after `moment` is answered; False after `seconds`."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._is_answered("live", moment) and self._is_answered("sentence", moment), seconds
            )

    def _is_answered(self, kind: Kind, moment: float) -> bool:
        return any(probe.kind == kind and probe.began > moment and probe.status for probe in reversed(self._probes))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reading.join()
