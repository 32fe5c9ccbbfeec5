"""Encoded sentences wait in two queues; the slow reference is a list of each."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from server.backends.state import Encoded
from server.engine.encoded_queue import EncodedQueue
from server.engine.request import SearchOptions, SentenceRequest
from server.engine.running_sentence import EncodedSentence


def sentence(is_short: bool, is_cancelled: bool) -> EncodedSentence:
    request = SentenceRequest((5, 3), SearchOptions(), is_short=is_short, is_cancelled=is_cancelled)
    return EncodedSentence(request, Encoded(2, {}), 0.0, 0.0)


def first_of(queue: list[EncodedSentence], count: int) -> tuple[list[EncodedSentence], list[SentenceRequest]]:
    """As many sentences that are not cancelled, and the cancelled ones before the last of them."""
    taken, aborted = list[EncodedSentence](), list[SentenceRequest]()
    while queue and len(taken) < count:
        first = queue.pop(0)
        if first.request.is_cancelled:
            aborted.append(first.request)
        else:
            taken.append(first)
    return taken, aborted


@given(
    waiting=st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12),
    takes=st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 6)), max_size=4),
)
def test_free_slots_go_to_the_oldest_that_are_not_cancelled(
    waiting: Sequence[tuple[bool, bool]], takes: Sequence[tuple[int, int]]
) -> None:
    queue, sentences = EncodedQueue(), [sentence(*flags) for flags in waiting]
    for each in sentences:
        queue.put(each)
    others = [each for each in sentences if not each.request.is_short]
    short = [each for each in sentences if each.request.is_short]
    for num_free, num_free_for_short in takes:
        taken, aborted = queue.take(num_free, num_free_for_short, now=0.0)
        of_others, aborted_others = first_of(others, num_free)
        of_short, aborted_short = first_of(short, num_free_for_short - len(of_others))
        assert taken == of_short + of_others
        assert aborted == aborted_others + aborted_short
        assert len(queue) == len(others) + len(short)
    assert list(queue.clear()) == [each.request for each in short + others]
    assert len(queue) == 0
