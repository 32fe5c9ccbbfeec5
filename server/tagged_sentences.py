"""Sentences of a file with tags in them: the model reads them without tags, and an alignment of words sets the tags
into their translations, as in texts (`server.text.tags`)."""

import asyncio
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.alignment import ToAlign, align
from server.documents.cutting import cut
from server.documents.stores.records import Sentence
from server.engine.request import Overloaded
from server.text.plan import plan_sentence
from server.text.tags import Pair, lift, place_tags
from server.translator import Translator

AT_ONCE = 64
"""Sentences that are aligned together: more would only fill the engine's waiting room."""
BACK_OFF_SECONDS = 0.1
"""How long to wait when the engine is full."""


def without_tags(sentences: Sequence[Sentence], translator: Translator) -> list[Sentence]:
    """The sentences as the model is to read them."""
    read = []
    for one in sentences:
        text, tags = lift(one.source)
        read.append(dataclasses.replace(one, source=text, parts=cut(text, translator)) if tags else one)
    return read


async def with_tags(translator: Translator, sentences: Sequence[Sentence], done: Sequence[Sentence]) -> list[str]:
    """The translations of `sentences` with their tags; `done` are these sentences `without_tags`, translated. One that
    has nothing to translate stays as it is. Raises EngineStopped."""
    translations: list[str] = []
    for start in range(0, len(done), AT_ONCE):
        some = list(zip(sentences[start : start + AT_ONCE], done[start : start + AT_ONCE], strict=True))
        parts = await asyncio.to_thread(_parts_of, translator, some)
        pairs = iter(await _aligned(translator, [part.item for of_sentence in parts for part in of_sentence]))
        for (original, one), of_sentence in zip(some, parts, strict=True):
            text, tags = lift(original.source)
            found = [_moved(part, pair) for part in of_sentence for pair in next(pairs)]
            if tags:
                translation = place_tags(tags, text, one.translation or "", found) if of_sentence else original.source
                translations.append(translation)
            else:
                translations.append(one.translation or "")
    return translations


@dataclass(frozen=True)
class _Part:
    """A part to align, and where it begins in its sentence and in the sentence's translation."""

    item: ToAlign
    source_at: int
    target_at: int


def _parts_of(translator: Translator, some: Sequence[tuple[Sentence, Sentence]]) -> list[list[_Part]]:
    return [list(_parts(translator, *both)) for both in some]


def _parts(translator: Translator, original: Sentence, done: Sentence) -> Iterator[_Part]:
    """The parts of a translated sentence, none if it has no tags."""
    if not lift(original.source)[1]:
        return
    source_end = target_end = 0
    for part in done.parts:
        assert part.span is not None
        start, end = part.span
        text = done.source[start:end]
        planned = plan_sentence(text, translator.source_pieces)
        ids = part.target_ids or ()
        shown = planned.restored(ids, translator.target_pieces).text
        target_at = target_end + start - source_end  # the text between two parts is the source's
        yield _Part(ToAlign(text, planned, ids, shown), start, target_at)
        source_end, target_end = end, target_at + len(shown)


def _moved(part: _Part, pair: Pair) -> Pair:
    """A pair of a part's words as places in the whole sentence."""
    (start, end), (target_start, target_end) = pair
    by, to = part.source_at, part.target_at
    return (start + by, end + by), (target_start + to, target_end + to)


async def _aligned(translator: Translator, items: Sequence[ToAlign]) -> list[tuple[Pair, ...]]:
    if not items:
        return []
    while True:
        try:
            vocabularies = (translator.source_pieces, translator.target_pieces)
            return await align(translator.worker, vocabularies, items, None)
        except Overloaded:
            await asyncio.sleep(BACK_OFF_SECONDS)
