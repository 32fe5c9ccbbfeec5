"""Leases when the clock is set back."""

from pathlib import Path

import pytest

from server.stores.interface import ContextStore
from server.stores.memory import MemoryStore
from server.stores.redis import RedisStore
from server.stores.sqlite import SqliteStore
from tests.server.documents.some import SERVED, keep
from tests.server.redis_server import flush


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize(("back", "is_claimed"), [(10, False), (3_530, False), (3_700, True), (10**9, True)])
def test_a_lease_from_a_clock_that_was_set_back_has_run_out(
    kind: str, back: float, is_claimed: bool, tmp_path: Path
) -> None:
    now = 2e9

    def clock() -> float:
        return now

    store: ContextStore = MemoryStore(clock) if kind == "memory" else SqliteStore(tmp_path / "one.db", clock=clock)
    keep(store)
    assert store.claim("dead", 60, SERVED) is not None
    now -= back
    assert (store.claim("next", 60, SERVED) is not None) == is_claimed
    assert store.renew("first", "next" if is_claimed else "dead", 60)
    assert store.claim("third", 60, SERVED) is None
    store.close()


def test_redis_has_the_same_rule(redis_port: int) -> None:
    """Its clock is its own: a lease that is too long stands for one from before the clock was set back."""
    flush(redis_port)
    store = RedisStore("127.0.0.1", redis_port)
    keep(store)
    assert store.claim("dead", 7_000, SERVED) is not None
    assert store.claim("next", 4_000, SERVED) is None
    assert store.claim("next", 60, SERVED) is not None
    assert store.claim("third", 60, SERVED) is None
    store.close()
