import time

import pytest

from server.runtime.checkpoints import on_checkpoint
from server.text.base.pieces import Pieces
from server.text.split.plan import plan_text
from tests.growth import ORDINARY

SIZE = 60_000
"""Characters of each text: more than the one part in which a sentence's spans are searched."""
LONGEST = 0.35
"""Time between two checkpoints in a single sentence, as a share of the time that ordinary text of its length takes."""
SENTENCES = {
    "words": "the house of the river ",
    "capitals": "THE HOUSE OF THE RIVER ",
    "accents": "\u0301\u0327",
    "Cyrillic": "\u0441\u043b\u043e\u0432\u043e ",
    "placeholders": "{name} and %s, ",
    "addresses": "a@b.c/",
}


def longest_gap(text: str, pieces: Pieces) -> tuple[float, float]:
    """Processor seconds between two checkpoints at most, and of the whole plan."""
    began = last = time.thread_time()
    longest = 0.0

    def pass_checkpoint() -> None:
        nonlocal last, longest
        now = time.thread_time()
        longest, last = max(longest, now - last), now

    token = on_checkpoint.set(pass_checkpoint)
    try:
        plan_text(text, "en", pieces, 64, lowers_emphasis=True)
        pass_checkpoint()
    finally:
        on_checkpoint.reset(token)
    return longest, last - began


@pytest.fixture(scope="module")
def ordinary(pieces: Pieces) -> float:
    """Processor seconds that ordinary text of this length takes."""
    return min(longest_gap(ORDINARY * (SIZE // len(ORDINARY)), pieces)[1] for _ in range(3))


@pytest.mark.parametrize("unit", SENTENCES.values(), ids=SENTENCES)
def test_planning_of_one_long_sentence_passes_checkpoints_all_the_time(
    pieces: Pieces, ordinary: float, unit: str
) -> None:
    text = unit * (SIZE // len(unit))
    gap = min(longest_gap(text, pieces)[0] for _ in range(3))
    assert gap <= LONGEST * ordinary, f"{gap:.4f} s without a checkpoint; ordinary text takes {ordinary:.4f} s in all"
