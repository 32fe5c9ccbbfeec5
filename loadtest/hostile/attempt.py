"""A hostile input, and how it is sent."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType

CUT_OFF = "cut off"
"""In place of a status: the client disconnected at its timeout."""
CLOSED = "closed"
"""In place of a status: the server closed the connection without a response."""


@dataclass(frozen=True)
class Address:
    """The address of a server, and a valid key if it requires keys."""

    host: str
    port: int
    key: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key}"}


@dataclass
class Answers:
    """Count of each status (a number as text, CUT_OFF or CLOSED), and a note for the table."""

    statuses: Counter[str] = field(default_factory=Counter)
    note: str = ""

    @classmethod
    def of(cls, *statuses: int | str, note: str = "") -> "Answers":
        return cls(Counter(map(str, statuses)), note)


@dataclass(frozen=True)
class Attempt:
    """`size`: bytes that are sent. `send` takes the server's address and its timeout in seconds."""

    size: int
    send: Callable[[Address, float], Answers]


@dataclass(frozen=True)
class HostileInput:
    """`make` takes the share of the full size, more than 0 and at most 1. `ordinary`: an input of similar size that is
    not hostile, for comparison. `keyed`: for a server that requires keys."""

    name: str
    description: str
    make: Callable[[float], Attempt]
    ordinary: bool = False
    keyed: bool = False


def hostile_input(
    name: str, *, ordinary: bool = False, keyed: bool = False
) -> Callable[[Callable[[float], Attempt]], HostileInput]:
    """Make an input of a function; its docstring is the description."""

    def decorate(make: Callable[[float], Attempt]) -> HostileInput:
        return HostileInput(name, (make.__doc__ or name).strip(), make, ordinary, keyed)

    return decorate


def inputs_of(modules: Iterable[ModuleType]) -> list[HostileInput]:
    """All inputs of the modules, in their order."""
    return [value for module in modules for value in vars(module).values() if isinstance(value, HostileInput)]


def scaled(count: int, share: float) -> int:
    """`share` of `count`, at least 1."""
    return max(1, round(count * share))
