"""Probes a server from a separate process: python -m loadtest.hostile.probe HOST PORT LIVE_EVERY SENTENCE_EVERY

The last two are the seconds between a response and the next request for /livez and for a sentence.

Writes a line for every response: kind, start (time.monotonic), seconds, status (0: no response). PROBE_KEY is the key
for a server that requires keys. The process ends when its standard output is closed.
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

TIMEOUT_SECONDS = 60.0
NO_HEADERS: Mapping[str, str] = {}
WORDS = (
    ("old", "young", "tall", "kind", "tired", "rich", "poor", "quiet", "famous", "clever"),
    ("man", "woman", "doctor", "teacher", "farmer", "sister", "brother", "driver", "student", "neighbour"),
    ("sees", "likes", "buys", "finds", "paints", "sells", "knows", "wants", "needs", "loses"),
    ("house", "book", "table", "garden", "letter", "bottle", "window", "picture", "chair", "boat"),
)


def sentences() -> Iterator[str]:
    """Sentences of equal length that no cache contains."""
    combinations = list(itertools.product(*WORDS))
    random.Random(os.getpid()).shuffle(combinations)
    return (
        f"The {adjective} {noun} {verb} the {thing}." for adjective, noun, verb, thing in itertools.cycle(combinations)
    )


def main() -> None:
    host, port, live_every, sentence_every = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
    with contextlib.suppress(OSError):
        os.nice(-5)  # if permitted: time that this process waits for a processor would count as the server's
    lock = threading.Lock()

    def report(kind: str, began: float, status: int) -> None:
        with lock:
            print(kind, began, time.monotonic() - began, status, flush=True)

    def probe_sentences() -> None:
        key = os.environ.get("PROBE_KEY")
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        connection = KeptConnection(host, port)
        for text in sentences():
            body = json.dumps({"text": text, "source": "en", "target": "de"})
            report("sentence", *connection.send("POST", "/v1/translate", body, headers))
            time.sleep(sentence_every)

    threading.Thread(target=probe_sentences, daemon=True).start()
    connection = KeptConnection(host, port)
    with contextlib.suppress(BrokenPipeError):
        while True:
            report("live", *connection.send("GET", "/livez"))
            time.sleep(live_every)


class KeptConnection:
    """A persistent connection that is opened again after it was closed."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)

    def send(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] = NO_HEADERS
    ) -> tuple[float, int]:
        """Start of the request (time.monotonic), and the status."""
        began = time.monotonic()
        try:
            self._connection.request(method, path, body, dict(headers))
            response = self._connection.getresponse()
            response.read()
            return began, response.status
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return began, 0


if __name__ == "__main__":
    main()
