"""Users of a RingMT server. Run by `make loadtest`, or: locust -f loadtest/locustfile.py --host http://...

Every answer is checked: its status, its shape, and that the same text always gets the same translation, whatever else
is being translated at that moment. The exit status tells whether the run kept the objectives below.
"""

import logging
import os
import random
from typing import Any

from locust import FastHttpUser, between, events, task

from loadtest.texts import PARAGRAPHS, SHORT

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
    if first_answers.setdefault(text, translation["text"]) != translation["text"]:
        return f"another translation than before for {text!r}"
    return None


class ShortTextUser(TranslatingUser):
    """One short sentence at a time."""

    weight = 3
    wait_time = between(0.05, 0.3)

    @task
    def translate_sentence(self) -> None:
        self.translate(random.choice(SHORT), "short text")


class ParagraphUser(TranslatingUser):
    """A few sentences at a time."""

    weight = 1
    wait_time = between(0.2, 0.6)

    @task
    def translate_paragraph(self) -> None:
        self.translate(random.choice(PARAGRAPHS), "paragraph")


def check_objectives(environment: Any, **_: Any) -> None:
    """Exit status 1 for a failed request, a slow 95th percentile, or no traffic at all."""
    total = environment.stats.total
    p95 = total.get_response_time_percentile(0.95) or 0
    if total.num_requests == 0 or total.num_failures > 0 or p95 > MAX_P95_MS:
        logging.error("%d requests, %d failures, p95 %.0f ms", total.num_requests, total.num_failures, p95)
        environment.process_exit_code = 1


events.quitting.add_listener(check_objectives)
