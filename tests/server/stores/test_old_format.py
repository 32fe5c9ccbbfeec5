"""Stores of released versions (0.1: flat ids with an EOS after every part; 0.2 to 0.4: owners in ids) are read
unchanged."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis

from server.stores.codec import FORMAT
from server.stores.interface import FIRST_CHANGE, ChangePlace, ContextStore, StoreError
from server.stores.limits import DocumentLimits, StoreFull
from server.stores.old_format import upgraded_sentence
from server.stores.open_store import open_store
from server.stores.records import Document, Part, Sentence
from server.stores.sqlite_schema import MIGRATIONS
from server.telemetry.labels import DOCUMENT_STATES
from tests.server.documents.some import SERVED, document, sentence
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
        rows = [("first", record["index"], json.dumps(record)) for record in OLD]
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


def test_an_old_store_is_converted_when_it_is_opened(url: str) -> None:
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
    [first, *_] = [upgraded_sentence(json.dumps(record)) for record in OLD]
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


SECRET_HASH, LOST_HASH = "0" * 64, "1" * 64


def former(secret_hash: str) -> str:
    """What an owner was called when ids ended with it."""
    return hashlib.sha256(f"owner {secret_hash}".encode()).hexdigest()[:12]


def owned_id(number: int, secret_hash: str) -> str:
    return f"{number:02}bcdefghij-LMNOP_RSTUVW-{former(secret_hash)}"


OWNED = {owned_id(1, SECRET_HASH): "shop", owned_id(2, LOST_HASH): f"former:{former(LOST_HASH)}"}
UNOWNED = ["abcdefghijklMNOP-rstuvw_", "file-" + "a" * 32, f"short-{former(SECRET_HASH)}"]
"""Of a server without keys, of the command line, and one that only looks as if it had an owner."""
STATES = dict(zip([*OWNED, *UNOWNED], ("queued", "running", "done", "failed", "queued"), strict=True))
GLOSSARIES = {
    "g1": ("shop", former(SECRET_HASH)),
    "g2": (f"former:{former(LOST_HASH)}", former(LOST_HASH)),
    "g3": ("", ""),
}


def body_of(name: str) -> str:
    """A document as format 2 wrote it."""
    kept = vars(document(name, state=STATES[name], num_sentences=1, num_places=1, created=1.5))
    return json.dumps({field: value for field, value in kept.items() if field not in ("owner", "num_pending")})


SENTENCE = json.dumps(vars(sentence(0)) | {"parts": [{"source_ids": [7, 2], "target_ids": None}]})


def second_sqlite(path: Path) -> str:
    """The file as versions 2 and 3 wrote it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for step in (step for steps in MIGRATIONS[:3] for step in steps):
            if isinstance(step, str):
                connection.execute(step)
        connection.execute("PRAGMA user_version = 3")
        for name, state in STATES.items():
            connection.execute(
                "INSERT INTO documents (id, version, state, model, created, touched, num_sentences, body) "
                "VALUES (?, 1, ?, 'tiny', 1.5, 10.0, 1, ?)",
                (name, state, body_of(name)),
            )
            connection.execute("INSERT INTO sentences VALUES (?, 0, ?)", (name, SENTENCE))
        for name, (_, owner) in GLOSSARIES.items():
            connection.execute("INSERT INTO glossaries (owner, id, size, body) VALUES (?, ?, 2, '{}')", (owner, name))
        connection.commit()
    return f"sqlite:///{path}"


