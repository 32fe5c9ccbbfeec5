"""Resolves the futures of sentences that an engine has taken from the queue, each once."""

from server.engine.meter import EngineMeter
from server.engine.request import Hypothesis, SentenceRequest, SentenceResult, Timings
from server.engine.running_sentence import EncodedSentence
from server.engine.scheduler import RequestQueue


class Resolver:
    """Counts every sentence in the metrics, and as resolved in the queue. The sentences have no slot any more."""

    def __init__(self, queue: RequestQueue, meter: EngineMeter, wraps_after: int | None) -> None:
        """`wraps_after`: see Manifest."""
        self._queue, self._meter, self._wraps_after = queue, meter, wraps_after

    def finish(self, sentence: EncodedSentence, hypotheses: tuple[Hypothesis, ...], now: float) -> None:
        """The search is complete. `now`: a time.monotonic() value."""
        request = sentence.request
        timings = Timings(
            queue=sentence.started - request.arrival,
            encode=sentence.encoded - sentence.started,
            decode=now - sentence.encoded,
        )
        result = SentenceResult(hypotheses, timings, sentence.attention)
        try:
            if request.targets:
                self._meter.scored(result)
            else:
                self._meter.finished(result, self._wraps_after)
        except Exception as error:
            self.fail(request, error)
            return
        self._queue.task_done(request.is_short)
        request.future.set_result(result)

    def abort(self, request: SentenceRequest, stage: str) -> None:
        """The sentence is cancelled or past its deadline; `stage`: what it was doing."""
        request.abort()
        self._queue.task_done(request.is_short)
        self._meter.aborted(stage, request.is_cancelled)

    def fail(self, request: SentenceRequest, error: Exception) -> None:
        """The sentence gets an error."""
        self._queue.task_done(request.is_short)
        request.future.set_exception(error)
