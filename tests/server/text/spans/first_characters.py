"""The characters with which a match of a pattern may begin, from the tree of Python's own parser of patterns."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

_constants: Any = importlib.import_module("re._constants")
_parser: Any = importlib.import_module("re._parser")
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    _constants.CATEGORY_DIGIT: str.isdecimal,
    _constants.CATEGORY_NOT_DIGIT: lambda char: not char.isdecimal(),
    _constants.CATEGORY_SPACE: str.isspace,
    _constants.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    _constants.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    _constants.CATEGORY_NOT_WORD: lambda char: not char.isalnum() and char != "_",
}
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_WIDTHLESS = (_constants.ASSERT, _constants.ASSERT_NOT, _constants.AT)


def first_characters(pattern: str, among: str) -> set[str]:
    """Those `among` with which a match may begin; assertions are taken for true. Raises KeyError, ValueError for what
    no pattern of ours has."""
    return _first(_parser.parse(pattern), among)[0]


def _first(nodes: Iterable[tuple[Any, Any]], among: str) -> tuple[set[str], bool]:
    """The characters, and whether a match may be empty."""
    found: set[str] = set()
    for kind, value in nodes:
        characters, is_empty = _first_of(kind, value, among)
        found |= characters
        if not is_empty:
            return found, False
    return found, True


def _first_of(kind: Any, value: Any, among: str) -> tuple[set[str], bool]:
    if kind in _WIDTHLESS:
        return set(), True
    if kind is _constants.BRANCH:
        branches = [_first(branch, among) for branch in value[1]]
        return set().union(*(characters for characters, _ in branches)), any(is_empty for _, is_empty in branches)
    if kind is _constants.SUBPATTERN:
        return _first(value[3], among)
    if kind is _constants.ATOMIC_GROUP:
        return _first(value, among)
    if kind in _REPEATS:
        characters, is_empty = _first(value[2], among)
        return characters, is_empty or not value[0]
    if kind is _constants.ANY:
        return set(among), False
    if kind is _constants.NOT_LITERAL:
        return {char for char in among if ord(char) != value}, False
    members = value if kind is _constants.IN else [(kind, value)]
    return {char for char in among if _is_member(char, members)}, False


def _is_member(char: str, members: Iterable[tuple[Any, Any]]) -> bool:
    is_negated = is_in = False
    for kind, value in members:
        if kind is _constants.NEGATE:
            is_negated = True
        elif kind is _constants.LITERAL:
            is_in |= ord(char) == value
        elif kind is _constants.RANGE:
            is_in |= value[0] <= ord(char) <= value[1]
        elif kind is _constants.CATEGORY:
            is_in |= _CATEGORIES[value](char)
        else:
            raise ValueError(f"{kind} is not known")
    return is_in != is_negated
