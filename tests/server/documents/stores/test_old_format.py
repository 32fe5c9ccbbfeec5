"""Documents that an older RingMT kept, in flat ids with an EOS after every part, are read as they were."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from server.documents.stores.codec import FORMAT
from server.documents.stores.interface import ContextStore, StoreError
from server.documents.stores.old_format import upgraded_sentence
from server.documents.stores.open_store import open_store
from server.documents.stores.records import Document, Part, Sentence
from server.documents.stores.sqlite_schema import MIGRATIONS
from tests.server.documents.some import SERVED
from tests.server.redis_server import flush

ODD_TEXT = "a\0b \ud800 \N{ROCKET}\u2028\r\n\"'\\ {} NULL"
DOCUMENT: dict[str, Any] = {
    "id": "first", "model": "tiny", "fingerprint": "f00d", "source_language": "en", "target_language": "de",
    "mode": "offline", "state": "queued", "num_sentences": 4, "version": 3, "end": ODD_TEXT, "error": None,
    "options": {"beam_size": 2}, "created": 1.0, "touched": 10.125, "attempts": 0,
}  # fmt: skip
PLAIN: dict[str, Any] = {
    "index": 0, "source": ODD_TEXT, "source_ids": [7, 8, 3], "gap": "", "translation": ODD_TEXT, "target_ids": [9, 3],
    "score": -0.1, "finish_reason": "eos", "is_edited": False, "is_stale": True, "version": 2, "seen_version": 3,
    "context_used": [[1, 1 / 3]], "draft_ids": None,
}  # fmt: skip
UNDONE: dict[str, Any] = {
    **PLAIN, "translation": None, "target_ids": None, "score": None, "finish_reason": None, "is_stale": False,
    "version": 1, "seen_version": 0, "context_used": [],
}  # fmt: skip
OLD = [
    PLAIN,
    {**UNDONE, "index": 1, "source": "Two. Parts.", "source_ids": [5, 3, 6, 3], "gap": "\n", "draft_ids": [3, 4, 4, 3]},
    {**UNDONE, "index": 2, "source": "***", "source_ids": []},
    {**PLAIN, "index": 3, "is_edited": True, "target_ids": [11, 12, 3], "draft_ids": [13, 3]},
]
NEW_DOCUMENT = Document(**DOCUMENT, num_places=5)
NEW = [
    Sentence(0, ODD_TEXT, (Part((7, 8, 3), (9,)),), "", ODD_TEXT, -0.1, "eos", False, True, 2, ((1, 1 / 3),)),
    Sentence(1, "Two. Parts.", (Part((5, 3), None, ()), Part((6, 3), None, (4, 4))), "\n"),
    Sentence(2, "***", ()),
    Sentence(3, ODD_TEXT, (Part((7, 8, 3), None, (11, 12)),), "", ODD_TEXT, -0.1, "eos", True, True, 2, ((1, 1 / 3),)),
]  # fmt: skip


def old_sqlite(path: Path) -> str:
    """The file as the first version wrote it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in MIGRATIONS[0]:
            assert isinstance(statement, str)
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO documents (id, version, state, created, touched, num_sentences, body) "
            "VALUES ('first', 3, 'queued', 1.0, 10.125, 4, ?)",
            (json.dumps(DOCUMENT),),
        )
        rows = [("first", one["index"], json.dumps(one)) for one in OLD]
        connection.executemany("INSERT INTO sentences (document_id, position, body) VALUES (?, ?, ?)", rows)
        connection.commit()
    return f"sqlite:///{path}"


def old_redis(port: int) -> str:
    flush(port)
    with redis.Redis(host="127.0.0.1", port=port) as client:
        fields = {"version": 3, "state": "queued", "created": "1.0", "touched": "10.125", "sentences": 4}
        client.hset("ringmt:document:first", mapping={**fields, "body": json.dumps(DOCUMENT)})
        client.rpush("ringmt:sentences:first", *map(json.dumps, OLD))
        client.zadd("ringmt:queued", {"first": 1.0})
    return f"redis://127.0.0.1:{port}/0"


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return old_sqlite(tmp_path / "old.db")
    return old_redis(request.getfixturevalue("redis_port"))


def check(store: ContextStore) -> None:
    assert store.read("first") == (NEW_DOCUMENT, NEW)


def test_an_old_store_is_brought_to_today_s_format_when_it_is_opened(url: str) -> None:
    for _ in range(2):
        store = open_store(url)
        check(store)
        store.close()
    store = open_store(url)
    assert store.claim("w", 100, ["another"]) is None
    claimed = store.claim("w", 100, SERVED)
    assert claimed is not None
    assert (claimed.id, claimed.version) == ("first", 4)
    store.close()


def test_what_is_new_is_left_as_it_is(url: str) -> None:
    """Also where an upgrade was interrupted, or somebody else did it."""
    [first, *_] = [upgraded_sentence(json.dumps(one)) for one in OLD]
    assert upgraded_sentence(first) == upgraded_sentence(first.encode()) == first
    open_store(url).close()
    if url.startswith("redis"):
        with redis.Redis(port=int(url.split(":")[2].split("/")[0])) as client:
            client.delete("ringmt:format")
    store = open_store(url)
    check(store)
    store.close()


def test_a_newer_redis_is_refused(redis_port: int) -> None:
    flush(redis_port)
    with redis.Redis(host="127.0.0.1", port=redis_port) as client:
        client.set("ringmt:format", FORMAT + 1)
    with pytest.raises(StoreError, match="update RingMT"):
        open_store(f"redis://127.0.0.1:{redis_port}/0")
    flush(redis_port)
