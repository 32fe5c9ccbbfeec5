"""Users of a RingMT server. Run by `make loadtest`, or: locust -f loadtest/locustfile.py --host http://...

Every response is checked: its status, its shape, and that its translations are those of the same server when idle. An
overloaded server refuses requests with 429, which is counted separately and is no failure. The exit status is 1 if an
objective below is missed.
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
"""Share of requests that may be refused with 429, at most."""
MAX_GROWTH_MB = float(os.environ.get("LOADTEST_MAX_GROWTH_MB", "inf"))
"""Growth of the server's memory between the middle and the end of the run, at most."""
REFUSED = " (refused: 429)"
INVALID_BODIES: tuple[tuple[dict[str, object], int], ...] = (
    ({"text": "Yes."}, 422),
    ({"text": 5, "source": "en", "target": "de"}, 422),
    ({"text": "Yes.", "source": "en", "target": "xx"}, 422),
    ({"text": "Yes. " * 100_000, "source": "en", "target": "de"}, 413),
)
"""Bodies, and the expected status of each."""
SNAPSHOT_SECONDS = 5.0
expected = Expected()
snapshots: list[MetricsSnapshot] = []


if "LOADTEST_SHAPE" in os.environ:
    # locust uses the shape class of this module.
    ChosenShape = shapes.SHAPES[os.environ["LOADTEST_SHAPE"]]


class CheckingUser(FastHttpUser):
    """Sends requests and checks the responses."""

    abstract = True

    def send(self, method: str, path: str, name: str, find_problem: Any, **request: Any) -> Any:
        """The JSON of the response; None if the request is refused or the response has a problem."""
        with self.rest(method, path, name=name, **request) as response:
            if response.status_code == 429:
                response.request_meta["name"] = name + REFUSED
                response.success()
                return None
            problem = find_problem(response)
            if problem:
                response.failure(problem)
                return None
            response.success()
            return response.js

    def translate(self, texts: Sequence[str], name: str) -> None:
        body = {"text": list(texts), "source": "en", "target": "de"}
        self.send("POST", "/v1/translate", name, lambda response: find_problem(texts, response), json=body)


def find_problem(texts: Sequence[str], response: Any) -> str | None:
    """The problem of a response with translations, or None."""
    if response.status_code != 200 or response.js is None:
        return f"status {response.status_code}"
    return expected.find_problem(texts, [translation["text"] for translation in response.js["translations"]])


class InteractiveUser(CheckingUser):
    """A person who types: one or a few sentences at a time."""

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
    """A client with a document that is translated whole and polled, and a document that grows; both are deleted."""

    weight = 1
    wait_time = between(0.5, 1.5)

    @task
    def translate_document(self) -> None:
        name = self.create("offline", STORY, wait=False)
        while name is not None:
            document = self.send("GET", f"/v1/documents/{name}", "document: poll", find_document_problem)
            if document is None or document["state"] in ("done", "failed"):
                break
            self.wait()
        self.delete(name)

    @task
    def grow_document(self) -> None:
        count = random.randint(1, len(STORY) - 1)
        name = self.create("online", STORY[:count], wait=True)
        if name is not None:
            body = {"sentences": list(STORY[count:]), "first_index": count}
            self.send("POST", f"/v1/documents/{name}/sentences", "document: append", find_document_problem, json=body)
        self.delete(name)

    def create(self, mode: str, sentences: Sequence[str], wait: bool) -> str | None:
        """The id of the new document; None if it is not created."""
        body = {"sentences": list(sentences), "source": "en", "target": "de", "mode": mode, "wait": wait}
        document = self.send("POST", "/v1/documents", f"document: create {mode}", find_document_problem, json=body)
        return None if document is None else str(document["id"])

    def delete(self, name: str | None) -> None:
        if name is not None:
            with self.client.delete(f"/v1/documents/{name}", name="document: delete", catch_response=True) as response:
                if response.status_code != 204:
                    response.failure(f"status {response.status_code}")


def find_document_problem(response: Any) -> str | None:
    """The problem of a response with a document, or None."""
    if response.status_code not in (200, 202) or response.js is None:
        return f"status {response.status_code}"
    if response.js.get("state") == "failed":
        return f"the document has failed: {response.js['error']}"
    mode = response.js.get("mode", "online")
    problems = (expected.find_sentence_problem(mode, sentence) for sentence in response.js["sentences"])
    return next((problem for problem in problems if problem), None)


class RudeUser(CheckingUser):
    """Sends invalid and oversized requests, and disconnects in the middle of a response."""

    weight = 1
    wait_time = between(0.5, 2)

    @task
    def send_invalid_body(self) -> None:
        body, status = random.choice(INVALID_BODIES)

        def problem(response: Any) -> str | None:
            return None if response.status_code == status else f"status {response.status_code}, not {status}"

        self.send("POST", "/v1/translate", "broken", problem, json=body)

    @task
    def disconnect(self) -> None:
        body = json.dumps({"text": list(BATCH), "source": "en", "target": "de"}).encode()
        head = "POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        address = urlsplit(self.host or "")
        with socket.create_connection((address.hostname, address.port or 80), timeout=30) as connection:
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            gevent.sleep(random.random() / 10)


def request_expected(environment: Any, **_: Any) -> None:
    """Request the expected translations before the run begins. Raises OSError if the server does not answer."""
    expected.learn(environment.host)


def start_watching(environment: Any, **_: Any) -> None:
    gevent.spawn(watch, environment.host)


def watch(base: str) -> None:
    """Read the server's metrics every SNAPSHOT_SECONDS until the run ends."""
    while True:
        try:
            snapshots.append(MetricsSnapshot.read(base))
        except OSError as error:
            logging.warning("cannot read metrics: %s", error)
        gevent.sleep(SNAPSHOT_SECONDS)


def check_objectives(environment: Any, **_: Any) -> None:
    """Exit status 1 for a failed request, a slow 95th percentile, too many refusals, growing memory, or no requests."""
    total = environment.stats.total
    p95 = total.get_response_time_percentile(0.95) or 0
    refused = sum(
        entry.num_requests for (name, _), entry in environment.stats.entries.items() if name.endswith(REFUSED)
    )
    growth = 0.0
    if snapshots:
        snapshots.append(MetricsSnapshot.read(environment.host))
        print("server metrics:", json.dumps(snapshots[-1].since(snapshots[0])))
        middle = snapshots[len(snapshots) // 2]
        growth = (snapshots[-1].resident_bytes - middle.resident_bytes) / 2**20
    problems = [
        message
        for is_missed, message in (
            (total.num_requests == 0, "no requests"),
            (total.num_failures > 0, f"{total.num_failures} of {total.num_requests} requests failed"),
            (p95 > MAX_P95_MS, f"p95 is {p95:.0f} ms, at most {MAX_P95_MS:.0f} are allowed"),
            (refused > MAX_REFUSED * total.num_requests, f"{refused} of {total.num_requests} requests were refused"),
            (growth > MAX_GROWTH_MB, f"memory grew by {growth:.0f} MiB in the second half"),
        )
        if is_missed
    ]
    for problem in problems:
        logging.error("objective missed: %s", problem)
    environment.process_exit_code = 1 if problems else 0


events.init.add_listener(request_expected)
events.test_start.add_listener(start_watching)
events.quitting.add_listener(check_objectives)
