"""A server in its own process."""

import hashlib
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from loadtest.hostile import processes
from loadtest.hostile.attempt import Address
from loadtest.hostile.prober import Prober
from loadtest.hostile.sending import multipart, send_request
from loadtest.open_loop import SENTENCES

START_SECONDS = 120.0
IDLE_SECONDS = 1.5
"""Time in which an idle server's sentences are measured."""
WARM = " ".join(f"{sentence.rstrip('.')} {number}." for number in range(15) for sentence in SENTENCES)


def default_command() -> list[str]:
    """As `make serve` starts it."""
    return [sys.executable, "-m", "server.cli", "serve"]


class Server:
    """A ready server. `idle_sentence`: median seconds of a short sentence on the idle server; `idle_load`: busy cores
    meanwhile."""

    def __init__(self, command: Sequence[str], keyed: bool) -> None:
        """Raises RuntimeError if the server does not start."""
        self.is_keyed = keyed
        self.address = Address("127.0.0.1", _free_port(), secrets.token_urlsafe(24) if keyed else None)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - end() closes it
        self._process = subprocess.Popen(
            [*command, "--port", str(self.address.port)],
            env=os.environ | _keys(self.address),
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )
        self._wait_until_ready()
        self._warm_up()
        self.prober = Prober(self.address)
        self.idle_sentence, self.idle_load = self._measure_idle()
        self.resident = processes.memory_of(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def load(self, seconds: float) -> float:
        """Busy cores in the next `seconds`."""
        before, began = processes.processor_seconds(self.pid), time.monotonic()
        time.sleep(seconds)
        return (processes.processor_seconds(self.pid) - before) / (time.monotonic() - began)

    def _warm_up(self) -> None:
        """Memory that the runtime keeps after ordinary requests does not count as growth."""
        file, kind = multipart({"source": b"en", "target": b"de"}, ("a.txt", WARM.encode()))
        send_request(self.address, 60, "POST", "/v1/files", file, {"Content-Type": kind})
        text = json.dumps({"text": WARM, "source": "en", "target": "de"}).encode()
        send_request(self.address, 60, "POST", "/v1/translate", text, {"Content-Type": "application/json"})
        send_request(self.address, 60, "POST", "/detect", b'{"q": "Yes."}', {"Content-Type": "application/json"})

    def _measure_idle(self) -> tuple[float, float]:
        assert self.prober.answered_after(time.monotonic(), START_SECONDS)
        began = time.monotonic()
        load = self.load(IDLE_SECONDS)
        probes = self.prober.during("sentence", began, time.monotonic())
        return statistics.median(probe.seconds for probe in probes), load

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while send_request(self.address, 1, "GET", "/readyz").status != 200:
            if not self.is_alive or time.monotonic() > deadline:
                self._process.kill()
                self._errors.seek(0)
                raise RuntimeError(f"the server did not start: {self._errors.read()[-2000:].decode(errors='replace')}")
            time.sleep(0.05)

    def end(self) -> None:
        self.prober.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()


def _keys(address: Address) -> dict[str, str]:
    if address.key is None:
        return {}
    digest = hashlib.sha256(address.key.encode()).hexdigest()
    return {"RINGMT_API_KEYS": f"probe translate,documents sha256:{digest}"}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
