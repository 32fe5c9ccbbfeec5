"""First translations, where context is on the decoder's side and made of them (Maruf et al. 2019, section 3.3).

A document is translated twice: first every sentence by itself, greedily, as in training, then in the light of what the
others became. The second translations never become context, and neither do a person's: drafts depend on sources alone,
so that it does not matter in which order sentences come, are corrected or are translated again.
"""

import dataclasses
from collections.abc import Hashable, Sequence

from server.documents.parts import joined, split_parts
from server.documents.records import Sentence
from server.engine.request import SentenceRequest
from server.text.pieces import EOS_ID
from server.translator import TranslationOptions, Translator


def without_draft(translator: Translator, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Those that need one; none where context is made of sources, or of nothing."""
    return [one for one in sentences if one.draft_ids is None] if translator.needs_drafts else []


async def with_drafts(
    translator: Translator,
    sentences: Sequence[Sentence],
    max_length: int | None = None,
    deadline: float | None = None,
    owner: Hashable = None,
) -> list[Sentence]:
    """The sentences, each with its draft if the model needs drafts. `max_length` and `deadline` as in
    TranslationOptions. They wait in the line of `owner`, or in one of their own. Raises what Translator.run raises."""
    missing = without_draft(translator, sentences)
    if not missing:
        return list(sentences)
    options = TranslationOptions(beam_size=1, max_length=max_length, deadline=deadline)
    owner = object() if owner is None else owner
    requests = [
        SentenceRequest(part, translator.search_options(len(part), options), owner=owner)
        for one in missing
        for part in split_parts(one.source_ids)
    ]
    found = iter(await translator.run_in_turn(requests, deadline))
    made = {
        one.index: joined((*next(found).hypotheses[0].ids, EOS_ID) for _ in split_parts(one.source_ids))
        for one in missing
    }
    return [dataclasses.replace(one, draft_ids=made.get(one.index, one.draft_ids)) for one in sentences]


def words_of(sentence: Sentence) -> list[tuple[int, ...]]:
    """For every part of a sentence the ids, EOS at the end, of the words that others see of it: those of its draft,
    where it has one, else its own."""
    return split_parts(sentence.source_ids if sentence.draft_ids is None else sentence.draft_ids)
