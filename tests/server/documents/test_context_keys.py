"""The key of what a sentence sees: the same for the same content in the same places, and for nothing else."""

import numpy as np
import pytest

from server.backends.context import StoredDocument
from server.documents.sentence_states import DIGEST_BYTES, DocumentStates
from server.stores.records import Mode


def key(contents: str, mode: Mode, index: int, reach: int | None) -> bytes | None:
    """Of a document of one-word sentences, each a letter."""
    states = [{"sentence": np.zeros(2, np.float16)}] * len(contents)
    stored = StoredDocument.of(states, [1] * len(contents))
    digests = b"".join(letter.encode() * DIGEST_BYTES for letter in contents)
    document = DocumentStates(stored, np.arange(len(contents)), digests, reach)
    context = document.seen_by(mode, index)
    assert context is not None
    assert context.trimmed().key == context.key
    return context.key


@pytest.mark.parametrize(
    ("first", "other", "mode", "index", "reach", "same"),
    [
        ("abcdef", "abcdef", "offline", 2, None, True),
        ("abcdef", "abxdef", "offline", 1, None, False),  # it sees the third
        ("abcdef", "abxdef", "offline", 0, 1, True),  # out of its reach
        ("abcdef", "abxdef", "offline", 5, 2, True),
        ("abcdef", "xbcdef", "online", 5, 2, True),
        ("abcdef", "abcdxf", "online", 5, 2, False),
        ("abcdef", "abcxyz", "online", 3, None, True),  # what comes after it
        ("abcdef", "abdcef", "online", 5, None, False),  # another order
    ],
)
def test_what_is_seen_makes_the_key(
    first: str, other: str, mode: Mode, index: int, reach: int | None, same: bool
) -> None:
    assert (key(first, mode, index, reach) == key(other, mode, index, reach)) is same


def test_the_place_counts() -> None:
    """The key depends on the place where a sentence looked."""
    assert key("abc", "online", 2, 1) != key("bbc", "online", 1, 1)
