"""Where a sentence of a document looks, computed on request."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from server.backends.context import ContextAttention
from server.backends.state import Floats
from server.documents.attention_weights import look
from server.documents.drafts import words_of
from server.documents.sentence_states import DocumentStates
from server.documents.visibility import Owners
from server.runtime.offload import offload
from server.stores.records import Document, Part, Sentence
from server.translation.translator import Translator


@dataclass(frozen=True)
class SentenceWeights:
    """How much one sentence is looked at. `heads`: its weight for every head. `words`: its pieces in order, each with
    its weight for every head (the draft's pieces, where context is made of drafts); empty where words have no weights
    of their own. All weights are means over the pieces of the sentence that looks."""

    heads: tuple[float, ...]
    words: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Where a sentence looks. `seen`: sentence index -> weights, of sentences with a weight above zero; they sum to one
    for each head. `gate`: 1 keeps all of the sentence's own state, 0 takes all from context."""

    seen: dict[int, SentenceWeights]
    gate: float


async def explain(
    translator: Translator,
    document: Document,
    sentence: Sentence,
    states: DocumentStates,
    sentences: Sequence[Sentence],
) -> Explanation | None:
    """Where `sentence` looks; None when it sees nothing or has no words. `sentences` hold at least those that it sees.
    If the model needs drafts, all of them have theirs, and `sentence` has a translation: that is what looks. Raises
    Overloaded, EngineStopped."""
    context = states.seen_by(document.mode, sentence.index)
    if context is None or not sentence.parts:
        return None
    looking = [_translation(part) if translator.needs_drafts else part.source_ids[:-1] for part in sentence.parts]
    uses = await asyncio.gather(
        *(
            look(translator, part.source_ids, context, words)
            for part, words in zip(sentence.parts, looking, strict=True)
        )
    )
    lengths = [len(words) + 1 for words in looking]  # EOS looks, too
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
    """The mean over the parts of the sentence that looks, weighted by their `lengths`."""
    shares = np.array(lengths, np.float32) / sum(lengths)
    weights: Floats = sum(share * use.weights for share, use in zip(shares, uses, strict=True))
    words = [
        [share * one for one in use.words] if use.words is not None else None
        for share, use in zip(shares, uses, strict=True)
    ]
    ids = _ids_of_parts(states.owners, sentences)
    pieces = translator.target_pieces if translator.needs_drafts else translator.source_pieces
    heads: dict[int, Floats] = {}
    of_words: dict[int, list[tuple[str, tuple[float, ...]]]] = {}
    for place, owner in enumerate(states.owners[: weights.shape[1]].tolist()):
        heads[owner] = heads[owner] + weights[:, place] if owner in heads else weights[:, place]
        mine = [one[place] for one in words if one is not None]
        if mine and mine[0].size:  # of sentences before the first that is seen there are none
            texts = pieces.texts(ids[place])
            columns = np.sum(mine, axis=0).T.tolist()
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
    by_index = {one.index: one.parts for one in sentences}
    return [words_of(part) for owner in dict.fromkeys(owners.tolist()) for part in by_index[owner]]
