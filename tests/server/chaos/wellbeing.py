"""Checks that a server is healthy and has released all resources."""

import contextlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.models import SENTENCES
from tests.server.api.conftest import until
from tests.server.chaos.sample_files import word_file
from tests.server.processes import Served

AT_ONCE = 8
"""Requests of a kind during the warm-up."""
LONG_TEXT = "Yes." + "\n" * 12_000 + "No."
"""A text that is split in a thread."""


def assert_well(served: Served) -> None:
    """Assert that the server is alive, idle, and translates."""
    assert served.status("/livez") == 200
    for gauge in ("running_sentences", "queue_depth", "queue_tokens", "requests_in_progress", "ring_cache_used_slots"):
        until(lambda gauge=gauge: served.metric(gauge) == 0, f"{gauge} is 0")  # type: ignore[misc]
    assert served.translate("Yes.").status_code == 200
    assert served.translate(LONG_TEXT, max_length=8, beam_size=1).status_code == 200


def resident_bytes(served: Served) -> int:
    """Resident memory of the server's process, in bytes."""
    text = Path(f"/proc/{served.process.pid}/status").read_text(encoding="ascii")
    result = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert result is not None
    return int(result[1]) * 1024


def open_files(served: Served) -> int:
    return len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))


def threads(served: Served) -> int:
    return len(thread_names(served))


def thread_names(served: Served) -> list[str]:
    names = []
    for task in Path(f"/proc/{served.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            names.append((task / "comm").read_text(encoding="utf-8").strip())
    return sorted(names)


def processes_below(pid: int) -> list[int]:
    """Ids of all descendants of a process."""
    results: list[int] = []
    with contextlib.suppress(OSError):  # it has ended meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                results += [child, *processes_below(child)]
    return results


@dataclass(frozen=True)
class Count:
    """The resources of a server process."""

    threads: int
    files: int
    processes: int

    @classmethod
    def of(cls, served: Served) -> "Count":
        return cls(threads(served), open_files(served), len(processes_below(served.process.pid)))

    def is_within(self, other: "Count") -> bool:
        return self.threads <= other.threads and self.files <= other.files and self.processes <= other.processes


@contextlib.contextmanager
def nothing_left_behind(served: Served) -> Iterator[None]:
    """After the block there are no more threads, open files, processes and slots in use than before it."""
    before = Count.of(served)
    yield
    assert_well(served)
    try:
        until(lambda: Count.of(served).is_within(before), "nothing is left behind")
    except AssertionError as error:
        raise AssertionError(f"{Count.of(served)} is more than {before}: {thread_names(served)}") from error


def warm_up(served: Served) -> None:
    """Start what the first requests of a kind start; thread pools are full then (`tests.server.full_pools`)."""
    detect = json.dumps({"q": "Where is the station?"}).encode()

    def ask(number: int) -> None:
        with served.client() as client:
            client.post("/detect", content=detect, headers={"Content-Type": "application/json"})
            client.post("/v1/translate", json={"text": LONG_TEXT, "source": "en", "target": "de", "max_length": 4})
            file = {"file": ("a.docx", word_file(SENTENCES[:2]))}
            client.post("/v1/files", files=file, data={"source": "en", "target": "de"})
            body = {"sentences": ["Yes."], "source": "en", "target": "de", "wait": True}
            made = client.post("/v1/documents", json=body)
            if made.is_success:
                client.delete(f"/v1/documents/{made.json()['id']}")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(ask, range(AT_ONCE)))
    assert_well(served)
