"""A text on the cutting table: its sentences with their ids, and how to put a translation together."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.text.long_sentences import split_long
from server.text.pieces import Pieces
from server.text.sentences import Segment, split_text, trim

EMPTY_LENGTH = 1
"""A sentence of nothing but EOS."""

_Planned = tuple[Segment, tuple[int, ...]]


@dataclass(frozen=True)
class TextPlan:
    """`segments` joined are the source text. `source_ids` belong to its sentences, in order, EOS at the end."""

    segments: tuple[Segment, ...]
    source_ids: tuple[tuple[int, ...], ...]

    @property
    def sentences(self) -> list[str]:
        return [segment.text for segment in self.segments if segment.is_sentence]

    def join(self, targets: Sequence[str]) -> str:
        """The text with `targets` in place of its sentences. Raises ValueError if their number differs."""
        if len(targets) != len(self.source_ids):
            raise ValueError(f"{len(targets)} targets for {len(self.source_ids)} sentences")
        remaining = iter(targets)
        return "".join(next(remaining) if segment.is_sentence else segment.text for segment in self.segments)


def plan_text(text: str, language: str, pieces: Pieces, max_source_length: int) -> TextPlan:
    """Cut `text` into sentences of at most `max_source_length` pieces, EOS included, and the gaps between them.

    What no model can read stays as a gap: a sentence without pieces, one character of too many. Linear in len(text).
    """
    planned: list[_Planned] = []
    for segment, ids in _with_ids(split_text(text, language), pieces):
        if len(ids) <= max_source_length:
            planned.append((segment, ids))
        else:
            planned.extend(_with_ids(_shorter(segment.text, pieces, max_source_length), pieces))
    is_readable = [EMPTY_LENGTH < len(ids) <= max_source_length for _, ids in planned]
    return TextPlan(
        tuple(Segment(segment.text, readable) for (segment, _), readable in zip(planned, is_readable, strict=True)),
        tuple(ids for (_, ids), readable in zip(planned, is_readable, strict=True) if readable),
    )


def _with_ids(segments: Sequence[Segment], pieces: Pieces) -> list[_Planned]:
    """Every segment with its ids; a gap has none."""
    ids = iter(pieces.encode([segment.text for segment in segments if segment.is_sentence]))
    return [(segment, next(ids) if segment.is_sentence else ()) for segment in segments]


def _shorter(sentence: str, pieces: Pieces, max_source_length: int) -> list[Segment]:
    """Parts of a sentence and the spaces between them."""
    cuts = split_long(sentence, max_source_length, pieces.lengths)
    return [segment for cut in cuts for segment in trim(cut) if segment.text]
