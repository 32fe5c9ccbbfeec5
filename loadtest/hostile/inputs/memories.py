"""Imports of translation memories, and lookups in large ones."""

import json
import time
from collections.abc import Sequence

from loadtest.hostile.attempt import Address, Answers, Attempt, hostile_input, scaled
from loadtest.hostile.sending import Reply, multipart, send_request

PATH = "/v1/translation_memories"
JSON = {"Content-Type": "application/json"}
LONGEST = 3900
"""Characters of a source; a memory keeps up to 4,000."""
WORDS = (
    "we",
    "walk",
    "home",
    "along",
    "the",
    "river",
    "and",
    "look",
    "for",
    "a",
    "place",
    "where",
    "ships",
    "are",
    "built",
)


def long_source(number: int) -> str:
    """A source of LONGEST characters; all have the same words, in an order of their own."""
    words: list[str] = [f"{number:x}"]
    length = len(words[0])
    while length < LONGEST - 12:
        words.append(WORDS[(number * len(words) + len(words)) % len(WORDS)])
        length += 1 + len(words[-1])
    return " ".join(words)


def imported(name: str, data: bytes, texts: Sequence[str] = ()) -> Attempt:
    """Make a memory, import a file, translate texts with similar entries from a likeness of 1% on, delete it."""
    body, kind = multipart({}, (name, data))

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds

        def post(path: str, content: bytes, kind: str = JSON["Content-Type"]) -> Reply:
            left = max(0.1, deadline - time.monotonic())
            return send_request(address, left, "POST", path, content, {"Content-Type": kind})

        made = post(PATH, json.dumps({"name": "hostile", "source": "en", "target": "de"}).encode())
        memory = f"{PATH}/{made.json().get('id')}"
        statuses = [made.label, post(f"{memory}/import", body, kind).label]
        if texts:
            fields = {"text": list(texts), "source": "en", "target": "de"}
            use = {"translation_memory_id": memory.rpartition("/")[2], "translation_memory_threshold": 1}
            statuses.append(post("/v1/translate", json.dumps({**fields, **use}).encode()).label)
        statuses.append(send_request(address, 10, "DELETE", memory).label)
        return Answers.of(*statuses)

    return Attempt(len(body), send)


def tmx(units: str) -> bytes:
    return f'<?xml version="1.0"?><tmx version="1.4"><header/><body>{units}</body></tmx>'.encode()


def unit(source: str, target: str) -> str:
    return f"<tu>{variant('en', source)}{variant('de', target)}</tu>"


def variant(language: str, text: str) -> str:
    return f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>'


@hostile_input("memory: import of ordinary TMX", ordinary=True)
def ordinary_tmx(share: float) -> Attempt:
    """20,000 units of TMX, then a text is looked up."""
    units = "".join(
        unit(f"We walk home {number} times.", f"Wir gehen {number} Mal heim.")
        for number in range(scaled(20_000, share))
    )
    return imported("a.tmx", tmx(units), ["We walk home 7 times a day."])


@hostile_input("memory: TMX with one long target of many sources")
def one_target(share: float) -> Attempt:
    """A unit of TMX whose 60,000 sources have one target of 4,000 characters: 240 MB of entries."""
    sources = "".join(variant("en", f"s{number}") for number in range(scaled(60_000, share)))
    return imported("a.tmx", tmx(f"<tu>{sources}{variant('de', 'z' * 4000)}</tu>"))


@hostile_input("memory: TMX with made-up words")
def made_up_words(share: float) -> Attempt:
    """5,000 units of TMX whose sources have 500 different words each, which no other has."""
    units = "".join(
        unit(" ".join(f"{number:x}q{word:x}" for word in range(500)), "ja") for number in range(scaled(5_000, share))
    )
    return imported("a.tmx", tmx(units), ["1q1 2q2 3q3"])


@hostile_input("memory: CSV with an open quote")
def open_quote(share: float) -> Attempt:
    """20 MB of CSV whose first quote is never closed."""
    return imported("a.csv", b'"' + b'We walk home,"",' * scaled(1_250_000, share))


@hostile_input("memory: long sentences looked up among long similar ones")
def long_lookups(share: float) -> Attempt:
    """4,000 entries of 3,900 characters with the same words; 8 texts like them ask for similar entries."""
    lines = "".join(f"{long_source(number)},ja\n" for number in range(scaled(4_000, share)))
    return imported("a.csv", lines.encode(), [long_source(10**6 + number) for number in range(8)])
