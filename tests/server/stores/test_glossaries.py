"""Glossaries in every kind of store; memory is the slow, plain reference of the others."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from server.stores.glossaries import GlossariesFull, GlossaryChanged, GlossaryLimits, GlossaryStore, UnknownGlossary
from server.stores.interface import ContextStore, StoreError
from server.stores.open_store import open_store
from tests.children import PATIENCE
from tests.server.stores.agreeing import AgreeingStores, all_outcomes

MANY = GlossaryLimits(100, 1000)
OWNERS = st.sampled_from(["", "shop", "desk"])
IDS = st.sampled_from(["a", "b", "c"])
BODIES = st.sampled_from(["", "1", "22", "333", '{"x": "\\u00e4"}'])
LIMITS = st.builds(GlossaryLimits, st.integers(1, 3), st.integers(0, 6))


class Stores(AgreeingStores):
    errors = (GlossariesFull, GlossaryChanged, UnknownGlossary)

    def __init__(self) -> None:
        super().__init__()
        self.bodies: dict[tuple[int, str, str, str], str] = {}
        """By store, owner, id and version."""

    def part(self, store: ContextStore) -> GlossaryStore:
        return store.glossaries

    def check_version(self, owner: str, name: str) -> None:
        """A version is of one body: it changes with the body, and not without a write."""
        for index, store in enumerate(self.stores):
            kept = self.outcome(lambda store: store.get(owner, name), store)
            version = self.outcome(lambda store: store.version(owner, name), store)
            if isinstance(kept, str):
                assert version == self.outcome(lambda store: store.version(owner, name), store)
                assert self.bodies.setdefault((index, owner, name, version), kept) == kept
            else:
                assert version == kept

    @initialize()
    def refuse(self) -> None:
        """Every error, because made-up writes seldom meet what is kept."""
        self.all_agree(lambda store: store.delete("shop", "a"))
        self.all_agree(lambda store: store.put("shop", "a", "1", MANY))
        self.all_agree(lambda store: store.put("shop", "a", "22", MANY, "333"))
        self.all_agree(lambda store: store.put("shop", "b", "1", GlossaryLimits(1, 6)))
        self.all_agree(lambda store: store.delete("shop", "a"))

    @rule(owner=OWNERS, name=IDS, body=BODIES, limits=LIMITS, instead_of=st.none() | BODIES)
    def put(self, owner: str, name: str, body: str, limits: GlossaryLimits, instead_of: str | None) -> None:
        self.check_version(owner, name)
        self.all_agree(lambda store: store.put(owner, name, body, limits, instead_of))
        self.check_version(owner, name)

    @rule(owner=OWNERS, name=IDS, body=BODIES)
    def replace(self, owner: str, name: str, body: str) -> None:
        self.check_version(owner, name)
        kept = self.stores[0].glossaries.of_owner(owner).get(name)
        self.all_agree(lambda store: store.put(owner, name, body, MANY, kept))
        self.check_version(owner, name)

    @rule(owner=OWNERS, name=IDS)
    def delete(self, owner: str, name: str) -> None:
        self.all_agree(lambda store: store.delete(owner, name))
        self.check_version(owner, name)

    @rule(owner=OWNERS, name=IDS)
    def get(self, owner: str, name: str) -> None:
        self.all_agree(lambda store: store.get(owner, name))

    @rule(name=IDS)
    def owner_of(self, name: str) -> None:
        self.all_agree(lambda store: store.owner_of(name))

    @rule(limit=st.integers(1, 4), after=st.just("") | IDS)
    def page(self, limit: int, after: str) -> None:
        self.all_agree(lambda store: store.page(limit, after))

    @rule(former=OWNERS, owner=OWNERS)
    def rename_owner(self, former: str, owner: str) -> None:
        if not set(self.stores[0].glossaries.of_owner(former)) & set(self.stores[0].glossaries.of_owner(owner)):
            for store in self.stores:  # ids of different owners differ, outside of tests
                store.rename_owner(former, owner)

    @invariant()
    def redis_keeps_no_versions_of_glossaries_that_are_gone(self) -> None:
        with redis.Redis(port=self.redis_port) as client:
            for owner in ("", "shop", "desk"):
                kept = {*client.hkeys(f"ringmt:glossaries:{owner}")}
                assert {*client.hkeys(f"ringmt:glossary_versions:{owner}")} <= kept

    @invariant()
    def everything_is_the_same(self) -> None:
        for owner in ("", "shop", "desk"):
            self.all_agree(lambda store, owner=owner: dict(store.of_owner(owner)))  # type: ignore[misc]


def test_all_stores_agree(redis_port: int) -> None:
    agreed = all_outcomes(Stores, redis_port, 25)
    assert any(isinstance(item, dict) and len(item) > 1 for item in agreed)


def test_glossaries_outlive_their_store_where_documents_do(store_url: str) -> None:
    first = open_store(store_url)
    first.glossaries.put("shop", "a", "body", MANY)
    first.close()
    with pytest.raises(StoreError, match="closed"):
        first.glossaries.get("shop", "a")
    again = open_store(store_url)
    try:
        kept = again.glossaries.of_owner("shop")
        assert kept == ({} if store_url == "memory://" else {"a": "body"})
    finally:
        again.close()


def test_no_more_are_kept_however_many_come_at_once(store: ContextStore) -> None:
    limits, at_once = GlossaryLimits(5, 1000), threading.Barrier(12, timeout=PATIENCE)

    def put(number: int) -> bool:
        at_once.wait()
        try:
            store.glossaries.put("shop", str(number), "body", limits)
        except GlossariesFull:
            return False
        return True

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(put, range(12))) == 5
    assert len(store.glossaries.of_owner("shop")) == 5


def test_of_several_changes_of_the_same_glossary_one_wins(store: ContextStore) -> None:
    store.glossaries.put("shop", "a", "old", MANY)
    at_once = threading.Barrier(8, timeout=PATIENCE)

    def put(number: int) -> bool:
        at_once.wait()
        try:
            store.glossaries.put("shop", "a", str(number), MANY, instead_of="old")
        except GlossaryChanged:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(put, range(8)))
    assert won.count(True) == 1
    assert store.glossaries.get("shop", "a") == str(won.index(True))
