"""Encoded sentences that wait for a slot."""

from collections import deque
from collections.abc import Iterator

from server.engine.request import SentenceRequest
from server.engine.running_sentence import EncodedSentence


class EncodedQueue:
    """Oldest first; the sentences of short requests apart from all others. Not thread-safe, but for `len`."""

    def __init__(self) -> None:
        self.others: deque[EncodedSentence] = deque()
        self.short: deque[EncodedSentence] = deque()

    def __len__(self) -> int:
        return len(self.others) + len(self.short)

    def put(self, sentence: EncodedSentence) -> None:
        (self.short if sentence.request.is_short else self.others).append(sentence)

    def take(
        self, num_free: int, num_free_for_short: int, now: float
    ) -> tuple[list[EncodedSentence], list[SentenceRequest]]:
        """Take as many sentences as there are free slots, those of short requests first. Returns them, and the
        cancelled and expired ones before them. `now`: a time.monotonic() value."""
        aborted: list[SentenceRequest] = []
        others = self._pop(self.others, num_free, now, aborted)  # first, or a crowd of short requests took all slots
        short = self._pop(self.short, num_free_for_short - len(others), now, aborted)
        return short + others, aborted

    @staticmethod
    def _pop(
        queue: deque[EncodedSentence], count: int, now: float, aborted: list[SentenceRequest]
    ) -> list[EncodedSentence]:
        popped: list[EncodedSentence] = []
        while queue and len(popped) < count:
            sentence = queue.popleft()
            if sentence.request.must_abort(now):
                aborted.append(sentence.request)
            else:
                popped.append(sentence)
        return popped

    def clear(self) -> Iterator[SentenceRequest]:
        """Take all sentences, those of short requests first."""
        for queue in (self.short, self.others):
            while queue:
                yield queue.popleft().request
