"""A stretch of a text."""

from typing import NamedTuple


class Segment(NamedTuple):
    """A stretch of a text: a sentence to translate, or a gap to keep."""

    text: str
    is_sentence: bool
