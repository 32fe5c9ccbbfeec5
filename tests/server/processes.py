"""`ringmt serve` as a process that tests kill, stop and observe from outside.

It is a fork of a process that has imported everything, unless a test is about the command line itself."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.children import Child
from tests.server.api.conftest import PATIENCE, until
from tests.server.redis_server import free_port
from tests.server.zygote import Forked

ROOT = Path(__file__).parents[2]


@dataclass
class Served:
    """`process` is the server's, `url` its address; `restart` starts another at the same address."""

    process: Child | Forked
    port: int
    command: Sequence[str]
    environment: dict[str, str] = field(repr=False)
    is_forked: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=PATIENCE)

    def translate(self, text: object, **fields: object) -> httpx.Response:
        with self.client() as client:
            return client.post("/v1/translate", json={"text": text, "source": "en", "target": "de", **fields})

    def status(self, path: str) -> int:
        return httpx.get(f"{self.url}{path}", timeout=PATIENCE).status_code

    def metric(self, name: str, **labels: str) -> float:
        """The sum over all series with these labels."""
        exposed = httpx.get(f"{self.url}/metrics", timeout=PATIENCE).text
        values = [
            float(value)
            for series, value in re.findall(rf"^ringmt_{name}{{(.*)}} (.*)$", exposed, flags=re.M)
            if all(f'{label}="{text}"' in series for label, text in labels.items())
        ]
        assert values, name
        return sum(values)

    def answers(self) -> bool:
        """Whether the server is ready. Fails if the process has ended."""
        assert self.process.poll() is None, self.process.communicate()[1]
        try:
            return self.status("/readyz") == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.communicate()

    def restart(self) -> None:
        """After `kill`: another process at the same address; it may not be ready yet."""
        self.process = run(self.command, self.environment, self.is_forked)


def run(command: Sequence[str], environment: dict[str, str], is_forked: bool) -> Child | Forked:
    """A process of `command`: of `serve_command`, if it is forked."""
    if is_forked and sys.platform == "linux":
        _, _, program, *arguments = command
        return Forked(program, arguments, environment)
    return Child(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=ROOT)


def serve_command(artifact: Path, port: int, *flags: str) -> list[str]:
    """A small and slow server: two sentences at a time."""
    run = [sys.executable, "-m", "server.cli", "serve", "--models", str(artifact), "--port", str(port)]
    small = ["--precision", "fp32", "--shortlist", "off", "--num-workers", "1", "--slots", "2"]
    return [*run, *small, "--translation-cache-bytes", "0", *flags]  # repeated texts are decoded again


@contextlib.contextmanager
def starting(
    artifact: Path, *flags: str, home: Path | None = None, program: str = "server.cli", is_forked: bool = True
) -> Iterator[Served]:
    """A server process that may not be ready yet. `program` is the module that is run."""
    port = free_port()
    command = [program if part == "server.cli" else part for part in serve_command(artifact, port, *flags)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"} | ({"HOME": str(home)} if home else {})
    served = Served(run(command, environment, is_forked), port, command, environment, is_forked)
    try:
        yield served
    finally:
        served.process.end()


@contextlib.contextmanager
def serving(
    artifact: Path, *flags: str, home: Path | None = None, program: str = "server.cli", is_forked: bool = True
) -> Iterator[Served]:
    """A server process that is ready."""
    with starting(artifact, *flags, home=home, program=program, is_forked=is_forked) as served:
        until(served.answers, "the server is ready")
        yield served
