"""Translates texts whose line breaks end no sentence, and keeps the line breaks."""

import dataclasses
from collections.abc import Iterator, Sequence

from server.runtime.offload import offload_above
from server.text.split.joined_lines import Paragraph, paragraphs_of
from server.translation.assembly import TextHypothesis, TextTranslation, TranslationOutcome
from server.translation.markup_translation import TranslatesTexts
from server.translation.planning import TextRequest

Parts = list[Paragraph | str]


async def translate_lines(translator: TranslatesTexts, request: TextRequest) -> TranslationOutcome:
    """Like Translator.translate, with one hypothesis; the lines of a paragraph are joined, and each is as long in the
    translation as its share of the text. Raises what Translator.translate raises."""
    size = sum(map(len, request.texts))
    texts = await offload_above(size, lambda: [paragraphs_of(text) for text in request.texts])
    paragraphs = [part.text for parts in texts for part in parts if isinstance(part, Paragraph)]
    outcome = await translator.translate(dataclasses.replace(request, texts=paragraphs))
    whole = await offload_above(size, _all_whole, texts, outcome.translations)
    return dataclasses.replace(outcome, translations=whole)


def _all_whole(texts: Sequence[Parts], paragraphs: Sequence[TextTranslation]) -> tuple[TextTranslation, ...]:
    remaining = iter(paragraphs)
    return tuple(_whole(parts, remaining) for parts in texts)


def _whole(parts: Parts, remaining: Iterator[TextTranslation]) -> TextTranslation:
    """A text from the next translations of its paragraphs."""
    written: list[str] = []
    done: list[TextTranslation] = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
            continue
        translation = next(remaining)
        sentences = [(sentence.source, sentence.target) for sentence in translation.sentences]
        written.append(part.restored(sentences, translation.text))
        done.append(translation)
    text = "".join(written)
    score = sum(sentence.score for translation in done for sentence in translation.sentences)
    all_sentences = tuple(sentence for translation in done for sentence in translation.sentences)
    return TextTranslation(text, all_sentences, (TextHypothesis(text, score),))
