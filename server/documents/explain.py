"""Where a sentence of a document looks, computed anew by its model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from server.backends.context import ContextUse
from server.backends.state import Floats
from server.documents.drafts import words_of
from server.documents.look import look
from server.documents.parts import split_parts
from server.documents.protocol import Owners
from server.documents.records import Document, Sentence
from server.documents.states import DocumentStates
from server.text.pieces import EOS_ID
from server.translator import Translator


@dataclass(frozen=True)
class SeenSentence:
    """`heads`: its weight for every head. `words`: its pieces (its draft's, where context is made of drafts) with
    theirs, in order; none where the attention knows sentences only. All weights are means over what looks, the pieces
    of all parts of a sentence."""

    heads: tuple[float, ...]
    words: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True)
class Explanation:
    """`seen`: by index, the sentences with a weight above zero; they sum to one for each head. `gate` is 1 for all of
    the sentence's own, 0 for all context."""

    seen: dict[int, SeenSentence]
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
    parts = split_parts(sentence.source_ids)
    if context is None or not parts:
        return None
    looking = _translations(sentence, len(parts)) if translator.needs_drafts else parts
    uses = await asyncio.gather(
        *(look(translator, part, context, words[:-1]) for part, words in zip(parts, looking, strict=True))
    )
    return await asyncio.to_thread(_explanation, translator, uses, [len(words) for words in looking], states, sentences)


def _translations(sentence: Sentence, count: int) -> list[tuple[int, ...]]:
    """Of every part, EOS at the end. A person's translation has no parts: all of the sentence's have the whole."""
    parts = split_parts(sentence.target_ids or ())
    return parts if len(parts) == count else [parts[0] if parts else (EOS_ID,)] * count


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
    heads: dict[int, Floats] = {}
    of_words: dict[int, list[tuple[str, tuple[float, ...]]]] = {}
    for place, owner in enumerate(states.owners[: weights.shape[1]].tolist()):
        heads[owner] = heads[owner] + weights[:, place] if owner in heads else weights[:, place]
        mine = [one[place] for one in words if one is not None]
        if mine:
            texts = translator.pieces.texts(ids[place][:-1])
            columns = np.sum(mine, axis=0).T.tolist()
            of_words.setdefault(owner, []).extend(
                (text, tuple(by_head)) for text, by_head in zip(texts, columns, strict=True)
            )
    seen = {
        owner: SeenSentence(tuple(by_head.tolist()), tuple(of_words.get(owner, ())))
        for owner, by_head in heads.items()
        if by_head.any()
    }
    return Explanation(seen, float(sum(share * use.gate for share, use in zip(shares, uses, strict=True))))


def _ids_of_parts(owners: Owners, sentences: Sequence[Sentence]) -> list[tuple[int, ...]]:
    by_index = {one.index: words_of(one) for one in sentences}
    return [part for owner in dict.fromkeys(owners.tolist()) for part in by_index[owner]]
