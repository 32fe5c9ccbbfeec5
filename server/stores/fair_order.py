"""In which order owners get their documents translated: start-time fair queueing, by sentences.

Every owner has a tag: how far it has been served, in sentences. The owner with the lowest tag is next; its tag rises by
the sentences of the document that it gets. An owner that had nothing to do begins where the last claim began, so that
nobody saves up turns by waiting. The Redis store does the same in Lua.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """The first document of an owner. `created` is in seconds since 1970."""

    owner: str
    created: float
    document_id: str
    num_sentences: int


def first_in_turn(candidates: Iterable[Candidate], tags: Mapping[str, int], now: int) -> Candidate | None:
    """Whose turn it is; of owners that were served the same, the one with the oldest document. `now` is the tag at
    which the last claim began."""
    return min(
        candidates, key=lambda one: (max(now, tags.get(one.owner, 0)), one.created, one.document_id), default=None
    )


def after_turn(candidate: Candidate, tags: Mapping[str, int], now: int) -> tuple[int, int]:
    """The new `now`, and the owner's new tag."""
    began = max(now, tags.get(candidate.owner, 0))
    return began, began + max(1, candidate.num_sentences)
