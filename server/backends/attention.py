"""What context graphs find, in the order of the document; the same for all runtimes."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from server.artifact.artifact import Artifact
from server.backends.context import ContextAttention, SentenceContext
from server.backends.state import Encoded, Floats


def reach_of(artifact: Artifact) -> int | None:
    return None if artifact.manifest.context is None else artifact.manifest.context.reach


def attention_of(
    context: SentenceContext, weights: Floats, gate: Floats, words: Sequence[Floats] = ()
) -> ContextAttention:
    """Weights in the order of the document. `weights` [1, heads, J]: means over the pieces, page by page; `gate`
    [1, ...]; `words`: for every page [1, heads, J_p, W_p], or none."""
    mean, stored, first = weights[0], context.stored, context.skipped
    count = first + stored.num_sentences
    by_number = np.zeros((len(mean), count), np.float32)
    word_weights: list[Floats] = [np.zeros((len(mean), 0), np.float32)] * count
    start = 0
    for index, page in enumerate(stored.pages):
        numbers = page.numbers
        by_number[:, first + numbers] = mean[:, start : start + len(numbers)]
        start += max(1, len(numbers))
        for position, number in enumerate(numbers.tolist() if words else ()):
            word_weights[first + number] = words[index][0, :, position, : stored.num_words[number]]
    return ContextAttention(by_number, float(gate.mean()), tuple(word_weights) if words else None)


def with_document(sentence: Encoded, context: SentenceContext | None) -> Encoded:
    """A sentence with the pages of its context, each [J_p, ...], to which its steps attend."""
    if context is None:
        return sentence
    context = context.trimmed()
    document = {name: tensor[0] for name, tensor in context.stored.tensors(context.distance).items()}
    return dataclasses.replace(sentence, document=document)
