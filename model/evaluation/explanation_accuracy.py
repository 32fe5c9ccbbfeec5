"""Accuracy of explanations: how often the sentence and the word with the highest attention weight are those of the
antecedent, compared with a random word and the nearest noun."""

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch

from model.config import ConfigError
from model.data.batching import Pair, collate
from model.data.items import Antecedent, ContrastiveItem
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel, words_of
from model.masks import distance_before
from model.scoring import within_reach
from model.synthetic.context.english import DETERMINERS
from model.synthetic.context.words import PUNCTUATION, split

LONGEST_PHRASE = 4
"""Words of a noun phrase, its determiner and its noun included."""
BLANK = "\u2581"
"""What the first piece of a word begins with."""


class Word(NamedTuple):
    """A word of the context, the index of its sentence, and its attention weight: summed over its pieces, averaged over
    heads and queries."""

    sentence: int
    text: str
    weight: float


@torch.no_grad()
def weighted_words(model: DocumentModel, vocabulary: Vocabulary, item: ContrastiveItem) -> list[Word]:
    """The visible words of the item's context, in order. Raises ConfigError for a layer that weighs no words of the
    source language."""
    if not model.on_encoder:
        raise ConfigError(
            "on the decoder's side context consists of translations: source words have no attention weights"
        )
    source, *before = vocabulary.encode([item.source, *item.source_context])
    context = within_reach(model, [Pair(ids, []) for ids in before])
    first = len(before) - len(context)
    read = collate([Pair(source, [])])
    encoder_output = model.base.encode(read.source, read.source_keep)
    store = model.store(words_of(model.base, model.config.side, collate(context)))
    result = model.attend(encoder_output, encoder_output, store, distance_before(len(context))[None])
    if result.word_weights is None:
        raise ConfigError(f"attention '{model.config.attention}' weighs sentences, not words")
    weights = result.word_weights[0].mean(dim=(0, 1))  # [J, W]
    return [
        Word(first + number, text, weight)
        for number, pair in enumerate(context)
        for text, weight in _joined(vocabulary.pieces(pair.source), weights[number].tolist())
    ]


def _joined(pieces: Sequence[str], weights: Sequence[float]) -> list[tuple[str, float]]:
    """Pieces and their weights, as words between blanks."""
    words: list[tuple[str, float]] = []
    for piece, weight in zip(pieces, weights, strict=False):  # weights are padded
        if piece.startswith(BLANK) or not words:
            words.append((piece.removeprefix(BLANK), weight))
        else:
            words[-1] = (words[-1][0] + piece, words[-1][1] + weight)
    return [(text, weight) for text, weight in words if text]


def noun_phrase(words: Sequence[Word], antecedent: Antecedent) -> tuple[set[int], set[int]]:
    """Indices of the words that are the noun, at each occurrence in its sentence, and of the words of its noun phrase,
    which begins with the determiner, if there is one."""
    noun = antecedent.noun.lower().split()
    cores = [word.text.strip(PUNCTUATION).lower() if word.sentence == antecedent.sentence else "" for word in words]
    nouns: set[int] = set()
    phrase: set[int] = set()
    for start in range(len(words) - len(noun) + 1):
        if cores[start : start + len(noun)] == noun:
            nouns.update(range(start, start + len(noun)))
            before = range(start - 1, max(-1, start - LONGEST_PHRASE), -1)
            begins = next((place for place in before if cores[place] in DETERMINERS), start)
            phrase.update(range(begins, start + len(noun)))
    return nouns, phrase


def explanation_accuracy(
    model: DocumentModel, vocabulary: Vocabulary, items: Sequence[ContrastiveItem], seed: int = 1
) -> dict[str, list[bool]]:
    """Condition -> is each item right? All items have an antecedent. The sentence with the highest weight is the
    antecedent's, the word with the highest weight is the noun, or stands in its noun phrase; and as often by chance: a
    word at random, and the nearest noun. An antecedent beyond the layer's reach is not found."""
    numbers = random.Random(seed)
    names = ("sentence", "noun", "noun phrase", "random sentence", "random word is the noun", "nearest noun")
    right: dict[str, list[bool]] = {name: [] for name in names}
    for item in items:
        assert item.antecedent is not None
        words = weighted_words(model, vocabulary, item)
        nouns, phrase = noun_phrase(words, item.antecedent)
        by_sentence: dict[int, float] = {}
        for word in words:
            by_sentence[word.sentence] = by_sentence.get(word.sentence, 0.0) + word.weight
        best = max(range(len(words)), key=lambda place: words[place].weight)
        result = (
            max(by_sentence, key=lambda number: by_sentence[number]) == item.antecedent.sentence,
            best in nouns,
            best in phrase,
            numbers.choice(sorted(by_sentence)) == item.antecedent.sentence,
            numbers.randrange(len(words)) in nouns,
            nearest_noun(item.reference_context) == (item.antecedent.sentence, item.antecedent.translation),
        )
        for name, is_right in zip(names, result, strict=True):
            right[name].append(is_right)
    return right


def nearest_noun(context: Sequence[str]) -> tuple[int, str] | None:
    """The last noun of German sentences, with the number of its sentence: a capital that begins no sentence."""
    for number in range(len(context) - 1, -1, -1):
        words = split(context[number])
        for place in range(len(words) - 1, 0, -1):
            begins = words[place - 1].after[-1:] in (".", "!", "?")
            if words[place].core[:1].isupper() and len(words[place].core) > 1 and not begins:
                return number, words[place].core
    return None
