"""Translations of a file's sentences that lack a part of their source: found, and long sentences translated again in
clauses, as texts are (`server.translation.resplitting`)."""

import dataclasses
from collections.abc import Sequence

from server.documents.cutting import restored_sentence
from server.engine.request import SentenceRequest, SentenceResult
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.scheduling.caller import in_background
from server.stores.records import Part, Sentence
from server.text.split.plan import plan_clauses
from server.translation.translator import RequestedOptions, Translator


async def with_all_clauses(
    translator: Translator, options: RequestedOptions, sentences: Sequence[Sentence], splits: bool
) -> tuple[list[Sentence], set[int]]:
    """The translated sentences, long ones in clauses where that gives more of them, and the numbers of those that lack
    a part or were cut off. Without `splits` none is translated again. Raises EngineStopped."""
    whole = list(sentences)
    parts = [(number, part) for number, sentence in enumerate(sentences) for part in sentence.parts if part.target_ids]
    with in_background():
        pairs = [(part.source_ids, part.target_ids or ()) for _, part in parts]
        missing = await translator.find_incomplete(pairs, None)
        incomplete = {parts[at][0]: count for at, count in missing.items()}
        for number, num_missing in sorted(incomplete.items()) if splits else ():
            better = await _in_clauses(translator, options, whole[number], num_missing)
            if better is not None:
                whole[number], num_missing = better
                incomplete[number] = num_missing
    lacking = {number for number, count in incomplete.items() if count}
    return whole, lacking | {number for number, sentence in enumerate(whole) if sentence.finish_reason == "length"}


async def _in_clauses(
    translator: Translator, options: RequestedOptions, sentence: Sentence, num_missing: int
) -> tuple[Sentence, int] | None:
    """A sentence translated in clauses, and how many words it lacks; None if it has none, or lacks no fewer words."""
    if len(sentence.parts) > 1:
        return None
    parts = await offload(_clauses, translator, sentence.source)
    if len(parts) < 2:
        return None
    owner = object()
    requests = [SentenceRequest(part.source_ids, translator.options(**options), owner=owner) for part in parts]
    done = await translator.translate_clauses(requests, num_missing, None)
    return None if done is None else (_joined(translator, sentence, parts, done[0]), sum(done[1]))


def _clauses(translator: Translator, source: str) -> list[Part]:
    checkpoint()
    longest = translator.artifact.manifest.max_source_length
    segments, planned = plan_clauses(source, translator.source_pieces, longest, lowers_emphasis=True)
    parts: list[Part] = []
    remaining = iter(planned)
    end = 0
    for segment in segments:
        start, end = end, end + len(segment.text)
        if segment.is_sentence:
            parts.append(Part(next(remaining).ids, span=(start, end)))
    return parts


def _joined(
    translator: Translator, sentence: Sentence, parts: Sequence[Part], results: Sequence[SentenceResult]
) -> Sentence:
    best = [result.hypotheses[0] for result in results]
    translated = tuple(
        dataclasses.replace(part, target_ids=hypothesis.ids) for part, hypothesis in zip(parts, best, strict=True)
    )
    in_clauses = dataclasses.replace(
        sentence,
        parts=translated,
        score=sum(hypothesis.score for hypothesis in best),
        finish_reason="length" if any(hypothesis.finish_reason == "length" for hypothesis in best) else "eos",
    )
    targets = translator.target_pieces.decode(hypothesis.ids for hypothesis in best)
    restored = restored_sentence(in_clauses, targets, translator)
    flags = ("moved",) if restored.is_moved else ()
    return dataclasses.replace(in_clauses, translation=restored.text, flags=flags)
