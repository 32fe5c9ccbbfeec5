"""The order in which the documents of several owners are claimed: start-time fair queueing (Goyal et al. 1996), in
sentences.

Every owner has a tag, its virtual time: the sentences that were claimed for it. The owner with the lowest tag is next;
its tag rises by the sentences of the claimed document. The tag of an owner that was idle begins at the tag of the last
claim, so that an idle owner saves up no share. The Redis store does the same in Lua.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """The oldest document of an owner that can be claimed. `created` is in seconds since 1970."""

    owner: str
    created: float
    document_id: str
    num_sentences: int


def next_candidate(candidates: Iterable[Candidate], tags: Mapping[str, int], now: int) -> Candidate | None:
    """The candidate of the owner with the lowest tag; among equal tags, the oldest document. `now` is the tag at which
    the last claim began."""

    def order(candidate: Candidate) -> tuple[int, float, str]:
        return max(now, tags.get(candidate.owner, 0)), candidate.created, candidate.document_id

    return min(candidates, key=order, default=None)


def tags_after(candidate: Candidate, tags: Mapping[str, int], now: int) -> tuple[int, int]:
    """The new `now`, and the new tag of the owner, after a claim."""
    began = max(now, tags.get(candidate.owner, 0))
    return began, began + max(1, candidate.num_sentences)
