"""The deterministic, single-threaded core: step() encodes, admits, decodes and resolves sentences."""

import contextlib
import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping

from server.backends.base import Backend
from server.backends.state import Layout, document_layout
from server.engine.batch_encoder import BatchEncoder
from server.engine.batches import ENCODE_AHEAD
from server.engine.lane import EncodedSentence, Lane, LaneKind, RunningSentence
from server.engine.meter import EngineMeter
from server.engine.request import SentenceRequest, SentenceResult, Timings
from server.engine.scheduler import RequestQueue
from server.engine.scoring_lane import ScoringLane

STEPS_PER_REPORT = 32
"""Steps that are reported to the metrics at once, or all when nothing runs: a call for each step takes three times as
long."""

SHORT_SHARE = 3
"""Seconds of short requests for each second of other work, as long as there are short requests."""
MAX_ENCODE_SECONDS = 0.02
"""Seconds after which the encoder takes no further batch of longer work in a round while there are short requests."""
MAX_SHORT_CREDIT = 0.1
"""Seconds of decoding that short requests are ahead of longer work at most."""

logger = logging.getLogger("ringmt")


def lane_width(beam_size: int) -> int:
    """The narrowest lane that holds `beam_size` beams: a power of two, so that there are few lanes to step."""
    return 1 << (beam_size - 1).bit_length()


