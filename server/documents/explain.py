"""Where a sentence of a document looks, computed anew by its model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from server.backends.context import ContextUse
from server.backends.state import Floats
from server.documents.context_use import look
from server.documents.drafts import words_of
from server.documents.sentence_states import DocumentStates
from server.documents.stores.records import Document, Part, Sentence
from server.documents.visibility import Owners
from server.translator import Translator


@dataclass(frozen=True)
class SentenceWeights:
    """`heads`: its weight for every head. `words`: its pieces (its draft's, where context is made of drafts) with
    theirs, in order; none where the attention knows sentences only. All weights are means over what looks, the pieces
    of all parts of a sentence."""

    heads: tuple[float, ...]
    words: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """`seen`: by index, the sentences with a weight above zero; they sum to one for each head. `gate` is 1 for all of
    the sentence's own, 0 for all context."""

    seen: dict[int, SentenceWeights]
    gate: float


async def explain(
    translator: Translator,
    document: Document,
    sentence: Sentence,
    states: DocumentStates,
    sentences: Sequence[Sentence],
) -> Explanation | None:
    """None when the sentence sees nothing or has no words. `sentences` are at least those that it sees, with their
    drafts, if the model needs these: then it is the sentence's translation that looks, and it must have one. Raises
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
    return await asyncio.to_thread(_explanation, translator, uses, lengths, states, sentences)


def _translation(part: Part) -> tuple[int, ...]:
    """The model's, or what a person wrote."""
    return (part.target_ids if part.target_ids is not None else part.context_ids) or ()


def _explanation(
    translator: Translator,
    uses: Sequence[ContextUse],
    lengths: Sequence[int],
    states: DocumentStates,
    sentences: Sequence[Sentence],
) -> Explanation:
    """The mean over parts, each counted by its length."""
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
