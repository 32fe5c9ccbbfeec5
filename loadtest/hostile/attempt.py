"""What is tried: a hostile input, and how it is sent."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType

CUT_OFF = "cut off"
"""In place of a status: the client hung up when its time was over."""
CLOSED = "closed"
"""In place of a status: the server closed the connection without an answer."""


@dataclass(frozen=True)
class Address:
    """Where the server is, and the key that it knows, if it asks for keys."""

    host: str
    port: int
    key: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key}"}


@dataclass
class Answers:
    """How often each status came (a number as text, CUT_OFF or CLOSED), and what else became of the input."""

    statuses: Counter[str] = field(default_factory=Counter)
    note: str = ""

    @classmethod
    def of(cls, *statuses: int | str, note: str = "") -> "Answers":
        return cls(Counter(map(str, statuses)), note)


@dataclass(frozen=True)
class Attempt:
    """`size`: bytes that are sent. `send` takes the server's address and the seconds after which it must hang up."""

    size: int
    send: Callable[[Address, float], Answers]


@dataclass(frozen=True)
class HostileInput:
    """`says` is a sentence for people. `make` takes the share of the full size, more than 0 and at most 1. `ordinary`:
    not hostile, but of the size of others, to compare them with. `keyed`: for a server that asks for keys."""

    name: str
    says: str
    make: Callable[[float], Attempt]
    ordinary: bool = False
    keyed: bool = False


def hostile_input(
    name: str, *, ordinary: bool = False, keyed: bool = False
) -> Callable[[Callable[[float], Attempt]], HostileInput]:
    """Make an input of a function; its docstring is the sentence."""

    def made(make: Callable[[float], Attempt]) -> HostileInput:
        return HostileInput(name, (make.__doc__ or name).strip(), make, ordinary, keyed)

    return made


def inputs_of(modules: Iterable[ModuleType]) -> list[HostileInput]:
    """All inputs of the modules, as they stand there."""
    return [value for module in modules for value in vars(module).values() if isinstance(value, HostileInput)]


def scaled(count: int, share: float) -> int:
    """`share` of `count`, at least 1."""
    return max(1, round(count * share))
