"""No pattern of the server repeats a repetition, which takes exponential time if the match fails."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import server

_parser: Any = importlib.import_module("re._parser")
NOT_IMPORTED = ("server.ray_deployment",)
"""Needs Ray, which may not be installed, and has no patterns."""
_UNBOUNDED = 64
"""A maximum of repetitions that counts as unbounded."""


def compiled() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """All patterns among the names of the server's modules, with these names."""
    for info in pkgutil.walk_packages(server.__path__, "server."):
        if info.name in NOT_IMPORTED or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        yield from (
            (f"{info.name}.{name}", value) for name, value in vars(module).items() if isinstance(value, re.Pattern)
        )


def repeated_repetitions(parsed: Any) -> Iterator[Any]:
    """Unbounded repetitions of what may be nothing but an unbounded repetition: "(a+)+", "(a*b?)*". Possessive ones
    ("++") do not count, because they do not backtrack."""
    for name, argument in parsed:
        if str(name) in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] >= _UNBOUNDED and _may_be_repetition(argument[2]):
            yield name, argument
        for inside in _subpatterns(argument):
            yield from repeated_repetitions(inside)


def _may_be_repetition(parsed: Any) -> bool:
    """Whether everything but an unbounded repetition is optional."""
    for index, (name, argument) in enumerate(parsed):
        if any(
            _parser.SubPattern(parsed.state, [item]).getwidth()[0] for item in (*parsed[:index], *parsed[index + 1 :])
        ):
            continue
        if str(name) in ("MAX_REPEAT", "MIN_REPEAT"):
            return bool(argument[1] >= _UNBOUNDED)
        if str(name) in ("SUBPATTERN", "BRANCH") and any(map(_may_be_repetition, _subpatterns(argument))):
            return True
    return False


def _subpatterns(argument: Any) -> Iterator[Any]:
    if isinstance(argument, _parser.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for item in argument:
            yield from _subpatterns(item)


def test_no_pattern_repeats_a_repetition() -> None:
    patterns = dict(compiled())
    assert len(patterns) > 30
    assert {
        name: pattern.pattern
        for name, pattern in patterns.items()
        if any(repeated_repetitions(_parser.parse(pattern.pattern)))
    } == {}


@pytest.mark.parametrize("pattern", ["(a+)+b", r"(?:\s*[a-z]*)*x", "(?:(?:ab)*|c)+", "(a{2,}?)*", "x(?:(a*)b?)*"])
def test_a_repeated_repetition_is_found(pattern: str) -> None:
    assert any(repeated_repetitions(_parser.parse(pattern)))


@pytest.mark.parametrize("pattern", ["(a++)+b", "(?:a+b)*", "(?>a+)*", "(?:a{1,9})*", "(?:[a-z]+,)+", "a+b+"])
def test_other_patterns_are_not(pattern: str) -> None:
    assert not any(repeated_repetitions(_parser.parse(pattern)))
