"""The deterministic, single-threaded core: step() encodes, admits, decodes and resolves sentences."""

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping

from server.backends.base import Backend
from server.backends.state import Layout, document_layout
from server.engine.batch_encoder import BatchEncoder
from server.engine.batches import ENCODE_AHEAD
from server.engine.coverage import with_coverage
from server.engine.encoded_queue import EncodedQueue
from server.engine.lane import Lane
from server.engine.lane_kind import LaneKind
from server.engine.meter import EngineMeter, StepMeter
from server.engine.resolver import Resolver
from server.engine.running_sentence import EncodedSentence, RunningSentence
from server.engine.scheduler import RequestQueue
from server.engine.scoring_lane import ScoringLane
from server.engine.short_share import ShortShare

MAX_ENCODE_SECONDS = 0.02
"""Seconds after which the encoder takes no further batch of longer work in a round while there are short requests."""

logger = logging.getLogger("ringmt")


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
        self._resolver = Resolver(queue, meter, backend.manifest.wraps_after)
        self.short_share = ShortShare(slots)
        self.lanes: dict[LaneKind, Lane] = {}
        self.encoded = EncodedQueue()
        self._must_wait = False
        """Whether, in the last round, long work had to wait for another engine."""
        self._shrunk: set[LaneKind] = set()
        """Lanes that lost sentences since the last `admit`."""
        self._steps = StepMeter(meter)

    def step(self) -> None:
        """One round: at most one side task is run, every running sentence gains one token. While short requests run, or
        wait, rounds are theirs alone until they have decoded as long as the last round of other work took."""
        only_short = self.short_share.has_turn and self._has_short
        self._must_wait = False
        started = time.monotonic()
        if self.queue.num_side_tasks and not only_short:
            self.run_side_task()
        if len(self.queue):
            self.encode(only_short)
        if self.encoded or self._shrunk:
            self.admit()
        of_short = 0.0
        for lane in list(self.lanes.values()):  # a lane whose step fails is removed
            if lane.num_running and (lane.kind.is_short or not only_short):
                seconds = self.step_lane(lane)
                of_short += seconds if lane.kind.is_short else 0.0
        self.short_share.end_round(time.monotonic() - started, of_short, only_short)

    @property
    def _has_short(self) -> bool:
        return self.queue.num_short > 0 or self._num_short > 0

    @property
    def is_idle(self) -> bool:
        waits = len(self.queue) or self.queue.num_side_tasks
        return not (self.encoded or waits or self.num_running)

    @property
    def is_blocked(self) -> bool:
        """Whether there is only long work, which has to wait for another engine."""
        return self._must_wait and not (self.encoded or self.num_running or self.queue.num_short)

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
                    side_task.run(self.backend)
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
        waited for MAX_ENCODE_SECONDS. Short requests alone, with a slot for each sentence: see tokens_to_take."""
        own = self.num_running + len(self.encoded)
        fits = own + len(self.queue) <= self.slots
        if fits and (share := self.queue.place_short(own, self.num_engines)) is not None:
            self._encode_next(self.slots - own if share else 0, True, share)
            return
        started, has_taken = time.monotonic(), False
        while not only_short and len(self.encoded) < self._num_free and len(self.queue):
            share = self.queue.fair_share(self.num_engines) - self.num_running - len(self.encoded)
            count = min(share, max(self._num_free - len(self.encoded), ENCODE_AHEAD))
            if count <= 0:
                break
            with self._long_work() as may_begin:
                if not (may_begin and self._encode_next(count, False)):
                    break
            has_taken = True
            if self._has_short and time.monotonic() - started > MAX_ENCODE_SECONDS:
                break
        short = self.encoded.short
        while len(short) < self._num_free_for_short and self.queue.num_short:
            share = self.queue.fair_share_of_short(self.num_engines) - self._num_short - len(short)
            if not has_taken:  # once in a round regardless: the engine whose share it is may be busy for long
                share = max(share, -(-self.queue.num_short // self.num_engines))
            if not self._encode_next(min(share, self._num_free_for_short - len(short)), True):
                break
            has_taken = True

    @property
    def _num_short(self) -> int:
        """Running sentences of short requests."""
        return sum(lane.num_running for kind, lane in self.lanes.items() if kind.is_short)

    @property
    def _num_free(self) -> int:
        return self.short_share.num_free(self.num_running, self._num_short)

    @property
    def _num_free_for_short(self) -> int:
        return self.short_share.num_free_for_short(self.num_running, self._num_short)

    def _encode_next(self, count: int, only_short: bool, share: int | None = None) -> bool:
        """Take up to `count` sentences and encode them; returns whether there were any."""
        if count <= 0:
            return False
        requests, aborted = self.queue.take(count, self._encoder.max_tokens, only_short, share)
        for request in aborted:
            self.meter.aborted("waiting", request.is_cancelled)
        for sentence in self._encoder.encode(requests, self._resolver.fail):
            self.encoded.put(sentence)
        return bool(requests)

    def admit(self) -> None:
        """Admit encoded sentences to slots, oldest first; lanes that lost sentences without gaining any may shrink."""
        admitted = self._take_encoded()
        for kind, sentences in admitted.items():
            self._admit_to_lane(kind, sentences)
        for kind in self._shrunk - set(admitted):
            try:
                self.lanes[kind].resize_for([])
            except Exception:  # the lane keeps its size
                logger.exception("a lane of beam width %d could not be made smaller", kind.beam)
        self._shrunk.clear()

    def _take_encoded(self) -> dict[LaneKind, list[EncodedSentence]]:
        """Take as many encoded sentences as there are free slots, by the kind of their lane. Cancelled and expired ones
        are aborted."""
        sentences, aborted = self.encoded.take(self._num_free, self._num_free_for_short, time.monotonic())
        for request in aborted:
            self._resolver.abort(request, "waiting")
        taken: dict[LaneKind, list[EncodedSentence]] = {}
        for sentence in sentences:
            taken.setdefault(LaneKind.of(sentence), []).append(sentence)
        return taken

    def _admit_to_lane(self, kind: LaneKind, sentences: list[EncodedSentence]) -> None:
        """Admit sentences of one kind. If the lane cannot be resized for all of them, each is admitted alone."""
        try:
            lane = self._lane(kind, sentences[0])
            lane.resize_for(sentences)
        except Exception as error:
            if len(sentences) == 1:
                self._resolver.fail(sentences[0].request, error)
                return
            for sentence in sentences:
                self._admit_to_lane(kind, [sentence])
            return
        for sentence in sentences:
            try:
                lane.admit(sentence)
            except Exception as error:
                self._resolver.fail(sentence.request, error)

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
            for slot in lane.state.slots_without_room():
                self._resolver.fail(lane.release(slot).sentence.request, error)
        try:
            lane.step()
            complete = lane.advance()
        except Exception as error:
            self._fail_lane(lane, error)
            return time.monotonic() - started
        now = time.monotonic()
        self._steps.add(rows, now - started)
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
                self._resolver.abort(request, "running")
            elif request.on_partial is not None:
                self._report_partial(lane, slot, running)
        if rows != lane.num_running * lane.beam:
            self._shrunk.add(lane.kind)
        if not self.num_running:
            self._steps.report()
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
        try:
            hypotheses = with_coverage(self.backend, running.sentence, lane.hypotheses(slot))
        except Exception as error:
            self._resolver.fail(lane.release(slot).sentence.request, error)
        else:
            self._resolver.finish(lane.release(slot).sentence, hypotheses, now)

    def _fail_lane(self, lane: Lane, error: Exception) -> None:
        """Resolve all of a lane's sentences with `error` and discard the lane: its arrays may be half written."""
        del self.lanes[lane.kind]
        self._shrunk.discard(lane.kind)
        for running in lane.running:
            if running is not None:
                self._resolver.fail(running.sentence.request, error)

    def fail(self, error: Exception) -> None:
        """Resolve everything in flight with `error` and discard all lanes."""
        for request in self.encoded.clear():
            self._resolver.fail(request, error)
        for lane in list(self.lanes.values()):
            self._fail_lane(lane, error)

    @property
    def ring_bytes(self) -> int:
        return sum(lane.ring_bytes for lane in self.lanes.values())

    @property
    def source_bytes(self) -> int:
        return sum(lane.source_bytes for lane in self.lanes.values())
