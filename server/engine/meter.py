"""The engine's metrics. Every series is found once, here, so that no step has to find one."""

from collections.abc import Sequence

from server.backends.context import ContextAttention, SentenceContext
from server.engine.request import SentenceResult
from server.telemetry.labels import FINISH_REASONS, SEARCH_LOOKUPS, SearchLookup
from server.telemetry.metrics import STAGES, Metrics

STEPS_PER_REPORT = 32
"""Steps that are reported to the metrics at once: a call for each step takes three times as long."""


class EngineMeter:
    """The engine's metrics for one model. Counters and histograms are safe to write from several workers."""

    def __init__(self, metrics: Metrics, model: str) -> None:
        self._queue = metrics.sentence_queue_seconds.labels(model)
        self._encode = metrics.sentence_encode_seconds.labels(model)
        self._first_token = metrics.time_to_first_token_seconds.labels(model)
        self._per_token = metrics.time_per_output_token_seconds.labels(model)
        self._source_tokens = metrics.source_tokens_total.labels(model)
        self._target_tokens = metrics.target_tokens_total.labels(model)
        self._scored_tokens = metrics.scored_tokens_total.labels(model)
        self._finished = {reason: metrics.sentences_total.labels(reason, model) for reason in FINISH_REASONS}
        self._step = metrics.decode_step_seconds.labels(model)
        self._rows = metrics.decode_batch_rows.labels(model)
        self._steps = metrics.decode_steps_total.labels(model)
        self._encode_tokens = metrics.encode_batch_tokens.labels(model)
        self._padding = metrics.padding_tokens_total.labels(model)
        self._candidates = metrics.context_sentences_candidate.labels(model)
        self._selected = metrics.context_sentences_selected.labels(model)
        self._selection = metrics.context_selection_seconds.labels(model)
        self._gate = metrics.context_gate_ratio.labels(model)
        self._wraps = metrics.ring_cache_wraps_total.labels(model)
        lookups = metrics.translation_cache_lookups_total
        self._lookups = {result: lookups.labels(result, model) for result in SEARCH_LOOKUPS}
        self._evictions = metrics.translation_cache_evictions_total.labels(model)
        self._cancelled = {stage: metrics.requests_cancelled_total.labels(stage, model) for stage in STAGES}
        self._expired = {stage: metrics.deadline_exceeded_total.labels(stage, model) for stage in STAGES}

    def encoded(self, sentences: int, tokens: int, padding: int, seconds: float) -> None:
        """A batch of so many sentences, source tokens and padding tokens was encoded."""
        self._encode_tokens.observe(tokens)
        self._source_tokens.inc(tokens)
        self._padding.inc(padding)
        for _ in range(sentences):
            self._encode.observe(seconds)

    def attended(self, sentences: Sequence[tuple[SentenceContext, ContextAttention | None]], seconds: float) -> None:
        """Sentences were encoded and attended to their contexts, all in so many seconds."""
        self._selection.observe(seconds)
        for context, attention in sentences:
            self._candidates.observe(int(context.visible.sum()))
            if attention is not None:
                self._selected.observe(int((attention.weights > 0).any(axis=0).sum()))
                self._gate.observe(attention.gate)

    def stepped(self, steps: Sequence[tuple[int, float]]) -> None:
        """Lanes made steps, each of (rows, seconds)."""
        for rows, seconds in steps:
            self._step.observe(seconds)
            self._rows.observe(rows)
        self._steps.inc(len(steps))

    def finished(self, result: SentenceResult, wraps_after: int | None) -> None:
        """A search is complete. `wraps_after`: see Manifest.wraps_after."""
        best = result.hypotheses[0]
        timings = result.timings
        self._queue.observe(timings.queue)
        self._per_token.observe(timings.decode / max(1, best.num_tokens))
        self._target_tokens.inc(best.num_tokens)
        self._finished[best.finish_reason].inc()
        if wraps_after is not None:
            self._wraps.inc(max(0, best.num_tokens - 1) // wraps_after)

    def scored(self, result: SentenceResult) -> None:
        """Translations of a sentence were scored."""
        self._queue.observe(result.timings.queue)
        self._scored_tokens.inc(sum(hypothesis.num_tokens for hypothesis in result.hypotheses))

    def first_token(self, seconds: float) -> None:
        """A sentence decoded its first token `seconds` after it arrived."""
        self._first_token.observe(seconds)

    def aborted(self, stage: str, is_cancelled: bool) -> None:
        """A sentence was cancelled, or its deadline passed."""
        (self._cancelled if is_cancelled else self._expired)[stage].inc()

    def looked_up(self, result: SearchLookup) -> None:
        """A sentence was looked up in the cache."""
        self._lookups[result].inc()

    def evicted(self) -> None:
        """The cache evicted a translation."""
        self._evictions.inc()


class StepMeter:
    """The steps of one engine, which are reported to the metrics together."""

    def __init__(self, meter: EngineMeter) -> None:
        self._meter = meter
        self._steps: list[tuple[int, float]] = []
        """Rows and seconds of the steps that are not reported yet."""

    def add(self, rows: int, seconds: float) -> None:
        """A lane made a step."""
        self._steps.append((rows, seconds))
        if len(self._steps) >= STEPS_PER_REPORT:
            self.report()

    def report(self) -> None:
        """Report what is not reported yet."""
        self._meter.stepped(self._steps)
        self._steps.clear()
