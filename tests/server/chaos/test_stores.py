"""Stores that are full, crash, hang or recover, and clocks that are changed."""

import contextlib
import random
import resource
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.stores import redis as redis_store
from server.stores.sqlite import SqliteStore
from tests.server.api.conftest import PATIENCE, ready, settings_for, until
from tests.server.api.documents import MANY, STORY, Documents, checked, translations
from tests.server.chaos.conftest import serving_documents
from tests.server.chaos.wellbeing import assert_well
from tests.server.processes import Served
from tests.server.redis_server import free_port, redis_process
from tests.server.scale import SCALE

SHORT: dict[str, Any] = {"source": "en", "target": "de", "max_length": 8, "beam_size": 1}
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


@contextlib.contextmanager
def no_room(served: Served, most: int) -> Iterator[None]:
    """Within the block no file of the server may grow beyond `most` bytes, as on a full disk."""
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # it was killed meanwhile
            unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, unlimited)


def glossary(entries: int) -> dict[str, str]:
    tsv = "\n".join(f"word {number}\tWort {number} {'x' * 100}" for number in range(entries))
    return {"name": "a", "source_lang": "en", "target_lang": "de", "entries": tsv, "entries_format": "tsv"}


def size_of(kept_in: Path, which: str) -> int:
    """Bytes of a file of the store."""
    match which:
        case "largest":
            return max(path.stat().st_size for path in kept_in.iterdir())
        case "log":  # what SQLite writes first
            return (kept_in / "documents.db-wal").stat().st_size
        case _:
            return 0


@pytest.fixture(scope="module")
def kept_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the store of `small_store`."""
    return tmp_path_factory.mktemp("small")


@pytest.fixture(scope="module")
def small_store(document_artifact: Path, kept_in: Path) -> Iterator[Served]:
    """A server process whose store has no large documents, not even deleted ones, whose room others could take."""
    with serving_documents(document_artifact, kept_in) as served:
        yield served


@pytest.mark.parametrize("most", ["largest", "log", "nothing"])
def test_a_full_disk_costs_no_document_no_glossary_and_no_translation(
    small_store: Served, kept_in: Path, most: str
) -> None:
    """Neither the database nor its log may grow; stored documents can still be read, also after SIGKILL."""
    served = small_store
    with served.client() as client:
        kept = Documents(client).post(sentences=STORY, max_length=4)
        named = checked(client.post("/v2/glossaries", json=glossary(10)), 201)["glossary_id"]
        entries = client.get(f"/v2/glossaries/{named}/entries").text
        document = {"sentences": STORY * 200, "source": "en", "target": "de", "wait": True}

        def assert_kept() -> None:
            assert Documents(client).get(kept["id"])["sentences"] == kept["sentences"]
            assert client.get(f"/v2/glossaries/{named}/entries").text == entries

        for round_ in range(SCALE):
            with no_room(served, size_of(kept_in, most)):
                refused = client.post("/v1/documents", json=document)
                assert (refused.status_code, refused.json()["error"]["type"]) == (503, "not_ready")
                assert client.post("/v2/glossaries", json=glossary(4_000)).status_code == 503
                assert_kept()
                assert served.translate("Yes.").status_code == 200
                if round_ == 0:
                    served.kill()
            if round_ == 0:
                served.restart()
                until(served.answers, "it is back")
            assert_kept()
            assert [glossary["glossary_id"] for glossary in client.get("/v2/glossaries").json()["glossaries"]] == [
                named
            ]
            again = Documents(client).post(sentences=STORY, max_length=4)
            assert translations(again) == translations(kept)
            more = checked(client.post("/v2/glossaries", json=glossary(20)), 201)["glossary_id"]
            assert client.delete(f"/v2/glossaries/{more}").status_code == 204
        assert client.delete(f"/v2/glossaries/{named}").status_code == 204
    assert_well(served)
    print(f"{SCALE} times no room ({most}): the document and the glossary were read, and nothing of them lost")


def progress(client: httpx.Client, name: str) -> float:
    """The share of a document that is translated."""
    share: float = Documents(client).get(name, limit="0")["progress"]
    return share


def test_killed_again_and_again_a_document_is_whole(served: Served) -> None:
    """Each crash comes after a write; otherwise the document would fail because it kills the server. The server encodes
    all sentences before its first write, so the document is short."""
    rounds, kills, killed = max(1, SCALE // 8), min(SCALE, 8), 0
    sources = MANY * (1 if kills == 1 else 3)
    with served.client() as client:
        for _ in range(rounds):
            name = Documents(client).post(202, sentences=sources, wait=False, **SHORT)["id"]
            done = 0.0
            for _ in range(kills):
                until(lambda name=name, done=done: progress(client, name) > done, "more is translated")  # type: ignore[misc]
                served.kill()
                served.restart()
                until(served.answers, "it is back")
                killed += 1
                done = progress(client, name)
                if done == 1:  # it was faster than the last look at it
                    break
            result = Documents(client).done(name, explain="false")
            assert [(sentence["index"], sentence["source"]) for sentence in result["sentences"]] == list(
                enumerate(sources)
            )
            again = Documents(client).post(202, sentences=sources, wait=False, **SHORT)["id"]
            assert translations(Documents(client).done(again, explain="false")) == translations(result)
    print(f"{killed} times killed, {rounds} documents: {len(sources)} sentences, each once, as without")


@pytest.mark.parametrize("death", ["killed", "hanging"])
def test_a_redis_that_goes_away_and_comes_back(
    document_artifact: Path, tmp_path: Path, death: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the store translations work and documents get 503; documents continue when the store is back."""
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
            done = Documents(client).done(name, explain="false")
            assert [sentence["source"] for sentence in done["sentences"]] == MANY
        until(lambda: server.sentences == 0, "every slot is free")
        print(f"Redis {death} {min(SCALE, 30)} times: no document lost, no translation refused")


def test_requests_that_wait_for_a_hanging_redis_delay_no_others(
    document_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Language identification and splitting of long texts run in threads that do not wait for the store."""
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
        assert not any(future.done() for future in reading)
        redis.send_signal(signal.SIGCONT)
        assert {future.result(PATIENCE).status_code for future in reading} == {200}


def test_clocks_that_jump_cost_nothing(document_artifact: Path, tmp_path: Path) -> None:
    """Leases use the wall clock, deadlines the monotonic clock. Documents are completed at any wall-clock time."""
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
            give_up = time.monotonic() + 2 * PATIENCE
            while Documents(client).get(name, limit="0")["state"] not in ("done", "failed"):
                assert time.monotonic() < give_up, f"no end after {jumps} jumps"
                offset, jumps = chance.choice([0.0, 86_400.0, -86_400.0, 1.0, -1.0]), jumps + 1
                answer = client.post(
                    "/v1/translate", json={"text": "Yes.", **SHORT}, headers={"X-Request-Timeout": "50"}
                )
                assert answer.status_code == 200
            assert translations(Documents(client).done(name, explain="false")) == whole
        print(f"{jumps} jumps of the clock during {2 * SCALE} documents: all whole")
