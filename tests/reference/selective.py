"""Selective attention in loops, written from Maruf et al. 2019, Eq. 3-6: one head, one query, one document."""

import math

import numpy as np
from numpy.typing import NDArray

from tests.reference.sparsemax import sparsemax

Array = NDArray[np.float64]
Sentences = list[Array]
"""One [words, head_dim] array per sentence; an empty one is a sentence without words."""


def softmax(energy: Array) -> Array:
    if len(energy) == 0:
        return energy
    exponentials = np.exp(energy - energy.max())
    return np.asarray(exponentials / exponentials.sum())


def energies(query: Array, keys: list[Array]) -> Array:
    return np.array([float(np.dot(query, key)) / math.sqrt(len(query)) for key in keys])


def flat_sentence(query: Array, keys: Sentences, values: Sentences, visible: list[bool]) -> tuple[Array, Array]:
    """-> (output [head_dim], sentence weights [J])"""
    seen = [j for j, sentence in enumerate(keys) if visible[j] and len(sentence)]
    weights, output = np.zeros(len(keys)), np.zeros(len(query))
    for j, weight in zip(seen, softmax(energies(query, [keys[j].mean(axis=0) for j in seen])), strict=True):
        weights[j] = weight
        output += weight * values[j].mean(axis=0)
    return output, weights


def flat_word(query: Array, keys: Sentences, values: Sentences, visible: list[bool]) -> tuple[Array, Array]:
    seen = [(j, word) for j, sentence in enumerate(keys) if visible[j] for word in range(len(sentence))]
    weights, output = np.zeros(len(keys)), np.zeros(len(query))
    for (j, word), weight in zip(seen, softmax(energies(query, [keys[j][word] for j, word in seen])), strict=True):
        weights[j] += weight
        output += weight * values[j][word]
    return output, weights


def hierarchical(
    sentence_query: Array,
    word_query: Array,
    sentence_keys: Sentences,
    word_keys: Sentences,
    values: Sentences,
    visible: list[bool],
    sparse_words: bool,
) -> tuple[Array, Array]:
    """`sentence_keys` are words too, projected for the sentence level; their mean is the sentence's key."""
    seen = [j for j, sentence in enumerate(word_keys) if visible[j] and len(sentence)]
    weights, output = np.zeros(len(word_keys)), np.zeros(len(word_query))
    sentence_weights = sparsemax(energies(sentence_query, [sentence_keys[j].mean(axis=0) for j in seen]))
    for j, sentence_weight in zip(seen, sentence_weights, strict=True):
        weights[j] = sentence_weight
        word_energies = energies(word_query, list(word_keys[j]))
        word_weights = sparsemax(word_energies) if sparse_words else softmax(word_energies)
        for word, word_weight in enumerate(word_weights):
            output += sentence_weight * word_weight * values[j][word]
    return output, weights
