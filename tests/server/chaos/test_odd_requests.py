"""Odd requests of every kind, and repeated requests."""

import json
import random
from collections import Counter
from typing import Any

import httpx

from tests.models import SENTENCES
from tests.server.api.documents import STORY, Documents
from tests.server.chaos.wellbeing import assert_well, resident_bytes
from tests.server.processes import Served
from tests.server.scale import SCALE

SHORT: dict[str, Any] = {"source": "en", "target": "de", "max_length": 8, "beam_size": 1}
FLAT_BYTES = 8 * 2**20
"""Growth in bytes that repeated requests may cause; allocators are not exact."""


def odd_text(chance: random.Random) -> str:
    """Characters of every kind, markup, endless words, repetitions, control characters."""
    match chance.randrange(5):
        case 0:
            codes = [chance.randrange(0x110000) for _ in range(chance.randint(0, 60))]
            return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)
        case 1:
            return chance.choice("abc1.!?<>&{}%$\\\"'\u0301\u200d\u202e\ufeff\ufdfa") * chance.randint(1, 2000)
        case 2:
            return " ".join(chance.choices([*SENTENCES, "<b>", "</i>", "&amp;", "{0}", "%s", "\n", "\r\n", "\t"], k=12))
        case 3:
            return "".join(map(chr, range(chance.randint(0, 60))))
        case _:
            return "\U0001f468\u200d" * chance.randint(1, 100)


def odd_value(chance: random.Random) -> object:
    odd: list[object] = [None, True, -1, 0, 10**30, 1e308, "", "en", "de", "\x00", [], {}, [[]], ["a", None], {"a": {}}]
    return chance.choice([*odd, odd_text(chance)])


def odd_main_value(route: str, chance: random.Random) -> object:
    """An odd value of the right type."""
    if route != "/v1/score":
        return odd_text(chance)
    return [{"source": odd_text(chance), "target": [odd_text(chance)]} for _ in range(chance.randint(0, 3))]


ROUTES = {
    "/v1/translate": ("text", "source", "target", "beam_size", "max_length", "num_hypotheses", "context", "timeout"),
    "/v1/score": ("items", "source", "target", "tokens", "timeout"),
    "/v1/documents": ("sentences", "text", "source", "target", "mode", "wait", "beam_size"),
    "/translate": ("q", "source", "target", "format", "alternatives", "api_key"),
    "/detect": ("q",),
    "/v2/translate": ("text", "target_lang", "source_lang", "context", "split_sentences", "tag_handling"),
}


def test_odd_input_of_every_kind_on_every_route(served: Served) -> None:
    chance = random.Random(1)
    statuses: Counter[int] = Counter()
    with served.client() as client:
        for route, names in ROUTES.items():
            for _ in range(12 * SCALE):
                how_odd = chance.choice([0.0, 0.2, 0.9])  # what is refused at once tries nothing else
                fields = {name: odd_value(chance) for name in names if chance.random() < how_odd}
                fields |= {"source": "en", "target": "de"} if route != "/v2/translate" and chance.random() < 0.7 else {}
                fields |= {names[0]: odd_main_value(route, chance)} if chance.random() < 0.7 else {}
                fields |= {"target_lang": "DE"} if route == "/v2/translate" and chance.random() < 0.7 else {}
                body = json.dumps(fields).encode()
                if chance.random() < 0.1:
                    body = body[: chance.randrange(len(body))] + chance.randbytes(3)
                kind = chance.choice(
                    ["application/json"] * 6 + ["application/x-www-form-urlencoded", "text/plain", "\xff"]
                )
                answer = client.post(route, content=body, headers=[(b"Content-Type", kind.encode("latin-1"))])
                assert answer.status_code < 500, (route, body[:500], answer.text)
                statuses[answer.status_code] += 1
    assert_well(served)
    print(f"{statuses.total()} odd requests, by status {dict(sorted(statuses.items()))}")


def test_the_same_request_again_and_again_takes_no_memory(served: Served) -> None:
    """Translations, deleted documents and errors release their memory."""

    def ask(client: httpx.Client) -> None:
        assert client.post("/v1/translate", json={"text": "We walk home in the rain.", **SHORT}).status_code == 200
        assert client.post("/v1/translate", json={"text": "?"}).status_code == 422
        assert client.get("/v1/documents/nobody").status_code == 404

    def grow(client: httpx.Client) -> None:
        made = Documents(client).post(sentences=STORY[:2], max_length=4)
        assert client.delete(f"/v1/documents/{made['id']}").status_code == 204

    with served.client() as client:
        for _ in range(60):
            ask(client)
        for _ in range(10):
            grow(client)
        before = resident_bytes(served)
        for _ in range(100 * SCALE):
            ask(client)
        for _ in range(10 * SCALE):
            grow(client)
    after = resident_bytes(served)
    grown = (after - before) / 2**20
    print(f"{300 * SCALE} requests and {10 * SCALE} documents: {before / 2**20:.1f} MiB before, {grown:+.1f} after")
    assert after - before < FLAT_BYTES
