"""Trying to break a server. The suite runs every attempt in its short form; `make chaos` sets CHAOS_SCALE and runs each
so many times longer, and shows what each says in the end: server/PROMISES.md has these figures."""

import contextlib
import json
import random
import re
import resource
import select
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.documents.stores import redis as redis_store
from server.documents.stores.sqlite import SqliteStore
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, ready, settings_for, until
from tests.server.api.documents import STORY, Documents, translations
from tests.server.api.test_connections import rest_of
from tests.server.processes import Served, serving
from tests.server.redis_server import free_port, redis_process
from tests.server.scale import SCALE

MANY = [SENTENCES[index % 7] for index in range(200)]
SHORT: dict[str, Any] = {"source": "en", "target": "de", "max_length": 8, "beam_size": 1}
FLAT_BYTES = 8 * 2**20
"""How much a process may grow while it answers what it has answered before; allocators are not exact."""

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture(scope="module")
def kept_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server keeps its documents."""
    return tmp_path_factory.mktemp("chaos")


@pytest.fixture(scope="module")
def served(document_artifact: Path, kept_in: Path) -> Iterator[Served]:
    """A server process with documents in a file."""
    flags = ["--context-store", f"sqlite:///{kept_in}/documents.db", "--document-lease", "1", "--log-level", "error"]
    flags += ["--translation-cache-bytes", "0"]  # the same request is work every time
    with serving(document_artifact, *flags) as served:
        yield served
        assert_well(served)


def assert_well(served: Served) -> None:
    """It lives, every slot is free, nothing waits, and it translates."""
    assert served.status("/livez") == 200
    for gauge in ("running_sentences", "queue_depth", "queue_tokens", "requests_in_progress", "ring_cache_used_slots"):
        until(lambda gauge=gauge: served.metric(gauge) == 0, f"{gauge} is 0")  # type: ignore[misc]
    assert served.translate("Yes.").status_code == 200


def resident_bytes(served: Served) -> int:
    text = Path(f"/proc/{served.process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert found is not None
    return int(found[1]) * 1024


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
    """What a route is about: odd, but of the right type."""
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
    """Translations, documents that are deleted, errors: their memory comes back."""

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


def test_clients_that_hang_up_leave_no_slot_taken(served: Served) -> None:
    chance = random.Random(2)
    body = json.dumps({"text": " ".join(SENTENCES * 20), "source": "en", "target": "de"}).encode()
    head = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"

    def hang_up(seed: int) -> None:
        with contextlib.closing(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE)) as connection:
            whole = (head % len(body)) + body
            connection.sendall(whole[: random.Random(seed).choice([10, len(head) + 9, len(whole), len(whole)])])
            time.sleep(random.Random(seed).random() / 20)
            match seed % 3:
                case 0:  # a reset instead of a farewell
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                case 1:  # half-closed: it only listens any more
                    connection.shutdown(socket.SHUT_WR)
                    rest_of(connection)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hang_up, [chance.randrange(10**6) for _ in range(20 * SCALE)]))
    assert_well(served)
    dropped = served.metric("requests_cancelled_total")
    print(f"{20 * SCALE} clients hung up, {dropped:.0f} sentences were dropped, every slot is free")


def test_many_connections_that_say_nothing_keep_nobody_out(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(50 * min(SCALE, 15)):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE))
            connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"[: number % 40])
        assert served.translate("Yes.").status_code == 200
    assert_well(served)


def test_connections_that_trickle_end_and_keep_nobody_out(served: Served) -> None:
    """A byte now and then, for ever: heads have their ten seconds, bodies the request's deadline."""
    count = 10 * min(SCALE, 20)
    body = b"Content-Type: application/json\r\nX-Request-Timeout: 1\r\nContent-Length: 9999\r\n\r\n"
    begin = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"
    before = open_files(served)
    with contextlib.ExitStack() as stack:
        trickling: dict[socket.socket, bytes] = {}
        for number in range(count):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE))
            connection.sendall(begin + body if number % 2 else begin)
            trickling[connection] = b"504" if number % 2 else b"408"
        ended: Counter[bytes] = Counter()
        give_up = time.monotonic() + PATIENCE
        while trickling:
            assert time.monotonic() < give_up, "some trickle on"
            assert served.translate("Yes.").status_code == 200
            told, _, _ = select.select(list(trickling), [], [], 0.1)
            for connection in told:
                assert connection.recv(100).split()[1] == trickling.pop(connection)
                ended[b"told"] += 1
            for connection in trickling:
                with contextlib.suppress(OSError):
                    connection.sendall(b"x")
    until(lambda: open_files(served) <= before, "every connection is closed")
    assert_well(served)
    print(f"{ended.total()} connections that trickled were ended, others were served meanwhile")


