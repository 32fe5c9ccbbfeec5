"""The deterministic, single-threaded core: step() encodes, admits, steps and answers."""

import logging
import time
from collections import deque
from collections.abc import Callable

from server.backends.arrays import padded
from server.backends.base import Backend
from server.backends.context import Attended
from server.backends.state import Flags, Ints, document_layout
from server.engine.batches import ENCODE_AHEAD, ENCODE_TOKENS, similar_lengths
from server.engine.lane import EncodedSentence, Lane, LaneKind, Running
from server.engine.meter import EngineMeter
from server.engine.request import SentenceRequest, SentenceResult, Timings
from server.engine.scheduler import RequestQueue, drop, drop_if_over
from server.engine.scoring_lane import ScoringLane

STEPS_PER_REPORT = 32
"""Metrics are told of so many steps at once, or of all when nothing runs: a call for each step takes three times as
long."""

logger = logging.getLogger("ringmt")


def lane_width(beam_size: int) -> int:
    """The narrowest lane that holds `beam_size` beams: a power of two, so that few lanes share the steps."""
    return 1 << (beam_size - 1).bit_length()


class Engine:
    """Runs the sentences of a waiting room. Not thread-safe: one worker owns it.

    An exception fails only the sentences that it is about: one sentence while it is encoded, admitted or answered,
    those at the end of their rings when these cannot grow, a lane's sentences when the lane's step fails. They get the
    exception; their slots are free again.
    """

    def __init__(self, backend: Backend, waiting: RequestQueue, slots: int, meter: EngineMeter, share: int = 1) -> None:
        """`slots`: sentences that run at the same time. `share`: how many engines take from the same waiting room; each
        takes its part only, so that none is idle."""
        self.backend, self.waiting, self.slots, self.meter, self.share = backend, waiting, slots, meter, share
        self.lanes: dict[LaneKind, Lane] = {}
        self.ready: deque[EncodedSentence] = deque()
        self._shrunk: set[LaneKind] = set()
        self._steps: list[tuple[int, float]] = []
        """Rows and seconds of the steps that the metrics have not heard of."""

    def step(self) -> None:
        """One round: at most one errand is done, every running sentence gains one token."""
        if self.waiting.num_side_tasks:
            self.run_side_task()
        if len(self.waiting):
            self.encode()
        if self.ready or self._shrunk:
            self.admit()
        for lane in list(self.lanes.values()):  # a lane whose step fails is forgotten
            if lane.num_running:
                self.step_lane(lane)

    @property
    def is_idle(self) -> bool:
        return not (self.ready or len(self.waiting) or self.waiting.num_side_tasks or self.num_running)

    @property
    def num_running(self) -> int:
        return sum(lane.num_running for lane in self.lanes.values())

    def run_side_task(self) -> None:
        """Do the errand whose turn it is. Never two between steps: those of a long document would delay all running
        sentences."""
        side_task = self.waiting.take_side_task()
        if side_task is not None:
            try:
                side_task.do()
            finally:
                self.waiting.leave()

    def encode(self) -> None:
        """Encode waiting sentences, a batch at a time, until all free slots can be filled."""
        free = self.slots - self.num_running
        while len(self.ready) < free and len(self.waiting):
            fair = self.waiting.fair_share(self.share) - self.num_running - len(self.ready)
            count = min(fair, max(free - len(self.ready), ENCODE_AHEAD))
            if count <= 0:
                return
            requests, dropped = self.waiting.take(count, ENCODE_TOKENS)
            for request in dropped:
                self.meter.dropped("waiting", request.is_cancelled)
            if not requests:
                return
            self._read(requests)

    def _read(self, requests: list[SentenceRequest]) -> None:
        """Encode sentences that were taken, those of similar length together."""
        for group in similar_lengths(requests, lambda one: len(one.source_ids)):
            kinds: dict[tuple[bool, bool], list[SentenceRequest]] = {}
            for request in group:
                kinds.setdefault((request.read is not None, request.context is not None), []).append(request)
            for batch in kinds.values():
                self._read_batch(batch)

    def _read_batch(self, batch: list[SentenceRequest]) -> None:
        """Encode one batch. If that fails, each sentence is tried alone, so that it fails no others."""
        try:
            self.ready.extend(self._encode_batch(batch))
        except Exception as error:
            if len(batch) == 1:
                self._refuse(batch[0], error)
                return
            for request in batch:
                self._read_batch([request])

    def _encode_batch(self, requests: list[SentenceRequest]) -> list[EncodedSentence]:
        """Encode sentences that are alike: all or none with context, all or none read before."""
        started = time.monotonic()
        ids, keep = padded([request.source_ids for request in requests])
        if requests[0].read is not None or requests[0].context is not None:
            contents = self._attend(ids, keep, requests)
        else:
            contents = [Attended(content, None) for content in self.backend.encode(ids, keep)]
        encoded = time.monotonic()
        self.meter.encoded(len(requests), int(keep.sum()), int(keep.size - keep.sum()), encoded - started)
        return [
            EncodedSentence(request, content.encoded, started, encoded, content.use)
            for request, content in zip(requests, contents, strict=True)
        ]

    def _attend(self, ids: Ints, keep: Flags, requests: list[SentenceRequest]) -> list[Attended]:
        backend = self.backend.context
        if backend is None:
            raise ValueError(f"model '{self.backend.manifest.name}' knows no context")
        started = time.monotonic()
        attended = [backend.attend(request.read, request.context) for request in requests if request.read is not None]
        contexts = [request.context for request in requests if request.context is not None]
        if not attended:
            attended = backend.encode(ids, keep, contexts)
        if contexts:
            looked = [(context, one.use) for context, one in zip(contexts, attended, strict=True)]
            self.meter.attended(looked, time.monotonic() - started)
        return attended

    def admit(self) -> None:
        """Seat sentences that are encoded, oldest first; lanes that lost sentences without gaining any may shrink."""
        arriving = self._arriving()
        for kind, sentences in arriving.items():
            self._seat(kind, sentences)
        for kind in self._shrunk - set(arriving):
            try:
                self.lanes[kind].fit([])
            except Exception:  # the lane keeps its size and runs on
                logger.exception("a lane of beam width %d could not be made smaller", kind.beam)
        self._shrunk.clear()

    def _arriving(self) -> dict[LaneKind, list[EncodedSentence]]:
        """Take as many sentences as there are free slots; cancelled and late ones are answered on the way."""
        now = time.monotonic()
        arriving: dict[LaneKind, list[EncodedSentence]] = {}
        free = self.slots - self.num_running
        while self.ready and free > 0:
            sentence = self.ready.popleft()
            if drop_if_over(sentence.request, now):
                self.meter.dropped("waiting", sentence.request.is_cancelled)
                self.waiting.leave()
                continue
            request = sentence.request
            width = lane_width(request.options.beam_size)
            kind = LaneKind(width, bool(sentence.content.document), bool(request.targets))
            arriving.setdefault(kind, []).append(sentence)
            free -= 1
        return arriving

    def _seat(self, kind: LaneKind, sentences: list[EncodedSentence]) -> None:
        """Seat sentences of one kind. If room cannot be made for all of them, each is tried alone."""
        try:
            lane = self._lane(kind, sentences[0])
            lane.fit(sentences)
        except Exception as error:
            if len(sentences) == 1:
                self._refuse(sentences[0].request, error)
                return
            for sentence in sentences:
                self._seat(kind, [sentence])
            return
        for sentence in sentences:
            try:
                lane.admit(sentence)
            except Exception as error:
                self._refuse(sentence.request, error)

    def _lane(self, kind: LaneKind, first: EncodedSentence) -> Lane:
        """The lane of a kind, made for its first sentence if there is none."""
        if kind not in self.lanes:
            new_lane = ScoringLane if kind.scores else Lane
            self.lanes[kind] = new_lane(self.backend, kind.beam, self.slots, document_layout([first.content]))
        return self.lanes[kind]

    def step_lane(self, lane: Lane) -> None:
        """Step one lane, then release the sentences that are complete, cancelled or late."""
        started = time.monotonic()
        rows = lane.num_running * lane.beam
        try:
            lane.lengthen_rings()
        except Exception as error:  # those that have room run on
            for slot in lane.past_the_rings():
                self._refuse(lane.release(slot).sentence.request, error)
        try:
            lane.step()
            complete = lane.advance()
        except Exception as error:
            self._fail_lane(lane, error)
            return
        now = time.monotonic()
        self._steps.append((rows, now - started))
        for slot in complete:
            self._answer(lane, slot, now)
        for request in lane.fresh:
            self.meter.first_token(now - request.arrival)
        lane.fresh.clear()
        for slot, running in enumerate(lane.running):
            if running is None:
                continue
            request = running.sentence.request
            if running.is_over(now):
                drop(request)
                lane.release(slot)
                self.waiting.leave()
                self.meter.dropped("running", request.is_cancelled)
            elif request.told is not None:
                self._tell(lane, slot, running, request.told)
        if rows != lane.num_running * lane.beam:
            self._shrunk.add(lane.kind)
        if len(self._steps) >= STEPS_PER_REPORT or not self.num_running:
            self.meter.stepped(self._steps)
            self._steps.clear()

    def _tell(self, lane: Lane, slot: int, running: Running, told: Callable[[tuple[int, ...]], None]) -> None:
        """Tell a listener which beginning the search is sure of by now, if it is longer than before."""
        ids = lane.sure_beginning(slot)
        if len(ids) > running.num_reported:
            running.num_reported = len(ids)
            told(tuple(ids))

    def _answer(self, lane: Lane, slot: int, now: float) -> None:
        """Resolve the future of a sentence whose search is over, and free its slot."""
        running = lane.running[slot]
        assert running is not None
        sentence = running.sentence
        try:
            timings = Timings(
                queue=sentence.started - sentence.request.arrival,
                encode=sentence.encoded - sentence.started,
                decode=now - sentence.encoded,
            )
            result = SentenceResult(lane.hypotheses(slot), timings, sentence.use)
            if sentence.request.targets:
                self.meter.scored(result)
            else:
                self.meter.finished(result, self.backend.manifest.ring_capacity)
        except Exception as error:
            lane.release(slot)
            self._refuse(sentence.request, error)
            return
        lane.release(slot)
        self.waiting.leave()
        sentence.request.future.set_result(result)

    def _refuse(self, request: SentenceRequest, error: Exception) -> None:
        """Answer a sentence that was taken and has no slot with an error."""
        self.waiting.leave()
        request.future.set_exception(error)

    def _fail_lane(self, lane: Lane, error: Exception) -> None:
        """Answer all of a lane's sentences with `error` and discard the lane: its arrays may be half written."""
        del self.lanes[lane.kind]
        self._shrunk.discard(lane.kind)
        for running in lane.running:
            if running is not None:
                self._refuse(running.sentence.request, error)

    def fail(self, error: Exception) -> None:
        """Answer everything in flight with `error` and start afresh."""
        while self.ready:
            self._refuse(self.ready.popleft().request, error)
        for lane in list(self.lanes.values()):
            self._fail_lane(lane, error)

    def check_integrity(self) -> None:
        """Raise AssertionError if slots, lanes and counts disagree (called by tests after every step)."""
        assert self.num_running <= self.slots
        seated = [id(r.sentence.request) for lane in self.lanes.values() for r in lane.running if r is not None]
        assert len(seated) == len(set(seated)), "a sentence sits in two slots"
        assert self.waiting.in_flight >= len(seated) + len(self.ready), "a sentence in hand is not counted as in flight"
        for lane in self.lanes.values():
            lane.check_integrity()
            for running in lane.running:
                assert running is None or not running.sentence.request.future.done(), (
                    "an answered sentence holds a slot"
                )

    @property
    def ring_bytes(self) -> int:
        return sum(lane.state.memory.ring_bytes for lane in self.lanes.values())

    @property
    def source_bytes(self) -> int:
        return sum(lane.state.memory.source_bytes for lane in self.lanes.values())
