"""What stores check before they are called."""

import pytest

from server.stores import validation
from server.stores.interface import UnknownDocument


@pytest.mark.parametrize("document_id", ["", "a b", "\u00e4", "x" * 129, "../x", "\n"])
def test_impossible_ids_are_unknown_and_shown_escaped_and_cut(document_id: str) -> None:
    with pytest.raises(UnknownDocument) as caught:
        validation.check_id(document_id)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


def test_ids_are_shown_whole_up_to_a_length() -> None:
    assert validation.shown("x" * 64) == repr("x" * 64)
    assert validation.shown("x" * 65) == repr("x" * 64 + "...")
    assert validation.check_id("A-b_9" * 25) == "A-b_9" * 25
