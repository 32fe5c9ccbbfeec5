"""Drafts: first translations, for models whose context is on the decoder's side and made of translations (Maruf et al.
2019, section 3.3).

Such a document is translated twice: first every sentence by itself, greedily, as in training; then again with the
drafts of the other sentences as context. Second translations never become context. Drafts depend on sources alone, so
it does not matter in which order sentences come, are corrected or are translated again. A person's translation replaces
the draft.
"""

import dataclasses
from collections.abc import Hashable, Sequence

from server.documents.encoding_cache import EncodingCache
from server.engine.request import SentenceRequest
from server.stores.records import Part, Sentence
from server.translation.translator import Translator


def without_draft(translator: Translator, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences that lack a draft; none when the model needs no drafts."""
    if not translator.needs_drafts:
        return []
    return [sentence for sentence in sentences if any(part.context_ids is None for part in sentence.parts)]


async def with_drafts(
    translator: Translator,
    sentences: Sequence[Sentence],
    max_length: int | None = None,
    deadline: float | None = None,
    owner: Hashable = None,
    encodings: EncodingCache | None = None,
) -> list[Sentence]:
    """The sentences, each with its draft if the model needs drafts. `max_length` and `deadline` are those of
    Translator.options. All sentences wait in one queue flow, that of `owner` if there is one. Encodings stay in
    `encodings`. Raises what Translator.run raises."""
    undrafted = without_draft(translator, sentences)
    if not undrafted:
        return list(sentences)
    options = translator.options(beam_size=1, max_length=max_length, deadline=deadline)
    owner = object() if owner is None else owner
    encodings = EncodingCache() if encodings is None else encodings
    sources = [part.source_ids for sentence in undrafted for part in sentence.parts]
    await encodings.fill(translator, sources, owner)
    requests = [SentenceRequest(ids, options, owner=owner, encoded=encodings.get(ids)) for ids in sources]
    results = iter(await translator.run_in_portions(requests, deadline))
    made = {
        sentence.index: tuple(
            dataclasses.replace(part, context_ids=next(results).hypotheses[0].ids) for part in sentence.parts
        )
        for sentence in undrafted
    }
    return [dataclasses.replace(sentence, parts=made.get(sentence.index, sentence.parts)) for sentence in sentences]


def words_of(part: Part) -> tuple[int, ...]:
    """Ids, without EOS, of the words that other sentences see: the translation's where context is made of translations,
    else the source's."""
    return part.source_ids[:-1] if part.context_ids is None else part.context_ids
