"""A server of several processes, for tests: its workers, and clients of which each stays with one of them."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.server.api.conftest import PATIENCE, until
from tests.server.processes import Served, starting

LATER = {"Prefer": "respond-async"}
FORM = {"source": "en", "target": "de"}


def workers_of(pid: int) -> list[int]:
    """The processes that a process has forked and that have not ended."""
    listed = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            listed += [int(child) for child in thread.read_text().split()]
    return [child for child in listed if is_alive(child)]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@dataclass(frozen=True)
class Together:
    """`clients` by the slot of the process that answers them."""

    served: Served
    secret: str

    @property
    def workers(self) -> list[int]:
        return workers_of(self.served.process.pid)

    @contextlib.contextmanager
    def clients(self, secret: str = "") -> Iterator[tuple[httpx.Client, httpx.Client]]:
        """One client of each process, with a key."""
        with slot_clients(self.served.url, secret or self.secret) as found:
            yield found

    def is_whole(self) -> bool:
        """Whether both processes have loaded their models, of two slots each."""
        return self.served.answers() and self.served.metric("slots", model="en-de") == 2 * 2


@contextlib.contextmanager
def slot_clients(url: str, secret: str) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """One client of each of two processes, with a key. The files by which they are found are finished: a file that is
    in work when others end is not the oldest one of its owner."""
    found: dict[int, httpx.Client] = {}
    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        while len(found) < 2:
            assert time.monotonic() - began < PATIENCE, "one process has all connections"
            limits = httpx.Limits(max_connections=1)
            client = httpx.Client(base_url=url, timeout=PATIENCE, limits=limits, headers={"X-API-Key": secret})
            stack.enter_context(client)
            file_id = send(client, b"Yes.")
            until(lambda: client.get(f"/v1/files/{file_id}").json()["state"] == "done", "the file is translated")  # noqa: B023
            found.setdefault(slot_of(file_id), client)
        yield found[0], found[1]


def send(client: httpx.Client, text: bytes) -> str:
    """The id of a file that is translated later."""
    answer = client.post("/v1/files", files={"file": ("a.txt", text)}, data=FORM, headers=LATER)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def slot_of(file_id: str) -> int:
    return int(file_id[:2], 16)


def translate(client: httpx.Client, text: str, **fields: object) -> httpx.Response:
    return client.post("/v1/translate", json={"text": text, **FORM, **fields})


@contextlib.contextmanager
def together(models: Path, store: Path, secret: str, line: str, *flags: str) -> Iterator[Together]:
    """A server of two processes that is ready, with the key of a line."""
    more = ["--processes", "2", "--context-store", f"sqlite:///{store}", "--slots", "4", "--api-keys", line, *flags]
    with starting(models, *more) as served:
        one = Together(served, secret)
        until(one.is_whole, "both processes are ready")
        yield one
