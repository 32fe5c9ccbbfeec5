"""The attention weights of a sentence over the sentences that it sees: computed by the engine, summed by sentence for
the record of a translation, and explained by head and word on request. Translates nothing and stores nothing."""

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from server.backends.context import ContextAttention, EncodedSource, SentenceContext
from server.backends.state import Floats
from server.documents.drafts import words_of
from server.documents.sentence_states import DocumentStates
from server.documents.visibility import Owners
from server.runtime.offload import offload
from server.stores.records import Mode, Part, Sentence
from server.translation.translator import Translator

MAX_CONTEXT_USED = 16
"""Sentences of which a translation's record keeps the weights: those with the largest."""


async def attention_weights(
    translator: Translator,
    source_ids: Sequence[int],
    context: SentenceContext,
    target_ids: Sequence[int],
    owner: Hashable = None,
    encoding: EncodedSource | None = None,
) -> ContextAttention:
    """The weights of one part of a sentence, down to words. `source_ids` end with EOS, `target_ids` do not; a
    translation that is too long for the model is cut. Raises Overloaded, EngineStopped."""
    longest = translator.artifact.manifest.max_target_length - 1  # BOS takes a place, too
    explained = translator.worker.side_tasks.explain(source_ids, context, target_ids[:longest], owner, encoding)
    return await asyncio.wrap_future(explained)


def weights_by_sentence(use: ContextAttention, owners: Owners) -> dict[int, Floats]:
    """Sentence index -> weight per head [heads], summed over the sentence's parts; sentences without weight are left
    out. `owners` may name more parts than `use` has weights for: the rest could not be seen."""
    summed: dict[int, Floats] = {}
    for place in np.flatnonzero(use.weights.any(axis=0)).tolist():
        owner, weights = int(owners[place]), use.weights[:, place]
        summed[owner] = summed[owner] + weights if owner in summed else weights
    return summed


def largest(weights: dict[int, float]) -> tuple[tuple[int, float], ...]:
    """(sentence index, weight) of the MAX_CONTEXT_USED largest weights above zero, largest first."""
    used = [(index, weight) for index, weight in weights.items() if weight > 0]
    return tuple(sorted(used, key=lambda pair: (-pair[1], pair[0]))[:MAX_CONTEXT_USED])


@dataclass(frozen=True)
class SentenceWeights:
    """The weight of one seen sentence. `heads`: its weight for every head. `words`: its pieces in order, each with its
    weight for every head (the draft's pieces, where context is made of drafts); empty where words have no weights of
    their own. All weights are means over the pieces of the sentence that attends."""

    heads: tuple[float, ...]
    words: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """The attention of one sentence. `seen`: sentence index -> weights, of sentences with a weight above zero; they sum
    to one for each head. `gate`: 1 keeps all of the sentence's own state, 0 takes all from context."""

    seen: dict[int, SentenceWeights]
    gate: float


async def explain(
    translator: Translator,
    mode: Mode,
    sentence: Sentence,
    states: DocumentStates,
    sentences: Sequence[Sentence],
) -> Explanation | None:
    """The attention of `sentence`; None when it sees nothing or has no words. `sentences` hold at least those that it
    sees. If the model needs drafts, all of them have theirs, and `sentence` has a translation, whose words attend.
    Raises Overloaded, EngineStopped."""
    context = states.seen_by(mode, sentence.index)
    if context is None or not sentence.parts:
        return None
    attending = [_translation(part) if translator.needs_drafts else part.source_ids[:-1] for part in sentence.parts]
    uses = await asyncio.gather(
        *(
            attention_weights(translator, part.source_ids, context, words)
            for part, words in zip(sentence.parts, attending, strict=True)
        )
    )
    lengths = [len(words) + 1 for words in attending]  # EOS attends, too
    return await offload(_explanation, translator, uses, lengths, states, sentences)


def _translation(part: Part) -> tuple[int, ...]:
    """Ids of the part's translation by the model, or by a person."""
    return (part.target_ids if part.target_ids is not None else part.context_ids) or ()


def _explanation(
    translator: Translator,
    uses: Sequence[ContextAttention],
    lengths: Sequence[int],
    states: DocumentStates,
    sentences: Sequence[Sentence],
) -> Explanation:
    """The mean over the parts of the sentence that attends, weighted by their `lengths`."""
    shares = np.array(lengths, np.float32) / sum(lengths)
    weights: Floats = sum(share * use.weights for share, use in zip(shares, uses, strict=True))
    words = [
        [share * by_word for by_word in use.words] if use.words is not None else None
        for share, use in zip(shares, uses, strict=True)
    ]
    ids = _ids_of_parts(states.owners, sentences)
    pieces = translator.target_pieces if translator.needs_drafts else translator.source_pieces
    heads: dict[int, Floats] = {}
    of_words: dict[int, list[tuple[str, tuple[float, ...]]]] = {}
    for place, owner in enumerate(states.owners[: weights.shape[1]].tolist()):
        heads[owner] = heads[owner] + weights[:, place] if owner in heads else weights[:, place]
        by_part = [of_part[place] for of_part in words if of_part is not None]
        if by_part and by_part[0].size:  # sentences before the first that is seen have no words
            texts = pieces.texts(ids[place])
            columns = np.sum(by_part, axis=0).T.tolist()
            of_words.setdefault(owner, []).extend(
                (text, tuple(by_head)) for text, by_head in zip(texts, columns, strict=True)
            )
    seen = {
        owner: SentenceWeights(tuple(by_head.tolist()), tuple(of_words.get(owner, ())))
        for owner, by_head in heads.items()
        if by_head.any()
    }
    return Explanation(seen, float(sum(share * use.gate for share, use in zip(shares, uses, strict=True))))


def _ids_of_parts(owners: Owners, sentences: Sequence[Sentence]) -> list[tuple[int, ...]]:
    parts_of = {sentence.index: sentence.parts for sentence in sentences}
    return [words_of(part) for owner in dict.fromkeys(owners.tolist()) for part in parts_of[owner]]
