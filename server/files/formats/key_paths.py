"""Which values of nested objects a client chooses: "title,items.*.text,!*.url".

A path has the keys from the outermost object to the value, with points between them; indexes of lists may be left out.
`*` is any part of a key, `**` any number of keys. A path chooses everything inside of what it names. A name without a
point is at any depth. "!" leaves out; without a path that does not begin so, everything else is chosen.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from server.files.formats.base import FileError

MAX_PATHS, MAX_LENGTH = 50, 1000
"""Paths, and characters of all of them: every key is compared with every part of them."""
_ANY_NUMBER = "**"
_DONE = -1

State = frozenset[tuple[int, int]]
"""(path, how many of its parts were found), or _DONE in the second place: it was found as a whole."""


@dataclass(frozen=True)
class KeyPaths:
    """`paths` as their parts; `excluding`: which of them leave out."""

    paths: tuple[tuple[str, ...], ...]
    excluding: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> "KeyPaths":
        """Raises FileError."""
        paths = [path.strip() for path in text.split(",") if path.strip(" !")]
        if len(paths) > MAX_PATHS or len(text) > MAX_LENGTH:
            raise FileError(f"keys: at most {MAX_PATHS} paths with {MAX_LENGTH} characters are taken")
        excluding = frozenset(number for number, path in enumerate(paths) if path.startswith("!"))
        bare = [path.removeprefix("!").strip() for path in paths]
        parts = tuple(tuple(path.split(".")) if "." in path else (_ANY_NUMBER, path) for path in bare)
        return cls(parts, excluding)

    @property
    def start(self) -> State:
        return self._closed((number, 0) for number in range(len(self.paths)))

    def step(self, state: State, key: str) -> State:
        """The state of the value of `key`; a key with points counts as several."""
        for part in key.split(".", MAX_LENGTH):
            state = self._closed(step for place in state for step in self._steps(place, part))
        return state

    def element(self, state: State, index: int) -> State:
        """The state of an element of a list."""
        return state | self.step(state, str(index))

    def is_chosen(self, state: State) -> bool:
        done = {path for path, item in state if item == _DONE}
        if done & self.excluding:
            return False
        return bool(done) or len(self.excluding) == len(self.paths)

    def _steps(self, place: tuple[int, int], part: str) -> Iterable[tuple[int, int]]:
        path, result = place
        if result == _DONE:
            return (place,)
        pattern = self.paths[path][result]
        if pattern == _ANY_NUMBER:
            return (place,)
        return ((path, result + 1),) if _fits(part, pattern) else ()

    def _closed(self, places: Iterable[tuple[int, int]]) -> State:
        """With what follows from them: `**` may be nothing, and the last part ends a path."""
        closed: set[tuple[int, int]] = set()
        for path, first in places:
            result = first
            while result != _DONE and result < len(self.paths[path]) and self.paths[path][result] == _ANY_NUMBER:
                closed.add((path, result))
                result += 1
            closed.add((path, _DONE if result == len(self.paths[path]) else result))
        return frozenset(closed)


def _fits(key: str, pattern: str) -> bool:
    """Whether `key` is `pattern`, in which `*` is any number of characters."""
    first, *others = pattern.split("*")
    if not others:
        return key == pattern
    *inner, last = others
    if len(key) < len(first) + len(last) or not (key.startswith(first) and key.endswith(last)):
        return False
    at, end = len(first), len(key) - len(last)
    for part in inner:
        at = key.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
