"""Limits of what is planned."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.translation.planning import PrefixRefused, TextRequest
from server.translation.translator import Translator

MOST = 5


@pytest.fixture(scope="module")
def translator(tiny_artifact: Path) -> Iterator[Translator]:
    loaded = Translator.load(tiny_artifact, EngineSettings(max_waiting=MOST, slots=2, num_workers=1), Metrics())
    yield loaded
    loaded.stop(5)


@pytest.mark.parametrize("count", [0, 1, MOST, MOST + 1, MOST + 2, 100])
def test_lines_are_counted_up_to_one_more_than_can_wait(translator: Translator, count: int) -> None:
    """One more is enough to refuse a request before it is cut."""
    for texts in (["Yes.\n" * count], ["Yes."] * count, ["...\nYes.\n42\n" * count]):
        assert translator.planner.min_sentences(texts) == min(count, MOST + 1)


def test_a_prefix_leaves_space_for_a_piece(translator: Translator) -> None:
    prefix = "Das ist gut."
    options = translator.options(max_length=200)
    [sentence] = translator.planner.plan_request(TextRequest(["Yes."], options, prefixes=[prefix]), False).sentences
    length = len(sentence.prefix)
    assert length > 1
    exact, longer = (
        dataclasses.replace(options, max_length=most, follows_source=False) for most in (length, length + 1)
    )
    with pytest.raises(PrefixRefused, match=f"has {length} pieces, at most {length - 1}"):
        translator.planner.plan_request(TextRequest(["Yes."], exact, prefixes=[prefix]), False)
    [planned] = translator.planner.plan_request(TextRequest(["Yes."], longer, prefixes=[prefix]), False).sentences
    assert len(planned.prefix) == length
