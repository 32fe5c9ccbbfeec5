"""Translates texts with HTML or XML tags: the texts between the tags are translated, the tags stay."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Protocol

from server.backends.context import SentenceContext
from server.engine.request import SearchOptions
from server.runtime.offload import offload_above
from server.text.markup.markup import Kind, Markup, read_markup
from server.translation.assembly import TextHypothesis, TextTranslation, TranslationOutcome


class TranslatesTexts(Protocol):
    """A translator, or a pivot of two."""

    async def translate(
        self,
        texts: Sequence[str],
        options: SearchOptions,
        context: SentenceContext | None = None,
        splits: bool = True,
        *,
        tagged: bool = False,
    ) -> TranslationOutcome:
        """As Translator.translate."""


async def translate_markup(
    translator: TranslatesTexts,
    documents: Sequence[str],
    kind: Kind,
    options: SearchOptions,
    context: SentenceContext | None = None,
    splits: bool = True,
    ignored: Iterable[str] = (),
) -> TranslationOutcome:
    """Like Translator.translate, for documents with tags: each is one text, whose sentences end at block tags as well.
    `ignored` names elements whose content stays as it is.

    Raises MalformedMarkup, TooManyPlaceholders, and what Translator.translate raises.
    """
    ignored = tuple(ignored)
    size = sum(map(len, documents))
    read = await offload_above(size, lambda: [read_markup(document, kind, ignored) for document in documents])
    outcome = await translator.translate(
        [text for one in read for text in one.texts], options, context, splits, tagged=True
    )
    whole = await offload_above(size, _all_whole, read, outcome.translations, options.num_hypotheses)
    return dataclasses.replace(outcome, translations=whole)


def _all_whole(
    documents: Sequence[Markup], blocks: Sequence[TextTranslation], count: int
) -> tuple[TextTranslation, ...]:
    """The documents from the translations of all of their blocks, in order."""
    remaining = iter(blocks)
    return tuple(_whole(document, [next(remaining) for _ in document.texts], count) for document in documents)


def _whole(document: Markup, blocks: Sequence[TextTranslation], count: int) -> TextTranslation:
    """A document from the translations of its blocks; its k-th hypothesis is made of every block's k-th."""
    hypotheses = []
    for rank in range(count):
        chosen = [block.hypotheses[min(rank, len(block.hypotheses) - 1)] for block in blocks]
        text = document.write([one.text for one in chosen])
        hypotheses.append(TextHypothesis(text, sum(one.score for one in chosen)))
    sentences = tuple(sentence for block in blocks for sentence in block.sentences)
    return TextTranslation(hypotheses[0].text, sentences, tuple(hypotheses))
