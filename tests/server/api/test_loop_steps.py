"""No step of the event loop grows with what a client sends: what takes long is cut into parts or done elsewhere, so
that others are answered in between."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.settings import EngineSettings
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.loop_steps import LoopSteps

SMALL, LARGE = 200, 800
"""Sentences, lines, terms, ... of a request."""
MOST_GROWTH = 2.0
"""Of the longest step, for a request that is four times as large."""
FLOOR = 0.005
"""Seconds of processor that a step of any request may take: shorter ones are not compared."""
ATTEMPTS = 3
"""The first of them that holds is enough: a processor that others use as well takes longer for the same step."""
PAIR = {"source": "en", "target": "de"}
SHORT = {**PAIR, "beam_size": 1, "max_length": 2}
NUMBERS = itertools.count(1000)
Request = tuple[str, dict[str, Any]]


def lines(count: int) -> str:
    """Sentences that no request before had: none comes from the cache."""
    return "".join(f"We see {next(NUMBERS)}.\n" for _ in range(count))


def file_of(name: str, content: str) -> dict[str, Any]:
    return {"files": {"file": (name, content)}, "data": PAIR}


REQUESTS: dict[str, Callable[[int], Request]] = {
    "a text": lambda n: ("/v1/translate", {"json": {"text": lines(n), **SHORT}}),
    "a stream": lambda n: ("/v1/translate", {"json": {"text": lines(n), "stream": True, **SHORT}}),
    "an alignment": lambda n: ("/v1/translate", {"json": {"text": lines(n), "alignment": True, **SHORT}}),
    "a glossary": lambda n: (
        "/v1/translate",
        {"json": {"text": "We see a1.", "glossary": {f"a{i}": f"b{i}" for i in range(n)}, **SHORT}},
    ),
    "words to keep": lambda n: (
        "/v1/translate",
        {"json": {"text": "Yes.", "keep": [f"a{i}" for i in range(n)], **SHORT}},
    ),
    "pairs to score": lambda n: (
        "/v1/score",
        {"json": {"items": [{"source": f"We see {i}.", "target": "Ja."} for i in range(n)], **PAIR}},
    ),
    "languages to detect": lambda n: ("/detect", {"json": {"q": lines(n)}}),
    "a document": lambda n: ("/v1/documents", {"json": {"text": lines(n // 2), "wait": True, **SHORT}}),
    "HTML": lambda n: (
        "/translate",
        {"json": {"q": "<p>" + lines(n).replace("\n", "</p><p>"), "format": "html", **PAIR}},
    ),
    "DeepL's texts": lambda n: ("/v2/translate", {"json": {"text": lines(n).splitlines(), "target_lang": "DE"}}),
    "a chat": lambda n: (
        "/v1/chat/completions",
        {"json": {"model": "en-de", "messages": [{"role": "user", "content": lines(n)}]}},
    ),
    "a text file": lambda n: ("/v1/files", file_of("a.txt", lines(n // 2))),
}


@pytest.fixture(scope="module")
def measured(document_artifact: Path) -> Iterator[tuple[RunningServer, LoopSteps]]:
    engine = EngineSettings(
        slots=32, max_waiting=20_000, num_workers=1, precision="fp32", shortlist="off", max_beam_size=4
    )
    settings = settings_for(
        document_artifact, engine, max_text_chars=200_000, max_total_chars=200_000, max_texts=2 * LARGE
    )
    with ready(settings) as server:
        steps = LoopSteps()
        steps.attach(server)
        yield server, steps


@pytest.mark.parametrize("name", REQUESTS)
def test_no_step_of_the_event_loop_grows_with_a_request(measured: tuple[RunningServer, LoopSteps], name: str) -> None:
    server, steps = measured
    small = large = 0.0
    with server.client() as client:
        for _ in range(ATTEMPTS):
            small = longest_step(client, steps, *REQUESTS[name](SMALL))
            large = longest_step(client, steps, *REQUESTS[name](LARGE))
            if large <= MOST_GROWTH * max(small, FLOOR):
                break
        else:
            pytest.fail(f"{1000 * small:.1f} ms, {1000 * large:.1f} ms for four times as much: {steps.where}")


def longest_step(client: httpx.Client, steps: LoopSteps, path: str, request: dict[str, Any]) -> float:
    steps.clear()
    answer = client.post(path, **request)
    assert answer.is_success, answer.text[:500]
    return steps.longest
