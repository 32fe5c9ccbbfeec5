"""What operations of the stores cost with few and with many documents, counted in steps of SQLite's virtual machine and
in Redis commands and elements of their answers, which other work on the machine does not change."""

import contextlib
import dataclasses
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.stores import redis_common, redis_reads, redis_scripts
from server.stores.interface import FIRST_CHANGE, ChangePlace, Changes, ContextStore, Cursor
from server.stores.limits import DocumentLimits, StoreFull
from server.stores.open_store import open_store
from server.stores.records import Document
from server.stores.redis import RedisStore
from server.stores.sqlite import SqliteStore
from server.telemetry.labels import DocumentState
from tests.server.documents.some import document, sentence
from tests.server.redis_server import flush

FEW, MANY = 200, 3_200
MAX_GROWTH = 1.5
"""Sixteen times as many documents. A search of a tree or of a sorted set takes one step more for twice as many."""
BOUND = 10**9
LIMITS = DocumentLimits(BOUND, BOUND, BOUND, BOUND, BOUND)
SERVED = ["served"]
PAGES: tuple[tuple[str | None, DocumentState | None], ...] = (
    (None, None),
    (None, "queued"),
    ("o1", None),
    ("o1", "queued"),
)
COUNTED = """
local uncounted, redis = redis, {}
function redis.call(...)
    local answer = uncounted.call(...)
    uncounted.call('INCRBY', 'cost', 1 + (type(answer) == 'table' and #answer or 0))
    return answer
end
"""


class CountedSqlite(SqliteStore):
    """Counts the steps of `cost_of`, and keeps its statements."""

    def __init__(self, path: Path) -> None:
        self.steps, self.statements = 0, set[str]()
        super().__init__(path)

    def cost_of(self, call: Callable[[], object]) -> int:
        self.steps = 0
        [connection] = self._idle
        connection.set_progress_handler(self._step, 1)
        connection.set_trace_callback(self.statements.add)
        call()
        connection.set_progress_handler(None, 1)
        connection.set_trace_callback(None)
        return self.steps

    def _step(self) -> int:
        self.steps += 1
        return 0


class CountedRedis(RedisStore):
    """Counts the commands of its scripts, and the elements of their answers."""

    def cost_of(self, call: Callable[[], object]) -> int:
        self._client.set("cost", 0)
        call()
        return int(self._client.get("cost"))


Counted = CountedSqlite | CountedRedis


@pytest.fixture(params=["sqlite", "redis"])
def counted(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    if request.param == "sqlite":
        store: Counted = CountedSqlite(tmp_path / "documents.db")
    else:
        port = request.getfixturevalue("redis_port")
        flush(port)
        monkeypatch.setattr(redis_common, "COMMON", COUNTED + redis_common.COMMON)
        store = CountedRedis("127.0.0.1", port)
    yield store
    store.close()


@pytest.fixture
def plain(counted: Counted) -> Iterator[ContextStore]:
    """The same store, which does not count."""
    if isinstance(counted, CountedSqlite):
        yield counted
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis_common, "COMMON", redis_common.COMMON.removeprefix(COUNTED))
        store = open_store(counted._url)
    yield store
    store.close()


