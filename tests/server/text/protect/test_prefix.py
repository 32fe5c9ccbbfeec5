"""A given beginning stands in the translation to the letter, whatever the model adds."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.text.base.pieces import Pieces
from server.text.split.plan import plan_sentence

ANY_TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
SOURCES = st.sampled_from([
    "She sells bread and milk.",
    "Open https://example.org/a?b and {name}, then https://example.org/a?b again.",
    "{count}th house of \U0001f600",
    "WHERE IS THE STATION?",
])  # fmt: skip
PROTECTED = ("https://example.org/a?b", "{name}", "{count}th", "\U0001f600")


def random_ids(generator: random.Random, pieces: Pieces) -> tuple[int, ...]:
    """Ids that a model might decode: words and masks, in any order."""
    words = [*["das", "Haus", "X1", "X2", "X3", "x2", "steht.", "Brot"], "X1X2"]
    text = " ".join(generator.choice(words) for _ in range(generator.randrange(8)))
    return pieces.encode([text])[0][:-1]


@settings(deadline=None)
@given(source=SOURCES, prefix=ANY_TEXT | st.sampled_from(["Das ", "Das Ha", "{name} und", "Zu https://example.org/a?b"]),
       seed=st.integers(0, 10_000))  # fmt: skip
def test_the_translation_begins_with_the_prefix_and_keeps_what_is_protected(
    pieces: Pieces, source: str, prefix: str, seed: int
) -> None:
    planned = plan_sentence(source, pieces).with_prefix(prefix, pieces)
    assert planned.prefix is not None
    ids = (*planned.prefix.ids, *random_ids(random.Random(seed), pieces))
    text = planned.restore(ids, pieces).text
    assert text.startswith(prefix)
    for protected in PROTECTED:
        count = source.count(protected)
        assert text.count(protected) == max(count, prefix.count(protected)), text
    for length in range(len(ids) + 1):
        assert planned.restore_partial(ids[:length], pieces).startswith(prefix)


@pytest.mark.parametrize(
    ("prefix", "rest", "expected"),
    [
        ("Das Haus", "steht am Fluss.", "Das Haus steht am Fluss."),
        ("Das Haus ", "steht am Fluss.", "Das Haus steht am Fluss."),
        ("Das  Haus\t", "steht am Fluss.", "Das  Haus\tsteht am Fluss."),
        ("Das Haus", "", "Das Haus"),
        ("\u201eDas \u4e16 Haus\u2026", "steht.", "\u201eDas \u4e16 Haus\u2026 steht."),
    ],
)
def test_words_that_follow_a_prefix(pieces: Pieces, prefix: str, rest: str, expected: str) -> None:
    planned = plan_sentence("A house stands by the river.", pieces).with_prefix(prefix, pieces)
    assert planned.prefix is not None
    ids = (*planned.prefix.ids, *pieces.encode([rest])[0][:-1])
    assert planned.restore(ids, pieces).text == expected


def test_a_prefix_may_end_within_a_word(pieces: Pieces) -> None:
    """The model goes on with a piece that begins no word."""
    planned = plan_sentence("A house stands by the river.", pieces).with_prefix("Das Ha", pieces)
    assert planned.prefix is not None
    [whole] = pieces.encode(["aus"])
    inside = [index for index in whole[:-1] if not pieces.texts([index])[0].startswith("\u2581")]
    assert inside
    text = planned.restore((*planned.prefix.ids, *inside), pieces).text
    assert text == "Das Ha" + "".join(pieces.texts(inside))


def test_the_model_reads_masks_and_small_letters_where_it_reads_them_in_the_source(pieces: Pieces) -> None:
    shown = plan_sentence("Open {name} twice: {name}.", pieces).with_prefix("{name}{name}s {name}", pieces).prefix
    assert shown is not None
    assert shown.decoded_masks == {1, 2}
    assert shown.ids == pieces.encode(["X1X2 s {name}"])[0][:-1]
    capitals = plan_sentence("WHERE IS THE STATION?", pieces).with_prefix("WO IST", pieces)
    assert capitals.prefix is not None
    assert capitals.prefix.ids == pieces.encode(["wo ist"])[0][:-1]
    assert capitals.restore((*capitals.prefix.ids, *pieces.encode(["der"])[0][:-1]), pieces).text == "WO IST DER"