def open_files(served: Served) -> int:
    return len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))


def test_a_full_disk_costs_no_document_and_no_translation(served: Served, kept_in: Path) -> None:
    """No file may grow further, as on a full disk. Then there is room again."""
    with served.client() as client:
        kept = Documents(client).post(sentences=STORY, max_length=4)
        for _ in range(SCALE):
            largest = max(path.stat().st_size for path in kept_in.iterdir())
            resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
            try:
                body = {"sentences": STORY * 200, "source": "en", "target": "de", "wait": True}
                refused = client.post("/v1/documents", json=body)
                assert (refused.status_code, refused.json()["error"]["type"]) == (503, "not_ready")
                assert Documents(client).get(kept["id"])["sentences"] == kept["sentences"]
                assert served.translate("Yes.").status_code == 200
            finally:
                limits = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
                resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, limits)
            assert Documents(client).get(kept["id"])["sentences"] == kept["sentences"]
            again = Documents(client).post(sentences=STORY, max_length=4)
            assert translations(again) == translations(kept)
    assert_well(served)
    print(f"{SCALE} times no room: the document was read, and nothing of it lost")


def test_killed_again_and_again_a_document_is_whole(served: Served) -> None:
    """Every death comes after something was written, or the document would be given up as one that kills. Before that
    all of its sentences are read: longer documents would take a busy machine longer than anybody waits."""
    rounds, kills, killed = max(1, SCALE // 8), min(SCALE, 8), 0
    sources = MANY * (2 if kills == 1 else 3)
    with served.client() as client:
        for _ in range(rounds):
            name = Documents(client).post(202, sentences=sources, wait=False, **SHORT)["id"]
            done = 0.0
            for _ in range(kills):
                until(lambda name=name, done=done: Documents(client).get(name)["progress"] > done, "more is translated")  # type: ignore[misc]
                served.kill()
                served.restart()
                until(served.answers, "it is back")
                killed += 1
                done = Documents(client).get(name)["progress"]
                if done == 1:  # it was faster than the last look at it
                    break
            found = Documents(client).done(name)
            assert [(one["index"], one["source"]) for one in found["sentences"]] == list(enumerate(sources))
            again = Documents(client).post(202, sentences=sources, wait=False, **SHORT)["id"]
            assert translations(Documents(client).done(again)) == translations(found)
    print(f"{killed} times killed, {rounds} documents: {len(sources)} sentences, each once, as without")


@pytest.mark.parametrize("death", ["killed", "hanging"])
def test_a_redis_that_goes_away_and_comes_back(
    document_artifact: Path, tmp_path: Path, death: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Translations go on without it, documents answer 503, and go on when it is back."""
    if death == "hanging":  # one that is killed refuses at once, and on a busy machine a write to the disk takes long
        monkeypatch.setattr(redis_store, "TIMEOUT_SECONDS", 0.5 if SCALE == 1 else 2.0)
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    with contextlib.ExitStack() as stack:
        redis = stack.enter_context(redis_process(tmp_path, port, *DURABLE))
        server = stack.enter_context(ready(settings_for(document_artifact, context_store=url, document_lease=1.0)))
        client = stack.enter_context(server.client())
        kept = Documents(client).post(sentences=STORY, max_length=4)
        for _ in range(min(SCALE, 30)):
            name = Documents(client).post(202, sentences=MANY, wait=False, **SHORT)["id"]
            redis.send_signal(signal.SIGKILL if death == "killed" else signal.SIGSTOP)
            until(lambda: client.get(f"/v1/documents/{kept['id']}").status_code == 503, "documents are not there")
            answer = client.get(f"/v1/documents/{kept['id']}")
            assert answer.json()["error"]["type"] == "not_ready"
            assert "Retry-After" in answer.headers
            assert server.translate("Yes.").status_code == 200
            assert client.get("/livez").status_code == 200
            if death == "killed":
                redis = stack.enter_context(redis_process(tmp_path, port, *DURABLE))
            else:
                redis.send_signal(signal.SIGCONT)
            until(lambda: client.get(f"/v1/documents/{kept['id']}").status_code == 200, "documents are back")
            assert Documents(client).get(kept["id"])["sentences"] == kept["sentences"]
            done = Documents(client).done(name)
            assert [one["source"] for one in done["sentences"]] == MANY
        until(lambda: server.sentences == 0, "every slot is free")
        print(f"Redis {death} {min(SCALE, 30)} times: no document lost, no translation refused")


def test_many_who_wait_for_a_redis_that_hangs_hold_up_nobody_else(
    document_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Languages are told and long texts are cut in threads; those that wait for the store are others."""
    monkeypatch.setattr(redis_store, "TIMEOUT_SECONDS", 2 * PATIENCE)
    port, readers = free_port(), 40  # more than asyncio has threads
    with contextlib.ExitStack() as stack:
        redis = stack.enter_context(redis_process(tmp_path, port, "--appendonly", "no"))
        url = f"redis://127.0.0.1:{port}/0"
        server = stack.enter_context(ready(settings_for(document_artifact, context_store=url)))
        client = stack.enter_context(server.client())
        name = Documents(client).post(sentences=STORY[:2], max_length=4)["id"]
        pool = stack.enter_context(ThreadPoolExecutor(readers))
        redis.send_signal(signal.SIGSTOP)
        stack.callback(redis.send_signal, signal.SIGCONT)
        reading = [pool.submit(client.get, f"/v1/documents/{name}") for _ in range(readers)]
        until(lambda: len(server.uvicorn.server_state.tasks) >= readers, "all of them wait")
        assert client.post("/detect", json={"q": "The rain stops."}).status_code == 200
        assert server.translate("Yes." + "\n" * 12_000 + "No.", **SHORT).status_code == 200
        assert not any(one.done() for one in reading)
        redis.send_signal(signal.SIGCONT)
        assert {one.result(PATIENCE).status_code for one in reading} == {200}


def test_clocks_that_jump_cost_nothing(document_artifact: Path, tmp_path: Path) -> None:
    """Leases are in the time of day, which somebody sets; deadlines are not. Documents are whole, whatever the time."""
    settings = settings_for(document_artifact, context_store=f"sqlite:///{tmp_path}/documents.db", document_lease=0.3)
    chance = random.Random(3)
    offset, jumps = 0.0, 0
    with ready(settings) as server, server.client() as client:
        store = server.state.documents.store
        assert isinstance(store, SqliteStore)
        store._clock = lambda: time.time() + offset
        whole = translations(Documents(client).post(sentences=MANY, **SHORT))
        for _ in range(2 * SCALE):
            name = Documents(client).post(202, sentences=MANY, wait=False, **SHORT)["id"]
            while Documents(client).get(name)["state"] not in ("done", "failed"):
                offset, jumps = chance.choice([0.0, 86_400.0, -86_400.0, 1.0, -1.0]), jumps + 1
                answer = client.post(
                    "/v1/translate", json={"text": "Yes.", **SHORT}, headers={"X-Request-Timeout": "50"}
                )
                assert answer.status_code == 200
            assert translations(Documents(client).done(name)) == whole
        print(f"{jumps} jumps of the clock during {2 * SCALE} documents: all whole")
