"""Long sentences of which the model left something out, translated again in clauses.

A sentence is split once, at the best places of its clauses (`server.text.split.clauses`). Of the two translations the
one that lacks fewer words of the source stays (`server.translation.coverage`).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from server.engine.request import SentenceRequest, SentenceResult
from server.text.base.pieces import Pieces
from server.text.split.plan import PlannedSentence, TextPlan, plan_clauses
from server.text.split.segment import Segment
from server.translation.planning import PlannedRequest


@dataclass(frozen=True)
class Resplit:
    """A sentence in clauses: its segments, and the clauses to translate, as they are planned and as requests."""

    segments: Sequence[Segment]
    planned: Sequence[PlannedSentence]
    requests: Sequence[SentenceRequest]


@dataclass(frozen=True)
class Translated:
    """A request with the results of its sentences, and the numbers of those that lack words."""

    planned: PlannedRequest
    results: Sequence[SentenceResult]
    incomplete: frozenset[int]


def plan_resplits(
    planned: PlannedRequest, incomplete: Mapping[int, int], pieces: Pieces, max_source_length: int
) -> dict[int, Resplit]:
    """The sentences with these numbers that have clauses. One with a prefix stays whole, and so does a part of a
    sentence."""
    sentences = [pair for plan in planned.plans for pair in zip(plan.sentences, plan.planned, strict=True)]
    resplits: dict[int, Resplit] = {}
    for number in incomplete:
        source, whole = sentences[number]
        if whole.is_cut or whole.prefix is not None:
            continue
        segments, clauses = plan_clauses(
            source, pieces, max_source_length, bool(whole.tags), bool(whole.masked.emphasized)
        )
        clauses = [*TextPlan((), tuple(clauses)).in_languages(planned.languages).planned]
        if len(clauses) > 1:
            request = planned.sentences[number]
            requests = [
                SentenceRequest(clause.ids, request.options, request.context, request.owner) for clause in clauses
            ]
            resplits[number] = Resplit(segments, clauses, requests)
    return resplits


def with_resplits(
    planned: PlannedRequest,
    results: Sequence[SentenceResult],
    incomplete: Mapping[int, int],
    better: Mapping[int, tuple[Resplit, Sequence[SentenceResult], Sequence[int]]],
) -> Translated:
    """The request with clauses in place of the sentences with the numbers in `better`, which has their results and how
    many words each lacks."""
    plans: list[TextPlan] = []
    sentences: list[SentenceRequest] = []
    joined: list[SentenceResult] = []
    lacking: set[int] = set()
    number = 0
    for plan in planned.plans:
        segments: list[Segment] = []
        parts: list[PlannedSentence] = []
        remaining = iter(plan.planned)
        for segment in plan.segments:
            if not segment.is_sentence:
                segments.append(segment)
                continue
            whole = next(remaining)
            if number in better:
                resplit, of_clauses, missing = better[number]
                lacking |= {len(joined) + at for at, count in enumerate(missing) if count}
                segments += resplit.segments
                parts += resplit.planned
                sentences += resplit.requests
                joined += of_clauses
            else:
                lacking |= {len(joined)} if number in incomplete else set()
                segments.append(segment)
                parts.append(whole)
                sentences.append(planned.sentences[number])
                joined.append(results[number])
            number += 1
        plans.append(TextPlan(tuple(segments), tuple(parts)))
    whole_request = dataclasses.replace(planned, plans=tuple(plans), sentences=tuple(sentences))
    return Translated(whole_request, joined, frozenset(lacking))
