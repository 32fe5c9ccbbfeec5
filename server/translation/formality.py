"""Translations that address the reader as the request says: formally (Sie) or informally (du).

A sentence is first translated as it would be without the request. If that translation does not address the reader, or
has the requested form, it stays. Otherwise the sentence is searched again, with a wide beam and without the words of
the other form (`server.translation.address_constraint`); the best of all hypotheses in the requested form is the
translation. The model finds every word of it: nothing is written over. `loadtest.bench.formality_bench` measures how
often that is so.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.engine.request import Hypothesis, SentenceRequest, SentenceResult, Timings
from server.runtime.checkpoints import checkpoint
from server.text.base.pieces import Pieces
from server.text.checks.address import LANGUAGE, SOURCES, WANTED, Address, Formality, SourceHints, address_of
from server.translation.address_constraint import AddressConstraint, continued_words

BEAM_SIZE: Final = 8
"""The least beam of the search without the words of the other form: other words must be among its candidates."""


def supports_formality(source: str, target: str) -> bool:
    """Whether the form of address can be chosen between two languages, given by their codes."""
    return source.partition("-")[0] in SOURCES and target.partition("-")[0] == LANGUAGE


@dataclass(frozen=True)
class SecondSearch:
    """A sentence to search again: its number among the requests, and its request."""

    number: int
    request: SentenceRequest


@dataclass(frozen=True)
class Addressing:
    """Chooses translations by their form of address, for one model's vocabularies."""

    source_pieces: Pieces
    target_pieces: Pieces
    max_beam_size: int

    def second_searches(
        self, requests: Sequence[SentenceRequest], results: Sequence[SentenceResult]
    ) -> list[SecondSearch]:
        """Searches for the sentences whose best translations have another form than their options ask for."""
        searches: list[SecondSearch] = []
        for number, (request, result) in enumerate(zip(requests, results, strict=True)):
            checkpoint()
            formality = request.options.formality
            if formality is None:
                continue
            source = self._source(request)
            if self._rank(source, result.hypotheses[0], formality) > 1:
                searches.append(SecondSearch(number, self._without_other_form(request, result, source, formality)))
        return searches

    def chosen(
        self, request: SentenceRequest, result: SentenceResult, second: SentenceResult | None = None
    ) -> SentenceResult:
        """The hypotheses of one search or both, as many as the request wants, the best in the form that it asks for
        first; without those of the other form, unless there are no others."""
        formality = request.options.formality
        if formality is None:
            return result
        source = self._source(request)
        distinct = {hypothesis.ids: hypothesis for hypothesis in (result if second is None else second).hypotheses}
        distinct |= {hypothesis.ids: hypothesis for hypothesis in result.hypotheses}
        ranked = [(self._rank(source, hypothesis, formality), hypothesis) for hypothesis in distinct.values()]
        if second is None:  # the best hypothesis stays the best, whether it addresses the reader or not
            best = [hypothesis for rank, hypothesis in ranked if rank <= 1]
            return dataclasses.replace(result, hypotheses=tuple(best))
        ranked.sort(key=lambda item: (item[0], -item[1].normalized_score))
        most = max(1, ranked[0][0])
        best = [hypothesis for rank, hypothesis in ranked if rank <= most][: request.options.num_hypotheses]
        return SentenceResult(tuple(best), _sum(result.timings, second.timings), result.context)

    def _without_other_form(
        self, request: SentenceRequest, result: SentenceResult, source: str, formality: Formality
    ) -> SentenceRequest:
        spelled = [self.target_pieces.spelled(hypothesis.ids) for hypothesis in result.hypotheses]
        constraint = AddressConstraint(
            WANTED[formality], SourceHints.of(source), self.target_pieces, continued_words(spelled)
        )
        beam_size = max(request.options.beam_size, min(BEAM_SIZE, self.max_beam_size))
        return SentenceRequest(
            request.source_ids,
            dataclasses.replace(request.options, beam_size=beam_size, num_hypotheses=beam_size, formality=None),
            request.context,
            request.owner,
            encoded=request.encoded,
            prefix=request.prefix,
            constraint=constraint,
            caller=request.caller,
        )

    def _source(self, request: SentenceRequest) -> str:
        [text] = self.source_pieces.decode([request.source_ids])
        return text

    def _rank(self, source: str, hypothesis: Hypothesis, formality: Formality) -> int:
        """0 for the requested form, 1 for none, 2 for both, 3 for the other."""
        [text] = self.target_pieces.decode([hypothesis.ids])
        found = address_of(text, source)
        return 0 if found is WANTED[formality] else {Address.NONE: 1, Address.MIXED: 2}.get(found, 3)


def _sum(first: Timings, second: Timings) -> Timings:
    return Timings(first.queue + second.queue, first.encode + second.encode, first.decode + second.decode)