def second_redis(port: int) -> str:
    flush(port)
    with redis.Redis(host="127.0.0.1", port=port) as client:
        for name, state in STATES.items():
            fields = {
                "version": 1,
                "state": state,
                "created": "1.5",
                "touched": "10.0",
                "sentences": 1,
                "model": "tiny",
            }
            client.hset(f"ringmt:document:{name}", mapping={**fields, "body": body_of(name)})
            client.rpush(f"ringmt:sentences:{name}", SENTENCE)
            kind, score = {"queued": ("queued", 1.5), "running": ("running", 0.0)}.get(state, ("resting", 10.0))
            client.zadd(f"ringmt:{kind}", {name: score})
        for name, (_, owner) in GLOSSARIES.items():
            client.hset(f"ringmt:glossaries:{owner}", name, "{}")
        client.set("ringmt:format", 2)
    return f"redis://127.0.0.1:{port}/0"


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
@pytest.mark.parametrize("times", [1, 2])
def test_owners_were_hashes_of_secrets_and_become_names(
    kind: str, times: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Also where the first server that opens the store does not know the key."""
    if kind == "sqlite":
        url = second_sqlite(tmp_path / "old.db")
    else:
        url = second_redis(request.getfixturevalue("redis_port"))
    if times == 2:
        open_store(url).close()
    with closing(open_store(url, {former(SECRET_HASH): "shop", "0123456789ab": "desk"})) as store:
        assert {name: store.document(name).owner for name in STATES} == OWNED | dict.fromkeys(UNOWNED, "")
        assert [document.id for document in store.page("shop", 9)] == [owned_id(1, SECRET_HASH)]
        assert store.page("desk", 9) == []
        assert {document.id for document in store.page(None, 9)} == set(STATES)
        assert [store.read(name)[1] for name in STATES] == [[sentence(0)]] * len(STATES)
        for name, (owner, _) in GLOSSARIES.items():
            assert store.glossaries.get(owner, name) == "{}"
            assert store.glossaries.owner_of(name) == owner
        assert store.glossaries.page(9) == [(name, owner) for name, (owner, _) in GLOSSARIES.items()]
        full = DocumentLimits(owner_documents=1)
        with pytest.raises(StoreFull):
            store.create(document("new", owner="shop"), [], full)
        store.create(document("new", owner="desk"), [], full)
        claimed = [store.claim("w", 100, SERVED) for _ in range(5)]
        open_names = {name for name, state in STATES.items() if state in ("queued", "running")} | {"new"}
        assert {document.id for document in claimed if document is not None} == open_names
        assert store.expire(11.0, SERVED) == 2
    with closing(open_store(url, {former(LOST_HASH): "found again"})) as store:
        assert store.document(owned_id(2, LOST_HASH)).owner == "found again"
        assert store.glossaries.of_owner("found again") == {"g2": "{}"}


def third_sqlite(path: Path) -> str:
    """The file as it was before documents were listed by state."""
    second_sqlite(path)
    with closing(sqlite3.connect(path)) as connection:
        for step in (step for steps in MIGRATIONS[3:5] for step in steps):
            if isinstance(step, str):
                connection.execute(step)
            else:
                step(connection)
        connection.execute("PRAGMA user_version = 5")
        connection.commit()
    return f"sqlite:///{path}"


def third_redis(port: int) -> str:
    url = second_redis(port)
    open_store(url).close()
    with redis.Redis(host="127.0.0.1", port=port) as client:
        later = [*client.keys("ringmt:state:*"), *client.keys("ringmt:changes:*")]
        assert len(later) > len(STATES)
        client.delete(*later)
        client.set("ringmt:format", 3)
    return url


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_documents_are_listed_by_state_and_sentences_by_change(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = third_sqlite(tmp_path / "old.db") if kind == "sqlite" else third_redis(request.getfixturevalue("redis_port"))
    for _ in range(2):
        with closing(open_store(url)) as store:
            for state in DOCUMENT_STATES:
                names = {document.id for document in store.page(None, 9, None, state)}
                assert names == {name for name, of_name in STATES.items() if of_name == state}
            for name in STATES:
                changes = store.changes(name, FIRST_CHANGE, 9)
                assert (changes.sentences, changes.are_all) == ([(ChangePlace(0, 0), sentence(0))], True)
            assert store.count() == len(STATES)
            with pytest.raises(StoreFull):
                store.create(document("new"), [], DocumentLimits(documents=len(STATES)))
