"""Context on the decoder's side, as far as it is the same for all runtimes: steps read the document, the encoder
does not."""

from collections.abc import Callable, Sequence

from server.backends.arrays import Flags, Ints, pad_ids
from server.backends.attention import with_document
from server.backends.context import Attended, EncodedSource, SentenceContext, Side
from server.backends.memory import Encoded

Encode = Callable[[Ints, Flags], list[Encoded]]


class DecoderContext:
    """The part of a ContextBackend that encodes; `encode` is the backend's."""

    side: Side = "decoder"

    def __init__(self, encode: Encode) -> None:
        self._encode = encode

    def encode_sources(self, sources: Sequence[Sequence[int]]) -> list[EncodedSource]:
        encoded = self._encode(*pad_ids(sources))
        return [EncodedSource(tuple(ids), source) for ids, source in zip(sources, encoded, strict=True)]

    def attend(self, sentence: EncodedSource, context: SentenceContext | None) -> Attended:
        return Attended(with_document(sentence.without_context, context), None)

    def encode_in_context(
        self, source_ids: Ints, source_keep: Flags, contexts: Sequence[SentenceContext]
    ) -> list[Attended]:
        return [
            Attended(with_document(sentence, context), None)
            for sentence, context in zip(self._encode(source_ids, source_keep), contexts, strict=True)
        ]
