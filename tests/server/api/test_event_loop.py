"""The event loop goes on while a request's texts are read and put together: others are answered meanwhile."""

import contextlib
import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.glossaries.service import Dictionary, Glossary, _decoded, _encoded
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, until
from tests.server.processes import Served, serving

ATTEMPTS = 4
PAIR = {"source": "en", "target": "de"}
SHORT = {**PAIR, "beam_size": 1, "max_length": 3}
WORDS = " ".join(SENTENCES)


def text_of(size: int, unit: str = WORDS + " ") -> str:
    return (unit * (size // len(unit) + 1))[:size]


TERMS = {f"a b{number}": f"c{number}" for number in range(5000)}
LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "a text": ("/v1/translate", {"text": text_of(60_000), **SHORT}),
    "control characters": ("/v1/translate", {"text": text_of(8_000, "\x00a"), **SHORT}),
    "a glossary": ("/v1/translate", {"text": text_of(60_000, "a a a a a.\n"), "glossary": TERMS, **SHORT}),
    "an alignment": ("/v1/translate", {"text": text_of(60_000), "alignment": True, **SHORT}),
    "tags": ("/translate", {"q": "<b>" * 8000 + "a word" + "</b>" * 8000, "format": "html", **PAIR}),
    "pairs to score": (
        "/v1/score",
        {"items": [{"source": text_of(90), "target": [text_of(90)] * 5} for _ in range(50)], **PAIR},
    ),
    "a document": ("/v1/documents", {"text": text_of(60_000), "wait": False, **SHORT}),
}


@pytest.fixture(scope="module")
def served(tiny_artifact: Path) -> Iterator[Served]:
    """A process of its own: the tests' own work keeps it from nothing."""
    with serving(
        tiny_artifact, "--max-waiting", "20000", "--slots", "32", "--max-document-sentences", "20000"
    ) as served:
        yield served


@pytest.mark.parametrize("name", LARGE)
def test_others_are_answered_while_a_large_request_is_worked_on(served: Served, name: str) -> None:
    """The longest wait for /livez is a small part of what the large request takes: one that held the loop for all of
    its work would make others wait for most of it, every time."""
    path, body = LARGE[name]
    check_waits(served, path, json=body)


def check_waits(served: Served, path: str, **request: Any) -> None:
    results = [longest_wait(served, path, **request)]
    while not results[-1].is_short and len(results) < ATTEMPTS:  # a busy machine makes anybody wait now and then
        results.append(longest_wait(served, path, **request))
    assert results[-1].is_short, results


def test_others_are_answered_while_a_translation_memory_is_imported_and_searched(served: Served) -> None:
    lines = "".join(f"{WORDS[number % 200 :][:120]} {number}\tx\n" for number in range(8_000))
    memories = "/v1/translation_memories"
    with served.client() as client:
        memory = client.post(memories, json={"name": "large", **PAIR}).json()["id"]
        check_waits(served, f"{memories}/{memory}/import", files={"file": ("large.tsv", lines)})
        texts = [f"{WORDS[number : number + 110]} {number}" for number in range(200)]
        check_waits(served, "/v1/translate", json={"text": texts, "translation_memory_id": memory, **SHORT})
        assert client.delete(f"{memories}/{memory}").status_code == 204


@dataclass(frozen=True)
class Waits:
    """Seconds: of the large request, and of those for /livez meanwhile."""

    large: float
    longest: float
    median: float

    @property
    def is_short(self) -> bool:
        return self.longest < max(self.large / 3, 50 * self.median)


def longest_wait(served: Served, path: str, **request: Any) -> Waits:
    waits: list[float] = []
    is_over, is_watched = threading.Event(), threading.Event()

    def watch() -> None:
        with served.client() as client:
            while not is_over.wait(0.005):  # the looks are not to be the most of the work
                started = time.monotonic()
                assert client.get("/livez").status_code == 200
                waits.append(time.monotonic() - started)
                is_watched.set()

    with served.client() as client, ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        assert is_watched.wait(PATIENCE)
        waits.clear()
        started = time.monotonic()
        try:
            answer = client.post(path, **request)
        finally:
            seconds = time.monotonic() - started
            is_over.set()
        watching.result(PATIENCE)
    assert answer.is_success, answer.text
    assert len(waits) >= 5, f"{len(waits)} answers in {seconds} seconds"
    return Waits(seconds, max(waits), statistics.median(waits))


def test_a_glossary_is_kept_in_pieces_that_are_short() -> None:
    entries = {f"term {number}": f"Wort {number}" for number in range(5000)}
    glossary = Glossary("id", "name", 1.0, (Dictionary("en", "de", entries), Dictionary("de", "en", {"a": "b"})))
    kept = _encoded(glossary)
    assert _decoded(kept) == glossary
    assert max(map(len, kept.split("\n"))) < len(kept) / 3


def test_a_glossary_of_one_line_is_read_as_it_was_written() -> None:
    kept = '{"id":"i","name":"n","created":1.0,"dictionaries":[{"source":"en","target":"de","entries":{"a":"b"}}]}'
    assert _decoded(kept) == Glossary("i", "n", 1.0, (Dictionary("en", "de", {"a": "b"}),))


def test_work_for_a_client_that_left_ends(served: Served) -> None:
    """Its thread ends when the client has gone, not when the work would have been done."""
    tasks = Path(f"/proc/{served.process.pid}/task")

    def works() -> int:
        return sum(item.read_text().startswith("work-") for item in tasks.glob("*/comm"))

    body = {"text": text_of(90_000, "a a a a a.\n"), "glossary": TERMS, **SHORT}
    for _ in range(3):
        with httpx.Client(base_url=served.url, timeout=0.2) as client, contextlib.suppress(httpx.TimeoutException):
            client.post("/v1/translate", json=body)
    until(lambda: not works(), "no thread works for them")
    assert served.translate("Yes.").status_code == 200