class Engine:
    """Runs the sentences of a queue. Not thread-safe: one worker owns it.

    An exception fails only the sentences that it concerns: one sentence while it is encoded, admitted or resolved, the
    sentences at the end of their rings when the rings cannot grow, a lane's sentences when the lane's step fails. Their
    futures get the exception; their slots are free again.

    Short requests (see RequestQueue) run in lanes of their own, which take turns with all other work: for each second
    of other work they get a second. A sentence that a person waits for therefore takes about twice as long beside the
    largest request as alone, and not as long as the steps of a full batch. Where all slots are taken, short requests
    have some more. While there are short requests, one of several engines does no long work that cannot be interrupted
    (see LongWork).
    """

    def __init__(
        self, backend: Backend, queue: RequestQueue, slots: int, meter: EngineMeter, num_engines: int = 1
    ) -> None:
        """`slots`: sentences that run at the same time. `num_engines`: engines that take from the queue; each takes
        only its share, so that none is idle."""
        self.backend, self.queue, self.slots, self.meter, self.num_engines = backend, queue, slots, meter, num_engines
        self._encoder = BatchEncoder(backend, meter)
        self.num_spare_slots = max(1, slots // 4)
        """Slots of short requests beside those that other work has taken."""
        self.lanes: dict[LaneKind, Lane] = {}
        self.ready: deque[EncodedSentence] = deque()
        self.ready_short: deque[EncodedSentence] = deque()
        self._short_credit = 0.0
        """Seconds that short requests may decode before it is the turn of other work."""
        self._must_wait = False
        """Another engine had to end its long work first, in the last round."""
        self._shrunk: set[LaneKind] = set()
        """Lanes that lost sentences since the last `admit`."""
        self._steps: list[tuple[int, float]] = []
        """Rows and seconds of the steps that are not reported to the metrics yet."""

    def step(self) -> None:
        """One round: at most one side task is run, every running sentence gains one token. While short requests run, or
        wait, rounds are theirs alone until they have decoded as long as the last round of other work took."""
        only_short = self._short_credit > 0 and self._has_short
        self._must_wait = False
        started = time.monotonic()
        if self.queue.num_side_tasks and not only_short:
            self.run_side_task()
        if len(self.queue):
            self.encode(only_short)
        if self.ready or self.ready_short or self._shrunk:
            self.admit()
        of_short = 0.0
        for lane in list(self.lanes.values()):  # a lane whose step fails is removed
            if lane.num_running and (lane.kind.is_short or not only_short):
                seconds = self.step_lane(lane)
                of_short += seconds if lane.kind.is_short else 0.0
        seconds = time.monotonic() - started
        if only_short:
            self._short_credit -= seconds
        else:
            self._short_credit = min(MAX_SHORT_CREDIT, SHORT_SHARE * (seconds - of_short))

    @property
    def _has_short(self) -> bool:
        return bool(self.queue.num_short) or any(
            kind.is_short and lane.num_running for kind, lane in self.lanes.items()
        )

    @property
    def is_idle(self) -> bool:
        waits = len(self.queue) or self.queue.num_side_tasks
        return not (self.ready or self.ready_short or waits or self.num_running)

    @property
    def is_blocked(self) -> bool:
        """There is nothing to do but long work, which has to wait for another engine."""
        return self._must_wait and not (self.ready or self.ready_short or self.num_running or self.queue.num_short)

    @property
    def num_running(self) -> int:
        return sum(lane.num_running for lane in self.lanes.values())

    def run_side_task(self) -> None:
        """Run the next side task. Never two between steps: the side tasks of a long document would delay all running
        sentences."""
        with self._long_work() as may_begin:
            side_task = self.queue.take_side_task() if may_begin else None
            if side_task is not None:
                try:
                    side_task.run()
                finally:
                    self.queue.task_done()

    @contextlib.contextmanager
    def _long_work(self) -> Iterator[bool]:
        """Around work that short requests would wait for; gives whether it may begin (see RequestQueue)."""
        may_begin = self.queue.begin_long_work(self.num_engines)
        self._must_wait = not may_begin
        try:
            yield may_begin
        finally:
            if may_begin:
                self.queue.end_long_work()

    def encode(self, only_short: bool = False) -> None:
        """Encode waiting sentences, a batch at a time, until all free slots can be filled, or short requests have
        waited for MAX_ENCODE_SECONDS."""
        started = time.monotonic()
        while not only_short and self._num_ready < self._num_free and len(self.queue):
            share = self.queue.fair_share(self.num_engines) - self.num_running - self._num_ready
            count = min(share, max(self._num_free - self._num_ready, ENCODE_AHEAD))
            if count <= 0:
                break
            with self._long_work() as may_begin:
                if not (may_begin and self._encode_next(count, False)):
                    break
            if self._has_short and time.monotonic() - started > MAX_ENCODE_SECONDS:
                break
        while len(self.ready_short) < self._num_free_for_short and self.queue.num_short:
            share = -(-self.queue.num_short // self.num_engines)
            if not self._encode_next(min(share, self._num_free_for_short - len(self.ready_short)), True):
                break

    @property
    def _num_ready(self) -> int:
        """Encoded sentences that have no slot yet."""
        return len(self.ready) + len(self.ready_short)

    @property
    def _num_short(self) -> int:
        """Running sentences of short requests."""
        return sum(lane.num_running for kind, lane in self.lanes.items() if kind.is_short)

    @property
    def _num_free(self) -> int:
        """Free slots for sentences of any request. Short requests are counted in the spare slots first."""
        short = self._num_short
        return self.slots - (self.num_running - short) - max(0, short - self.num_spare_slots)

    @property
    def _num_free_for_short(self) -> int:
        """Free slots for sentences of short requests, the spare ones included where other sentences run."""
        return min(self.slots - self._num_short, self.slots + self.num_spare_slots - self.num_running)

    def _encode_next(self, count: int, only_short: bool) -> bool:
        """Take up to `count` sentences and encode them; returns whether there were any."""
        if count <= 0:
            return False
        requests, aborted = self.queue.take(count, self._encoder.max_tokens, only_short)
        for request in aborted:
            self.meter.aborted("waiting", request.is_cancelled)
        for sentence in self._encoder.encode(requests, self._fail_request):
            (self.ready_short if sentence.request.is_short else self.ready).append(sentence)
        return bool(requests)

    def admit(self) -> None:
        """Admit encoded sentences to slots, oldest first; lanes that lost sentences without gaining any may shrink."""
        admitted = self._take_ready()
        for kind, sentences in admitted.items():
            self._admit_to_lane(kind, sentences)
        for kind in self._shrunk - set(admitted):
            try:
                self.lanes[kind].resize_for([])
            except Exception:  # the lane keeps its size
                logger.exception("a lane of beam width %d could not be made smaller", kind.beam)
        self._shrunk.clear()

    def _take_ready(self) -> dict[LaneKind, list[EncodedSentence]]:
        """Take as many encoded sentences as there are free slots, by the kind of their lane. Cancelled and expired ones
        are aborted."""
        others = self._pop_ready(self.ready, self._num_free)  # first, or a crowd of short requests took all slots
        short = self._pop_ready(self.ready_short, self._num_free_for_short - len(others))
        taken: dict[LaneKind, list[EncodedSentence]] = {}
        for sentence in (*short, *others):
            request = sentence.request
            width = lane_width(request.options.beam_size)
            kind = LaneKind(width, bool(sentence.content.document), bool(request.targets), request.is_short)
            taken.setdefault(kind, []).append(sentence)
        return taken

    def _pop_ready(self, ready: deque[EncodedSentence], count: int) -> list[EncodedSentence]:
        now = time.monotonic()
        popped: list[EncodedSentence] = []
        while ready and len(popped) < count:
            sentence = ready.popleft()
            if sentence.request.must_abort(now):
                self._abort(sentence.request, "waiting")
            else:
                popped.append(sentence)
        return popped

    def _admit_to_lane(self, kind: LaneKind, sentences: list[EncodedSentence]) -> None:
        """Admit sentences of one kind. If the lane cannot be resized for all of them, each is admitted alone."""
        try:
            lane = self._lane(kind, sentences[0])
            lane.resize_for(sentences)
        except Exception as error:
            if len(sentences) == 1:
                self._fail_request(sentences[0].request, error)
                return
            for sentence in sentences:
                self._admit_to_lane(kind, [sentence])
            return
        for sentence in sentences:
            try:
                lane.admit(sentence)
            except Exception as error:
                self._fail_request(sentence.request, error)

    def _lane(self, kind: LaneKind, first: EncodedSentence) -> Lane:
        """The lane of a kind, created for its first sentence."""
        if kind not in self.lanes:
            self.lanes[kind] = lane = self.new_lane(kind, document_layout([first.content]))
            lane.kind = kind
        return self.lanes[kind]

    def new_lane(self, kind: LaneKind, document: Mapping[str, Layout]) -> Lane:
        """A lane of a kind; `document`: the layout of its documents."""
        lane = ScoringLane if kind.is_scoring else Lane
        return lane(self.backend, kind.beam, self.slots, document)

    def step_lane(self, lane: Lane) -> float:
        """Step one lane, then release the sentences that are complete, cancelled or expired. Returns the seconds that
        the step took."""
        started = time.monotonic()
        rows = lane.num_running * lane.beam
        try:
            lane.grow_rings()
        except Exception as error:  # sentences that fit into their rings continue
            for slot in lane.slots_past_ring():
                self._fail_request(lane.release(slot).sentence.request, error)
        try:
            lane.step()
            complete = lane.advance()
        except Exception as error:
            self._fail_lane(lane, error)
            return time.monotonic() - started
        now = time.monotonic()
        self._steps.append((rows, now - started))
        for slot in complete:
            self._resolve(lane, slot, now)
        for request in lane.awaiting_first_token:
            self.meter.first_token(now - request.arrival)
        lane.awaiting_first_token.clear()
        for slot, running in enumerate(lane.running):
            if running is None:
                continue
            request = running.sentence.request
            if request.must_abort(now):
                lane.release(slot)
                self._abort(request, "running")
            elif request.on_partial is not None:
                self._report_partial(lane, slot, running)
        if rows != lane.num_running * lane.beam:
            self._shrunk.add(lane.kind)
        if len(self._steps) >= STEPS_PER_REPORT or not self.num_running:
            self.meter.stepped(self._steps)
            self._steps.clear()
        return time.monotonic() - started

    def _report_partial(self, lane: Lane, slot: int, running: RunningSentence) -> None:
        """Call the sentence's `on_partial` if its stable prefix has grown."""
        ids, on_partial = lane.stable_prefix(slot), running.sentence.request.on_partial
        if on_partial is not None and len(ids) > running.num_reported:
            running.num_reported = len(ids)
            on_partial(tuple(ids))

    def _resolve(self, lane: Lane, slot: int, now: float) -> None:
        """Resolve the future of a sentence whose search is complete, and free its slot."""
        running = lane.running[slot]
        assert running is not None
        sentence = running.sentence
        try:
            timings = Timings(
                queue=sentence.started - sentence.request.arrival,
                encode=sentence.encoded - sentence.started,
                decode=now - sentence.encoded,
            )
            result = SentenceResult(lane.hypotheses(slot), timings, sentence.attention)
            if sentence.request.targets:
                self.meter.scored(result)
            else:
                self.meter.finished(result, self.backend.manifest.wraps_after)
        except Exception as error:
            lane.release(slot)
            self._fail_request(sentence.request, error)
            return
        lane.release(slot)
        self.queue.task_done()
        sentence.request.future.set_result(result)

    def _abort(self, request: SentenceRequest, stage: str) -> None:
        """Abort a sentence that was taken and has no slot."""
        request.abort()
        self.queue.task_done()
        self.meter.aborted(stage, request.is_cancelled)

    def _fail_request(self, request: SentenceRequest, error: Exception) -> None:
        """Resolve a sentence that was taken and has no slot with an error."""
        self.queue.task_done()
        request.future.set_exception(error)

    def _fail_lane(self, lane: Lane, error: Exception) -> None:
        """Resolve all of a lane's sentences with `error` and discard the lane: its arrays may be half written."""
        del self.lanes[lane.kind]
        self._shrunk.discard(lane.kind)
        for running in lane.running:
            if running is not None:
                self._fail_request(running.sentence.request, error)

    def fail(self, error: Exception) -> None:
        """Resolve everything in flight with `error` and discard all lanes."""
        for ready in (self.ready_short, self.ready):
            while ready:
                self._fail_request(ready.popleft().request, error)
        for lane in list(self.lanes.values()):
            self._fail_lane(lane, error)

    def check_integrity(self) -> None:
        """Raise AssertionError if slots, lanes and counts disagree (called by tests after every step)."""
        short = sum(lane.num_running for kind, lane in self.lanes.items() if kind.is_short)
        assert short <= self.slots
        assert self.num_running <= self.slots + min(short, self.num_spare_slots)
        running = [sentence for lane in self.lanes.values() for sentence in lane.running if sentence is not None]
        requests = {id(running_sentence.sentence.request) for running_sentence in running}
        assert len(running) == len(requests), "a sentence has two slots"
        assert self.queue.in_flight >= len(running) + len(self.ready) + len(self.ready_short), (
            "a sentence is not counted as in flight"
        )
        for sentence in running:
            assert not sentence.sentence.request.future.done(), "a resolved sentence holds a slot"
        for lane in self.lanes.values():
            lane.check_integrity()

    @property
    def ring_bytes(self) -> int:
        return sum(lane.ring_bytes for lane in self.lanes.values())

    @property
    def source_bytes(self) -> int:
        return sum(lane.source_bytes for lane in self.lanes.values())
