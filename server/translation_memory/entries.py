"""Entries of translation memories, as they are kept: JSON in ASCII."""

import json
import re
from dataclasses import dataclass
from typing import Final, Literal, get_args

from server.translation_memory.pairs import Pair

Origin = Literal["manual", "import", "suggestion", "correction"]
ORIGINS: Final[tuple[Origin, ...]] = get_args(Origin)
MOST_CHARS: Final = 4000
"""Characters of a source, and of its translation."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What neither TMX can have (XML 1.0, section 2.2) nor a text."""


class RefusedPair(ValueError):
    """A pair that no memory keeps; the message says why."""


@dataclass(frozen=True)
class Entry:
    """`number` is that of its last write; `created` is in seconds since 1970."""

    id: str
    number: int
    pair: Pair
    origin: Origin
    created: float


def checked(source: str, target: str) -> Pair:
    """The pair without spaces around its sides. Raises RefusedPair."""
    for name, text in (("source", source), ("target", target)):
        if not text.strip():
            raise RefusedPair(f"its {name} is empty")
        if len(text) > MOST_CHARS:
            raise RefusedPair(f"its {name} has too many characters, at most {MOST_CHARS} are kept")
        if _CONTROL.search(text):
            raise RefusedPair(f"its {name} has a control character or half a surrogate pair")
    return Pair(source.strip(), target.strip())


def encoded(pair: Pair, origin: Origin, created: float) -> str:
    values = {"source": pair.source, "target": pair.target, "origin": origin, "created": round(created, 3)}
    return json.dumps(values, separators=(",", ":"))


def decoded(name: str, number: int, body: str) -> Entry:
    values = json.loads(body)
    return Entry(name, number, Pair(values["source"], values["target"]), values["origin"], values["created"])
