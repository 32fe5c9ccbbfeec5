"""Cuts texts into a document's sentences and sentences into the parts that the model reads, and joins the translations
of parts. Pure functions of texts and vocabularies."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from server.runtime.checkpoints import checkpoint
from server.stores.records import Part, Sentence
from server.text.protect.masks import Masked
from server.text.protect.restoring import Restored, restore
from server.text.split.clauses import as_clause
from server.text.split.plan import TextPlan, plan_sentence, plan_text
from server.translation.translator import Translator

BETWEEN = "\n"
"""The gap between sentences that were given one by one."""


def listed_sentences(sources: Sequence[str], translator: Translator, first_index: int = 0) -> list[Sentence]:
    """One sentence for each of `sources`, with indices from `first_index` on."""
    return [
        Sentence(index, source, cut(source, translator), BETWEEN if index else "")
        for index, source in enumerate(sources, first_index)
    ]


def cut(source: str, translator: Translator, lowers_emphasis: bool = False) -> tuple[Part, ...]:
    """The parts of one sentence. `lowers_emphasis` as in `server.text.split.plan`."""
    checkpoint()
    plan = translator.planner.plan_text(source, lowers_emphasis=lowers_emphasis)
    return tuple(Part(ids, span=span) for ids, span in zip(plan.source_ids, spans_of(plan), strict=True))


def cut_text(text: str, translator: Translator) -> tuple[list[Sentence], str]:
    """The sentences of a text with the gaps before them, and the gap at its end: joined they are the text."""
    plan = translator.plan(text)
    sentences: list[Sentence] = []
    previous_end = 0
    for ids, (start, end) in zip(plan.source_ids, spans_of(plan), strict=True):
        part = Part(ids, span=(0, end - start))
        sentences.append(Sentence(len(sentences), text[start:end], (part,), text[previous_end:start]))
        previous_end = end
    return sentences, text[previous_end:]


def spans_of(plan: TextPlan) -> Iterator[tuple[int, int]]:
    """(start, end) of every sentence of a text, in characters."""
    end = 0
    for segment in plan.segments:
        start, end = end, end + len(segment.text)
        if segment.is_sentence:
            yield start, end


def joined(
    sentence: Sentence, targets: Sequence[str], translator: Translator, masks: Sequence[Masked] | None = None
) -> str:
    """The text of `restored_sentence`."""
    return restored_sentence(sentence, targets, translator, masks).text


def restored_sentence(
    sentence: Sentence, targets: Sequence[str], translator: Translator, masks: Sequence[Masked] | None = None
) -> Restored:
    """Join the translations of a sentence's parts. Protected pieces, and the text between parts, are the source's.
    `masks` is how the parts were masked, if terms were masked in them as well."""
    spans = _spans(sentence, translator)
    if spans is None:
        return Restored(" ".join(targets) if targets else sentence.source)
    texts: list[str] = []
    is_moved = False
    previous_end = 0
    for number, ((start, end), target) in enumerate(zip(spans, targets, strict=True)):
        masked = masks[number] if masks else plan_sentence(sentence.source[start:end], translator.source_pieces).masked
        part = sentence.source[start:end]
        restored = restored_part(part, masked, target, translator, len(spans) > 1)
        is_moved |= restored.is_moved
        texts += (sentence.source[previous_end:start], restored.text)
        previous_end = end
    return Restored("".join(texts) + sentence.source[previous_end:], is_moved)


def restored_part(source: str, masked: Masked, target: str, translator: Translator, is_part: bool) -> Restored:
    """What the model wrote for a sentence, or for a part of one, with protected pieces as in the source."""
    restored = restore(masked, target, not is_part, translator.languages)
    if not is_part or masked.is_capitals:
        return restored
    num_pieces = translator.target_pieces.num_pieces
    kept = tuple(span.text for span in masked.spans)
    clause = as_clause(source, restored.text, lambda word, other: num_pieces(word) <= num_pieces(other), kept)
    return replace(restored, text=clause)


def _spans(sentence: Sentence, translator: Translator) -> list[tuple[int, int]] | None:
    """(start, end) of every part. A sentence that RingMT 0.1.0 stored has no spans and is cut again; None where that
    gives other parts: then nothing in it was protected."""
    spans = [part.span for part in sentence.parts if part.span is not None]
    if len(spans) == len(sentence.parts):
        return spans
    plan = translator.plan(sentence.source)
    return list(spans_of(plan)) if plan.source_ids == tuple(part.source_ids for part in sentence.parts) else None


def edited_parts(parts: Sequence[Part], translation: str, translator: Translator) -> tuple[Part, ...]:
    """The parts of a sentence whose translation is a person's."""
    if translator.needs_drafts:
        return shared_among(parts, translation, translator)
    return tuple(replace(part, target_ids=None) for part in parts)


def shared_among(parts: Sequence[Part], translation: str, translator: Translator) -> tuple[Part, ...]:
    """The parts, each with its share of a person's translation as context: one sentence each where there are as many
    sentences as parts, else ids in proportion to the parts' lengths."""
    manifest = translator.artifact.manifest
    longest = manifest.max_target_length - 1  # BOS takes a place, too
    plan = plan_text(translation, translator.languages[1], translator.target_pieces, manifest.max_target_length)
    if len(parts) > 1 and len(plan.source_ids) == len(parts):
        shares = [ids[:-1] for ids in plan.source_ids]
    else:
        *ids, _ = plan_sentence(translation, translator.target_pieces).ids
        total, ends = sum(len(part.source_ids) for part in parts), [0]
        for part in parts:
            ends.append(ends[-1] + len(part.source_ids))
        cuts = [round(len(ids) * end / total) for end in ends] if total else []
        shares = [tuple(ids[start:end]) for start, end in itertools.pairwise(cuts)]
    return tuple(
        replace(part, target_ids=None, context_ids=share[:longest]) for part, share in zip(parts, shares, strict=True)
    )
