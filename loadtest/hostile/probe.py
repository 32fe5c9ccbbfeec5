"""A process of its own that asks a server for signs of life: python -m loadtest.hostile.probe HOST PORT

Writes a line for every answer: what was asked, when (time.monotonic), seconds, status (0: none). The key of a server
that asks for keys comes in the variable PROBE_KEY. It ends when its standard output is closed.
"""

import contextlib
import http.client
import itertools
import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterator, Mapping

LIVE_EVERY, SENTENCE_EVERY = 0.01, 0.05
"""Seconds between an answer and the next question."""
MOST_SECONDS = 60.0
NO_HEADERS: Mapping[str, str] = {}
WORDS = (
    ("old", "young", "tall", "kind", "tired", "rich", "poor", "quiet", "famous", "clever"),
    ("man", "woman", "doctor", "teacher", "farmer", "sister", "brother", "driver", "student", "neighbour"),
    ("sees", "likes", "buys", "finds", "paints", "sells", "knows", "wants", "needs", "loses"),
    ("house", "book", "table", "garden", "letter", "bottle", "window", "picture", "chair", "boat"),
)


def sentences() -> Iterator[str]:
    """Sentences of the same length that no cache has seen."""
    every = list(itertools.product(*WORDS))
    random.Random(os.getpid()).shuffle(every)
    return (f"The {who} {noun} {does} the {what}." for who, noun, does, what in itertools.cycle(every))


def main() -> None:
    host, port = sys.argv[1], int(sys.argv[2])
    with contextlib.suppress(OSError):
        os.nice(-5)  # where that is allowed: what waits for the processor here would count as the server's time
    writing = threading.Lock()

    def say(kind: str, began: float, status: int) -> None:
        with writing:
            print(kind, began, time.monotonic() - began, status, flush=True)

    def ask_for_sentences() -> None:
        key = os.environ.get("PROBE_KEY")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        connection = KeptConnection(host, port)
        for text in sentences():
            body = json.dumps({"text": text, "source": "en", "target": "de"})
            say("sentence", *connection.send_request("POST", "/v1/translate", body, headers))
            time.sleep(SENTENCE_EVERY)

    threading.Thread(target=ask_for_sentences, daemon=True).start()
    connection = KeptConnection(host, port)
    with contextlib.suppress(BrokenPipeError):
        while True:
            say("live", *connection.send_request("GET", "/livez"))
            time.sleep(LIVE_EVERY)


class KeptConnection:
    """A connection that is kept, and opened again when it was closed."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=MOST_SECONDS)

    def send_request(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] = NO_HEADERS
    ) -> tuple[float, int]:
        """When it was asked, and the status."""
        began = time.monotonic()
        try:
            self._connection.request(method, path, body, dict(headers))
            answer = self._connection.getresponse()
            answer.read()
            return began, answer.status
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return began, 0


if __name__ == "__main__":
    main()
