"""Sentences that are replaced by their clauses."""

from server.engine.request import Hypothesis, SearchOptions, SentenceRequest, SentenceResult, Timings
from server.text.protect.masks import Masked
from server.text.split.plan import PlannedSentence, TextPlan
from server.text.split.segment import Segment
from server.translation.planning import PlannedRequest, TextRequest
from server.translation.resplitting import Resplit, with_resplits

OPTIONS = SearchOptions()


def planned(text: str) -> PlannedSentence:
    return PlannedSentence(Masked(text), (len(text), 2))


def result(number: int) -> SentenceResult:
    return SentenceResult((Hypothesis((number,), -1.0, -1.0, "eos"),), Timings(0.0, 0.0, 0.0))


def request(sentence: PlannedSentence) -> SentenceRequest:
    return SentenceRequest(sentence.ids, OPTIONS)


def test_numbers_of_incomplete_sentences_are_those_of_the_new_request() -> None:
    """Of "A. B. C. D.", the first and third lack words; the first is replaced by two clauses, of which one lacks
    some."""
    segments = tuple(Segment(text, text != " ") for text in ("A.", " ", "B.", " ", "C.", " ", "D."))
    whole = [planned(segment.text) for segment in segments if segment.is_sentence]
    plans = (TextPlan(segments[:4], tuple(whole[:2])), TextPlan(segments[4:], tuple(whole[2:])))
    old = PlannedRequest(TextRequest(["A. B. ", "C. D."], OPTIONS), plans, tuple(map(request, whole)), 0.0)
    clauses = [planned("a1"), planned("a2")]
    resplit = Resplit(
        [Segment("a1", True), Segment(", ", False), Segment("a2", True)], clauses, [*map(request, clauses)]
    )
    better = {0: (resplit, [result(10), result(11)], [0, 2])}
    new = with_resplits(old, [result(number) for number in range(4)], {0: 5, 2: 1}, better)
    assert [item.hypotheses[0].ids[0] for item in new.results] == [10, 11, 1, 2, 3]
    assert new.incomplete == {1, 3}
    assert [plan.sentences for plan in new.planned.plans] == [["a1", "a2", "B."], ["C.", "D."]]
    assert [plan.fill(["x"] * len(plan.planned)) for plan in new.planned.plans] == ["x, x x ", "x x"]
    assert [sentence.source_ids for sentence in new.planned.sentences] == [
        sentence.ids for plan in new.planned.plans for sentence in plan.planned
    ]
