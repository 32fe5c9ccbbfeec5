"""Users of a RingMT server. Run by `make loadtest`, or: locust -f loadtest/locustfile.py --host http://...

Every answer is checked: its status, its shape, and that it is what the same server answered when nobody else was there.
Too much work is refused with 429, which is counted apart and is no failure. The exit status tells whether the run kept
the objectives below.
"""

import json
import logging
import os
import random
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import gevent
from locust import FastHttpUser, between, events, task

from loadtest import shapes
from loadtest.expected import Expected
from loadtest.metrics_snapshot import MetricsSnapshot
from loadtest.texts import BATCH, PARAGRAPHS, SHORT, STORY

MAX_P95_MS = float(os.environ.get("LOADTEST_MAX_P95_MS", "5000"))
MAX_REFUSED = float(os.environ.get("LOADTEST_MAX_REFUSED", "1"))
"""Share of requests that may be refused with 429."""
MAX_GROWTH_MB = float(os.environ.get("LOADTEST_MAX_GROWTH_MB", "inf"))
"""How much the server's memory may grow between the middle of the run and its end."""
REFUSED = " (refused: 429)"
BROKEN: tuple[tuple[dict[str, object], int], ...] = (
    ({"text": "Yes."}, 422),
    ({"text": 5, "source": "en", "target": "de"}, 422),
    ({"text": "Yes.", "source": "en", "target": "xx"}, 422),
    ({"text": "Yes. " * 100_000, "source": "en", "target": "de"}, 413),
)
"""Bodies, and the status that each deserves."""
SNAPSHOT_SECONDS = 5.0
expected = Expected()
snapshots: list[MetricsSnapshot] = []


if "LOADTEST_SHAPE" in os.environ:
    # locust takes the class that it finds here.
    ChosenShape = shapes.SHAPES[os.environ["LOADTEST_SHAPE"]]


class CheckingUser(FastHttpUser):
    """Sends requests and checks what comes back."""

    abstract = True

    def send(self, method: str, path: str, name: str, problem_with: Any, **request: Any) -> Any:
        """The answer's JSON; None for one that is refused or bad."""
        with self.rest(method, path, name=name, **request) as response:
            if response.status_code == 429:
                response.request_meta["name"] = name + REFUSED
                response.success()
                return None
            problem = problem_with(response)
            if problem:
                response.failure(problem)
                return None
            response.success()
            return response.js

    def translate(self, texts: Sequence[str], name: str) -> None:
        body = {"text": list(texts), "source": "en", "target": "de"}
        self.send("POST", "/v1/translate", name, lambda response: problem_with(texts, response), json=body)


def problem_with(texts: Sequence[str], response: Any) -> str | None:
    """What is wrong with an answer, if anything."""
    if response.status_code != 200 or response.js is None:
        return f"status {response.status_code}"
    return expected.problem(texts, [one["text"] for one in response.js["translations"]])


class InteractiveUser(CheckingUser):
    """A person who types: a sentence or a few at a time."""

    weight = 6
    wait_time = between(0.05, 0.3)

    @task(3)
    def translate_sentence(self) -> None:
        self.translate([random.choice(SHORT)], "short text")

    @task
    def translate_paragraph(self) -> None:
        self.translate([random.choice(PARAGRAPHS)], "paragraph")


class BatchUser(CheckingUser):
    """A program with a list of fifty texts."""

    weight = 1
    wait_time = between(0.5, 2)

    @task
    def translate_list(self) -> None:
        self.translate(random.choices((*SHORT, *BATCH), k=50), "list of 50")


