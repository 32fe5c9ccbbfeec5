"""`tests.growth` finds patterns of quadratic and exponential time, and costly characters."""

import re
from collections.abc import Callable

import pytest

from tests import growth
from tests.growth import Shape, assert_linear, check_cost, check_growth

CUE = re.compile(r"^([^\r\n]*-->[^\r\n]*\r?\n)((?:[^\r\n]+(?:\r?\n|\Z))+)", re.MULTILINE)
CUE_TOKENS = ("-->", "00:00:01,000 --> 00:00:02,000\n", "\n", "\r\n", "<i>", "</i>", "1\n", "text")
NESTED = re.compile(r"(?:<[a-z]+(?:\s*[a-z]*)*>)+x")
NESTED_TOKENS = ("<b>", "</b>", "<a href", ">", "x", " ", "<")


class Work:
    """Work that takes as long as it says, on a machine of any speed: so a test can come close to a limit."""

    SECONDS_OF_A_STEP = 1e-8

    def __init__(self) -> None:
        self.steps = 0.0

    def seconds_of(self, run: Callable[[], object]) -> float:
        before = self.steps
        run()
        return (self.steps - before) * self.SECONDS_OF_A_STEP


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """What is measured instead of the processor's time."""
    counted = Work()
    monkeypatch.setattr(growth, "thread_seconds", counted.seconds_of)
    return counted


def test_the_pattern_of_a_cue_with_two_stars_is_found() -> None:
    with pytest.raises(AssertionError, match="times as long"):
        assert_linear(lambda text: list(CUE.finditer(text)), CUE_TOKENS, most=8_000, ordinary=None)


def test_a_quantifier_inside_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "MAX_SECONDS", 0.5)
    with pytest.raises(AssertionError, match="more than"):
        assert_linear(NESTED.search, NESTED_TOKENS)


def test_many_ends_of_something_else_are_found() -> None:
    """The repetition of one unit does not find it."""

    def close(text: str) -> None:
        open_tags: list[str] = []
        for tag in re.findall(r"</?\w>", text):
            if not tag.startswith("</"):
                open_tags.append(tag)
            elif not any(open_tag == tag.replace("/", "") for open_tag in reversed(open_tags)):
                continue

    with pytest.raises(AssertionError, match="times as long"):
        assert_linear(close, ("<b>", "</b>", "<i>", "</i>"), most=16_000, ordinary=None)


def test_costly_characters_are_found() -> None:
    def costly(text: str) -> None:
        for char in text:
            if char == "\x00":
                sum(range(300))
            else:
                char.isalpha()

    with pytest.raises(AssertionError, match="ordinary"):
        check_cost(costly, Shape(("\x00a",), "repeated"))


def test_linear_work_passes() -> None:
    assert_linear(lambda text: sum(char.upper() == "A" for char in text), ("a", "b"), ordinary=None)
    check_growth(lambda text: sorted(text.split()), Shape(("b a ",), "repeated"))


def test_a_step_between_sizes_passes(work: Work) -> None:
    """As where a text leaves the caches: each character costs more, and then no more."""

    def run(text: str) -> None:
        work.steps += len(text) * (10 if len(text) <= 16_000 else 22 if len(text) < 64_000 else 34)

    shape = Shape(("a",), "repeated")
    assert min(growth._growth(run, shape, size) for size in (8_000, 16_000)) > growth.MAX_GROWTH
    check_growth(run, shape)


def test_growth_that_ends_at_the_largest_text_is_found(work: Work) -> None:
    """Texts of up to `MAX_SIZE` take quadratic time, longer ones linear time."""

    def run(text: str) -> None:
        size = len(text)
        work.steps += size**2 / 8_000 if size <= growth.MAX_SIZE else 8 * size

    with pytest.raises(AssertionError, match="times as long"):
        check_growth(run, Shape(("a",), "repeated"))


@pytest.mark.parametrize(("exponent", "refused"), [(1.45, 10**9), (1.3, 100_000), (2, 100_000)])
def test_growth_that_goes_on_is_found_though_a_longer_text_is_refused(
    exponent: float, refused: int, work: Work
) -> None:
    def run(text: str) -> None:
        if len(text) <= refused:
            work.steps += 1_000_000 * (len(text) / 64_000) ** exponent

    with pytest.raises(AssertionError, match="times as long"):
        check_growth(run, Shape(("a",), "repeated"))


@pytest.mark.parametrize("exponent", [0.5, 1, 1.25])
def test_growth_below_the_limit_passes(exponent: float, work: Work) -> None:
    def run(text: str) -> None:
        work.steps += 1_000_000 * (len(text) / 64_000) ** exponent

    check_growth(run, Shape(("a",), "repeated"))


def test_the_growth_of_a_count() -> None:
    growth.assert_linear_count(lambda count: growth.thread_seconds(lambda: sum(range(count))), 50_000)
    with pytest.raises(AssertionError, match="16 times as many"):
        growth.assert_linear_count(lambda count: growth.thread_seconds(lambda: sum(range(count**2))), 300)
