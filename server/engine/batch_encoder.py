"""Encodes sentences in batches."""

import time
from collections.abc import Callable, Iterator

from server.backends.arrays import Flags, Ints, pad_ids
from server.backends.base import Backend
from server.backends.context import Attended
from server.engine.batches import group_by_length
from server.engine.meter import EngineMeter
from server.engine.request import SentenceRequest
from server.engine.running_sentence import EncodedSentence

Fail = Callable[[SentenceRequest, Exception], None]


class BatchEncoder:
    """Sentences of similar length are encoded together; apart from these, sentences with context and sentences that
    were encoded before."""

    def __init__(self, backend: Backend, meter: EngineMeter) -> None:
        self._backend, self._meter = backend, meter
        self.max_tokens = backend.device.encoder_tokens
        """Source tokens of a batch, padding included."""
        self._max_padding = backend.device.encoder_padding

    def encode(self, requests: list[SentenceRequest], fail: Fail) -> Iterator[EncodedSentence]:
        """The sentences in the order of their batches. `fail` is called for those that cannot be encoded."""
        groups = group_by_length(requests, lambda request: len(request.source_ids), self._max_padding)
        for group in groups:
            kinds: dict[tuple[bool, bool], list[SentenceRequest]] = {}
            for request in group:
                kinds.setdefault((request.encoded is not None, request.context is not None), []).append(request)
            for batch in kinds.values():
                yield from self._encode_or_split(batch, fail)

    def _encode_or_split(self, batch: list[SentenceRequest], fail: Fail) -> Iterator[EncodedSentence]:
        """Encode one batch. If that fails, each sentence is encoded alone, so that it fails no others."""
        try:
            encoded = self._encode_batch(batch)
        except Exception as error:
            if len(batch) == 1:
                fail(batch[0], error)
                return
            for request in batch:
                yield from self._encode_or_split([request], fail)
        else:
            yield from encoded

    def _encode_batch(self, requests: list[SentenceRequest]) -> list[EncodedSentence]:
        """Encode sentences of which all or none have a context, and all or none were encoded before."""
        started = time.monotonic()
        skipped = self._backend.manifest.start_length  # the decoder reads these
        ids, keep = pad_ids([request.source_ids[skipped:] for request in requests])
        if requests[0].encoded is not None or requests[0].context is not None:
            contents = self._attend(ids, keep, requests)
        else:
            contents = [Attended(content, None) for content in self._backend.encode(ids, keep)]
        encoded = time.monotonic()
        self._meter.encoded(len(requests), int(keep.sum()), int(keep.size - keep.sum()), encoded - started)
        return [
            EncodedSentence(request, content.encoded, started, encoded, content.attention)
            for request, content in zip(requests, contents, strict=True)
        ]

    def _attend(self, ids: Ints, keep: Flags, requests: list[SentenceRequest]) -> list[Attended]:
        backend = self._backend.context
        if backend is None:
            raise ValueError(f"model '{self._backend.manifest.name}' knows no context")
        started = time.monotonic()
        encoded = [(request.encoded, request.context) for request in requests if request.encoded is not None]
        contexts = [request.context for request in requests if request.context is not None]
        if encoded:
            attended = [backend.attend(source, context) for source, context in encoded]
        else:
            attended = backend.encode_in_context(ids, keep, contexts)
        if contexts:
            attentions = [sentence.attention for sentence in attended]
            self._meter.attended(list(zip(contexts, attentions, strict=True)), time.monotonic() - started)
        return attended
