"""Translates texts with HTML or XML tags: the texts between the tags are translated, the tags are kept."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Protocol

from server.runtime.offload import offload_above
from server.text.markup.markup import Markup, read_markup
from server.text.markup.tokens import Kind
from server.translation.assembly import TextHypothesis, TextTranslation, TranslationOutcome
from server.translation.planning import TextRequest


class TranslatesTexts(Protocol):
    """A model, a model with a glossary, or two models."""

    async def translate(self, request: TextRequest, /) -> TranslationOutcome:
        """As Translator.translate."""


async def translate_markup(
    translator: TranslatesTexts, request: TextRequest, kind: Kind, ignored: Iterable[str] = ()
) -> TranslationOutcome:
    """Like Translator.translate, for texts with markup, whose sentences end at block tags as well. `ignored` names
    elements whose content stays as it is.

    Raises MalformedMarkup, TooManyPlaceholders, and what Translator.translate raises.
    """
    ignored = tuple(ignored)
    size = sum(map(len, request.texts))
    documents = await offload_above(size, lambda: [read_markup(text, kind, ignored) for text in request.texts])
    blocks = [block for document in documents for block in document.texts]
    outcome = await translator.translate(dataclasses.replace(request, texts=blocks, tagged=True))
    whole = await offload_above(size, _all_whole, documents, outcome.translations, request.options.num_hypotheses)
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
        text = document.write([hypothesis.text for hypothesis in chosen])
        hypotheses.append(TextHypothesis(text, sum(hypothesis.score for hypothesis in chosen)))
    sentences = tuple(sentence for block in blocks for sentence in block.sentences)
    return TextTranslation(hypotheses[0].text, sentences, tuple(hypotheses))
