"""The test of growth finds what it is for: patterns that take quadratic and exponential time, and dear characters."""

import re

import pytest

from tests import growth
from tests.growth import Shape, assert_linear, check_cost, check_growth

CUE = re.compile(r"^([^\r\n]*-->[^\r\n]*\r?\n)((?:[^\r\n]+(?:\r?\n|\Z))+)", re.MULTILINE)
CUE_TOKENS = ("-->", "00:00:01,000 --> 00:00:02,000\n", "\n", "\r\n", "<i>", "</i>", "1\n", "text")
NESTED = re.compile(r"(?:<[a-z]+(?:\s*[a-z]*)*>)+x")
NESTED_TOKENS = ("<b>", "</b>", "<a href", ">", "x", " ", "<")


def test_the_pattern_of_a_cue_with_two_stars_is_found() -> None:
    with pytest.raises(AssertionError, match="times as long"):
        assert_linear(lambda text: list(CUE.finditer(text)), CUE_TOKENS, ordinary=None)


def test_a_quantifier_inside_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "ENDLESS", 0.5)
    with pytest.raises(AssertionError, match="more than"):
        assert_linear(NESTED.search, NESTED_TOKENS)


def test_many_ends_of_something_else_are_found() -> None:
    """Which one unit repeated does not find."""

    def close(text: str) -> None:
        open_tags: list[str] = []
        for tag in re.findall(r"</?\w>", text):
            if not tag.startswith("</"):
                open_tags.append(tag)
            elif not any(one == tag.replace("/", "") for one in reversed(open_tags)):
                continue

    with pytest.raises(AssertionError, match="times as long"):
        assert_linear(close, ("<b>", "</b>", "<i>", "</i>"), ordinary=None)


def test_dear_characters_are_found() -> None:
    def dear(text: str) -> None:
        for one in text:
            if one == "\x00":
                sum(range(10_000))
            else:
                one.isalpha()

    with pytest.raises(AssertionError, match="ordinary"):
        check_cost(dear, Shape(("\x00a",), "repeated"))


def test_linear_work_passes() -> None:
    assert_linear(lambda text: [one.upper() for one in text], ("a", "b"), ordinary=None)
    check_growth(lambda text: sorted(text.split()), Shape(("b a ",), "repeated"))