def fill(store: ContextStore, start: int, end: int) -> None:
    """Documents of two owners: done, or waiting for one of two models. Those for the model that nobody serves are the
    oldest, and four documents come at each time."""
    for index in range(start, end):
        model, state = (("other", "queued"), ("served", "queued"), ("served", "done"))[index % 3]
        created = float(index // 4 + (model == "served") * BOUND)
        new = document(
            f"d{index}",
            num_sentences=1,
            model=model,
            state=state,
            owner=f"o{index % 2}",
            created=created,
            touched=float(BOUND),
        )
        store.create(new, [sentence(0)], LIMITS)


def costs(store: Counted, name: str) -> dict[str, int]:
    """Of every operation. Afterwards the store has as many documents as before. `name` is that of a new document."""
    new = document(name, num_sentences=1, model="served", owner="o0", created=float(BOUND))
    results = {"create": store.cost_of(lambda: store.create(new, [sentence(0)], LIMITS))}
    claimed: list[Document | None] = []
    results["claim"] = store.cost_of(lambda: claimed.append(store.claim("w", 100, SERVED)))
    [leased] = claimed
    assert leased is not None
    assert leased.model == "served"
    results["renew"] = store.cost_of(lambda: store.renew(leased.id, "w", 100))
    done = dataclasses.replace(leased, state="done", version=leased.version + 1)
    results["update"] = store.cost_of(lambda: store.update(done, leased.version, [sentence(0, "Ja.")], LIMITS))
    results["delete"] = store.cost_of(lambda: store.delete(leased.id))
    middle = Cursor(float(FEW // 8), "d")
    for owner, state in PAGES:
        results[f"page {owner} {state}"] = store.cost_of(lambda o=owner, s=state: store.page(o, 5, middle, s))  # type: ignore[misc]
    results["versions"] = store.cost_of(lambda: store.versions(["d0", "d3", "none"]))
    results["changes"] = store.cost_of(lambda: store.changes("d0", FIRST_CHANGE, 5))
    results["expire nothing"] = store.cost_of(lambda: store.expire(1.0, SERVED))
    store.create(document("old", state="done", model="served", touched=1.0, owner="o1"), [], LIMITS)
    store.create(document("waits", model="other", touched=1.0, owner="o1"), [], LIMITS)
    results["expire"] = store.cost_of(lambda: store.expire(2.0, SERVED))
    assert store.versions(["old", "waits"]) == {}
    results["count"] = store.cost_of(store.count)
    results["refuse"] = store.cost_of(lambda: _is_refused(store, name))
    return results


def _is_refused(store: ContextStore, name: str) -> None:
    with pytest.raises(StoreFull):
        store.create(document(f"{name}-more"), [], DocumentLimits(documents=1, expires_after=1.0))


def grown(store: Counted, filled: ContextStore, few: int = FEW, many: int = MANY) -> dict[str, float]:
    """By how much costs are higher with `many` documents. `filled`: the same store, not counted."""
    fill(filled, 0, few)
    before = costs(store, "new1")
    fill(filled, few, many)
    return {name: cost / before[name] for name, cost in costs(store, "new2").items() if before[name]}


def test_operations_cost_the_same_with_many_documents(counted: Counted, plain: ContextStore) -> None:
    growth = grown(counted, plain)
    assert len(growth) >= 14
    assert {name: ratio for name, ratio in growth.items() if ratio > MAX_GROWTH} == {}


def test_the_count_notices_what_grows(
    counted: Counted, plain: ContextStore, monkeypatch: pytest.MonkeyPatch, redis_port: int
) -> None:
    """A list without its index, or of all documents."""
    if isinstance(counted, CountedSqlite):
        with counted._transaction("IMMEDIATE") as connection:
            connection.execute("DROP INDEX documents_by_creation")
        assert grown(counted, plain, 50, 400)["page None None"] > MAX_GROWTH
        return
    monkeypatch.setattr(redis_reads, "PAGE", "redis.call('ZRANGE', prefix .. ARGV[2], 0, -1)" + redis_reads.PAGE)
    with contextlib.closing(CountedRedis("127.0.0.1", redis_port)) as store:
        assert grown(store, plain, 50, 400)["page None None"] > MAX_GROWTH


def sweep_growth(store: Counted, filled: ContextStore, monkeypatch: pytest.MonkeyPatch) -> float:
    """By how much a deleted document costs more where eight times as many expire at once."""
    monkeypatch.setattr("server.stores.sqlite.EXPIRE_BATCH", 10)
    monkeypatch.setattr("server.stores.redis.BATCH", 10)
    spent = []
    for count in (50, 400):
        for index in range(count):
            filled.create(document(f"d{index}", model="other", touched=1.0), [], LIMITS)
        spent.append(store.cost_of(lambda: store.expire(2.0, SERVED)) / count)
        assert store.count() == 0
    return spent[1] / spent[0]


def test_a_sweep_costs_what_it_deletes(counted: Counted, plain: ContextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sweep_growth(counted, plain, monkeypatch) < MAX_GROWTH


def test_a_sweep_that_reads_all_for_every_batch_is_noticed(redis_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    flush(redis_port)
    script = redis_scripts.EXPIRE.replace("older_than,\n                'LIMIT', 0, limit + leased", "older_than")
    assert script != redis_scripts.EXPIRE
    monkeypatch.setattr(redis_scripts, "EXPIRE", script)
    monkeypatch.setattr(redis_common, "COMMON", COUNTED + redis_common.COMMON)
    with contextlib.closing(CountedRedis("127.0.0.1", redis_port)) as store:
        assert sweep_growth(store, store, monkeypatch) > MAX_GROWTH


def test_changes_of_a_long_document_cost_the_same(counted: Counted) -> None:
    """At its beginning, in its middle and at its end, and those of a document of fewer sentences."""
    spent = []
    for count in (40, 1_280):
        name = f"of-{count}"
        counted.create(document(name, num_sentences=count), [sentence(index) for index in range(count)], LIMITS)
        for after in (FIRST_CHANGE, ChangePlace(1, count // 2), ChangePlace(1, count - 5)):
            changed: list[Changes] = []
            spent.append(counted.cost_of(lambda n=name, a=after, c=changed: c.append(counted.changes(n, a, 4))))  # type: ignore[misc]
            indices = [place.position for place, _ in changed[0].sentences]
            assert indices == list(range(after.position + 1, after.position + 5))
    assert max(spent) < 2 * min(spent), "a search takes five steps more"


def test_every_statement_searches_an_index(tmp_path: Path) -> None:
    """No statement of SQLite reads all documents or all sentences, or sorts them."""
    with contextlib.closing(CountedSqlite(tmp_path / "documents.db")) as store:
        fill(store, 0, FEW)
        costs(store, "new")
        statements = {text for text in store.statements if text.split()[0] in ("SELECT", "UPDATE", "DELETE", "INSERT")}
    with contextlib.closing(sqlite3.connect(tmp_path / "documents.db")) as connection:
        plans = {
            str(row[3]) for text in statements for row in connection.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()
        }
    assert all(any(name in line for line in plans) for name in ("own_documents_by_state", "queued_documents"))
    large = ("SCAN documents", "SCAN sentences", "USE TEMP B-TREE")
    assert [line for line in plans if line.startswith(large)] == []
