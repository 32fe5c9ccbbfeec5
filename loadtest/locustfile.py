"""Users of a RingMT server. Run by `make loadtest`, or: locust -f loadtest/locustfile.py --host http://...

Every answer is checked: its status, its shape, and that the same text always gets the same translation, whatever else
is being translated at that moment. The exit status tells whether the run kept the objectives below.
"""

import logging
import os
import random
from collections.abc import Sequence
from typing import Any

from locust import FastHttpUser, between, events, task

from loadtest.texts import PARAGRAPHS, SHORT, STORY

MAX_P95_MS = float(os.environ.get("LOADTEST_MAX_P95_MS", "5000"))
first_answers: dict[str, str] = {}


class TranslatingUser(FastHttpUser):
    """Sends texts and checks what comes back."""

    abstract = True

    def translate(self, text: str, name: str) -> None:
        body = {"text": text, "source": "en", "target": "de"}
        with self.rest("POST", "/v1/translate", json=body, name=name) as response:
            check_answer(text, response)


def check_answer(text: str, response: Any) -> None:
    """Mark a wrong answer as a failure."""
    problem = problem_with(text, response)
    if problem:
        response.failure(problem)


def problem_with(text: str, response: Any) -> str | None:
    """What is wrong with an answer, if anything."""
    if response.status_code != 200 or response.js is None:
        return f"status {response.status_code}"
    (translation,) = response.js["translations"]
    if not translation["text"].strip() or not translation["sentences"]:
        return "an empty translation"
    return as_before(text, translation["text"])


def as_before(text: str, translation: str) -> str | None:
    """A problem if the same text was translated otherwise before."""
    if first_answers.setdefault(text, translation) != translation:
        return f"another translation than before for {text!r}"
    return None


class ShortTextUser(TranslatingUser):
    """One short sentence at a time."""

    weight = 6
    wait_time = between(0.05, 0.3)

    @task
    def translate_sentence(self) -> None:
        self.translate(random.choice(SHORT), "short text")


class ParagraphUser(TranslatingUser):
    """A few sentences at a time."""

    weight = 2
    wait_time = between(0.2, 0.6)

    @task
    def translate_paragraph(self) -> None:
        self.translate(random.choice(PARAGRAPHS), "paragraph")


class DocumentUser(FastHttpUser):
    """Lives with documents: one that is translated as a whole and polled, one that grows. Both are deleted."""

    weight = 1
    wait_time = between(0.5, 1.5)

    @task
    def translate_document(self) -> None:
        name = self.create("offline", STORY, wait=False)
        while name is not None:
            found = self.ask("GET", f"/v1/documents/{name}", "document: poll")
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
            self.ask("POST", f"/v1/documents/{name}/sentences", "document: append", json=body)
        self.delete(name)

    def create(self, mode: str, sentences: Sequence[str], wait: bool) -> str | None:
        """The new document's id; None if there is none."""
        body = {"sentences": list(sentences), "source": "en", "target": "de", "mode": mode, "wait": wait}
        found = self.ask("POST", "/v1/documents", f"document: create {mode}", json=body)
        return None if found is None else str(found["id"])

    def delete(self, name: str | None) -> None:
        if name is not None:
            with self.client.delete(f"/v1/documents/{name}", name="document: delete", catch_response=True) as response:
                if response.status_code != 204:
                    response.failure(f"status {response.status_code}")

    def ask(self, method: str, path: str, name: str, **request: Any) -> Any:
        """The answer, None for a bad one. Sentences that are translated must be so as the first time."""
        with self.rest(method, path, name=name, **request) as response:
            problem = problem_with_document(response)
            if problem:
                response.failure(problem)
                return None
            return response.js


def problem_with_document(response: Any) -> str | None:
    """What is wrong with an answer about a document, if anything."""
    if response.status_code not in (200, 202) or response.js is None:
        return f"status {response.status_code}"
    if response.js.get("state") == "failed":
        return f"the document has failed: {response.js['error']}"
    mode = response.js.get("mode", "online")
    for sentence in response.js["sentences"]:
        if not sentence["pending"]:
            problem = as_before(f"{mode} {sentence['index']} {sentence['source']}", sentence["translation"])
            if problem:
                return problem
    return None


def check_objectives(environment: Any, **_: Any) -> None:
    """Exit status 1 for a failed request, a slow 95th percentile, or no traffic at all."""
    total = environment.stats.total
    p95 = total.get_response_time_percentile(0.95) or 0
    if total.num_requests == 0 or total.num_failures > 0 or p95 > MAX_P95_MS:
        logging.error("%d requests, %d failures, p95 %.0f ms", total.num_requests, total.num_failures, p95)
        environment.process_exit_code = 1


events.quitting.add_listener(check_objectives)