class DocumentUser(CheckingUser):
    """Works with documents: one that is translated as a whole and polled, one that grows. Both are deleted."""

    weight = 1
    wait_time = between(0.5, 1.5)

    @task
    def translate_document(self) -> None:
        name = self.create("offline", STORY, wait=False)
        while name is not None:
            found = self.send("GET", f"/v1/documents/{name}", "document: poll", problem_with_document)
            if found is None or found["state"] in ("done", "failed"):
                break
            self.wait()
        self.delete(name)

    @task
    def grow_document(self) -> None:
        count = random.randint(1, len(STORY) - 1)
        name = self.create("online", STORY[:count], wait=True)
        if name is not None:
            body = {"sentences": list(STORY[count:]), "first_index": count}
            self.send("POST", f"/v1/documents/{name}/sentences", "document: append", problem_with_document, json=body)
        self.delete(name)

    def create(self, mode: str, sentences: Sequence[str], wait: bool) -> str | None:
        """The new document's id; None if there is none."""
        body = {"sentences": list(sentences), "source": "en", "target": "de", "mode": mode, "wait": wait}
        found = self.send("POST", "/v1/documents", f"document: create {mode}", problem_with_document, json=body)
        return None if found is None else str(found["id"])

    def delete(self, name: str | None) -> None:
        if name is not None:
            with self.client.delete(f"/v1/documents/{name}", name="document: delete", catch_response=True) as response:
                if response.status_code != 204:
                    response.failure(f"status {response.status_code}")


def problem_with_document(response: Any) -> str | None:
    """What is wrong with an answer about a document, if anything."""
    if response.status_code not in (200, 202) or response.js is None:
        return f"status {response.status_code}"
    if response.js.get("state") == "failed":
        return f"the document has failed: {response.js['error']}"
    mode = response.js.get("mode", "online")
    problems = (expected.problem_with_sentence(mode, one) for one in response.js["sentences"])
    return next((problem for problem in problems if problem), None)


class RudeUser(CheckingUser):
    """Sends what is broken or too large, and hangs up in the middle of an answer."""

    weight = 1
    wait_time = between(0.5, 2)

    @task
    def send_something_broken(self) -> None:
        body, status = random.choice(BROKEN)

        def problem(response: Any) -> str | None:
            return None if response.status_code == status else f"status {response.status_code}, not {status}"

        self.send("POST", "/v1/translate", "broken", problem, json=body)

    @task
    def hang_up(self) -> None:
        body = json.dumps({"text": list(BATCH), "source": "en", "target": "de"}).encode()
        head = "POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        address = urlsplit(self.host or "")
        with socket.create_connection((address.hostname, address.port or 80), timeout=30) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            gevent.sleep(random.random() / 10)


def learn(environment: Any, **_: Any) -> None:
    """Ask the server before the run and its clock begin. Raises OSError when it does not answer."""
    expected.learn(environment.host)


def begin(environment: Any, **_: Any) -> None:
    gevent.spawn(watch, environment.host)


def watch(base: str) -> None:
    """Read what the server says of itself, as long as the run lasts."""
    while True:
        try:
            snapshots.append(MetricsSnapshot.of(base))
        except OSError as error:
            logging.warning("no reading: %s", error)
        gevent.sleep(SNAPSHOT_SECONDS)


def check_objectives(environment: Any, **_: Any) -> None:
    """Exit status 1 for a failed request, a slow 95th percentile, too many refusals, growing memory, or no traffic."""
    total = environment.stats.total
    p95 = total.get_response_time_percentile(0.95) or 0
    refused = sum(one.num_requests for name, one in named(environment.stats) if name.endswith(REFUSED))
    grown = 0.0
    if snapshots:
        snapshots.append(MetricsSnapshot.of(environment.host))
        print("the server says:", json.dumps(snapshots[-1].since(snapshots[0])))
        middle = snapshots[len(snapshots) // 2]
        grown = (snapshots[-1].resident_bytes - middle.resident_bytes) / 2**20
    problems = [
        told
        for is_missed, told in (
            (total.num_requests == 0, "no requests"),
            (total.num_failures > 0, f"{total.num_failures} of {total.num_requests} requests failed"),
            (p95 > MAX_P95_MS, f"p95 is {p95:.0f} ms, at most {MAX_P95_MS:.0f} are allowed"),
            (refused > MAX_REFUSED * total.num_requests, f"{refused} of {total.num_requests} requests were refused"),
            (grown > MAX_GROWTH_MB, f"memory grew by {grown:.0f} MiB in the second half"),
        )
        if is_missed
    ]
    for problem in problems:
        logging.error("objective missed: %s", problem)
    environment.process_exit_code = 1 if problems else 0


def named(stats: Any) -> list[tuple[str, Any]]:
    return [(name, entry) for (name, _), entry in stats.entries.items()]


events.init.add_listener(learn)
events.test_start.add_listener(begin)
events.quitting.add_listener(check_objectives)
