"""A sentence of a document as the model reads it: one part as a rule, several where it is too long or is several
sentences, none where there is nothing to translate."""

from collections.abc import Iterable, Sequence

from server.documents.records import Sentence
from server.text.pieces import EOS_ID
from server.text.plan import TextPlan
from server.text.sentences import Segment
from server.translator import Translator

BETWEEN = "\n"
"""The gap between sentences that were given one by one."""


def split_parts(ids: Sequence[int]) -> list[tuple[int, ...]]:
    """Ids of every part, each with its EOS."""
    parts: list[tuple[int, ...]] = []
    start = 0
    for place, one in enumerate(ids):
        if one == EOS_ID:
            parts.append(tuple(ids[start : place + 1]))
            start = place + 1
    return parts


def joined(parts: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The inverse of `split_parts`."""
    return tuple(one for part in parts for one in part)


def listed_sentences(sources: Sequence[str], translator: Translator, first_index: int = 0) -> list[Sentence]:
    """Sentences as they were given, each of them one, from `first_index` on."""
    return [
        Sentence(index, source, joined(translator.plan(source).source_ids), BETWEEN if index else "")
        for index, source in enumerate(sources, first_index)
    ]


def cut_text(text: str, translator: Translator) -> tuple[list[Sentence], str]:
    """The sentences of a text with the gaps before them, and the gap at its end: joined they are the text."""
    sentences: list[Sentence] = []
    plan = translator.plan(text)
    ids, gap = iter(plan.source_ids), ""
    for segment in plan.segments:
        if segment.is_sentence:
            sentences.append(Sentence(len(sentences), segment.text, next(ids), gap))
            gap = ""
        else:
            gap += segment.text
    return sentences, gap


def plan_of(sentence: Sentence, translator: Translator) -> TextPlan:
    """How its parts make up the sentence. Cut out of a text it may look different than alone (a dash that began no
    line begins one): the ids that are kept decide."""
    plan = translator.plan(sentence.source)
    if joined(plan.source_ids) == sentence.source_ids:
        return plan
    return TextPlan((Segment(sentence.source, is_sentence=True),), (sentence.source_ids,))
