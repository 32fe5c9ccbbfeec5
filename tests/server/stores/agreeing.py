"""The same random operations on all kinds of stores have the same results: memory is the slow, plain reference."""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from server.stores.interface import ContextStore
from server.stores.memory import MemoryStore
from server.stores.redis import RedisStore
from server.stores.sqlite import SqliteStore
from tests.server.redis_server import flush


class AgreeingStores(RuleBasedStateMachine):
    """`errors`: what operations raise, in all stores alike."""

    redis_port: int
    errors: ClassVar[tuple[type[Exception], ...]]
    agreed: ClassVar[list[Any]] = []
    """Results and errors that all stores had."""

    def __init__(self) -> None:
        super().__init__()
        flush(self.redis_port)
        self.folder = tempfile.TemporaryDirectory()
        self.stores: list[ContextStore] = [
            MemoryStore(),
            SqliteStore(Path(self.folder.name) / "documents.db"),
            RedisStore("127.0.0.1", self.redis_port),
        ]

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    def part(self, store: ContextStore) -> Any:
        """The part of a store that is compared."""
        return store

    def outcome(self, call: Callable[[Any], Any], store: ContextStore) -> Any:
        """The result, or the kind of error and its message."""
        try:
            return call(self.part(store))
        except self.errors as error:
            return type(error), str(error), getattr(error, "frees_at", None)

    def all_agree(self, call: Callable[[Any], Any]) -> Any:
        """Call every store; compare the outcomes."""
        outcomes = [self.outcome(call, store) for store in self.stores]
        assert outcomes[0] == outcomes[1] == outcomes[2]
        self.agreed.append(outcomes[0])
        return outcomes[0]


def all_outcomes(machine: type[AgreeingStores], redis_port: int, max_examples: int) -> list[Any]:
    """Run the machine; what all stores agreed on. All its `errors` occurred: random steps may happen to raise none, so
    that a machine provokes each of them in a first step (`initialize`)."""
    agreed: list[Any] = []
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    run_state_machine_as_test(
        type("OnPort", (machine,), {"redis_port": redis_port, "agreed": agreed}),
        settings=settings(
            max_examples=max_examples, stateful_step_count=30, deadline=None, suppress_health_check=checks
        ),
    )
    assert errors_of(agreed) >= set(machine.errors)
    return agreed


def errors_of(agreed: Iterable[Any]) -> set[type[Exception]]:
    """The kinds of errors among outcomes."""
    return {outcome[0] for outcome in agreed if isinstance(outcome, tuple) and outcome and isinstance(outcome[0], type)}
