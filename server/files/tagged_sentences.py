"""Tags and words in capitals inside the sentences of a file: removed or written in small letters before translation,
and placed in the translations by word alignment, as in texts (`server.text.markup.tags`,
`server.text.protect.emphasis`)."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.documents.cutting import cut, restored_part
from server.documents.encoding_cache import in_portions
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.scheduling.caller import in_background
from server.stores.records import Sentence
from server.text.base.words import Place
from server.text.markup.tags import Pair, place_tags, strip_tags
from server.text.protect.emphasis import raise_emphasis
from server.text.protect.restoring import Restored
from server.text.protect.terms import Terms
from server.text.split.plan import plan_sentence
from server.translation.alignment import AlignmentItem, align
from server.translation.translator import Translator

_CAPITALS = re.compile(r"[^\W\d_a-z]{2}")


def without_tags(sentences: Sequence[Sentence], translator: Translator) -> list[Sentence]:
    """The sentences as the model reads them."""
    readable = []
    for sentence in sentences:
        text, tags = strip_tags(sentence.source)
        if tags or _CAPITALS.search(text):
            sentence = dataclasses.replace(sentence, source=text, parts=cut(text, translator, lowers_emphasis=True))
        readable.append(sentence)
    return readable


async def with_tags(
    translator: Translator, sentences: Sequence[Sentence], done: Sequence[Sentence], terms: Terms | None = None
) -> list[Restored]:
    """The translations of `sentences` with their tags and capitals; `done` are these sentences `without_tags`,
    translated as `terms` say. A sentence that has nothing to translate stays as it is. Raises EngineStopped."""
    sides = list(zip(sentences, done, strict=True))
    parts = await offload(lambda: [list(_parts(translator, *side, terms)) for side in sides])
    pairs = iter(await _aligned(translator, [part.item for of_sentence in parts for part in of_sentence]))
    return await offload(_placed, sides, parts, pairs)


def _placed(
    sides: Sequence[tuple[Sentence, Sentence]], parts: "Sequence[Sequence[_Part]]", pairs: Iterator[tuple[Pair, ...]]
) -> list[Restored]:
    """The translations with their tags, in order; `pairs` are the pairs of every part."""
    translations: list[Restored] = []
    for (original, translated), of_sentence in zip(sides, parts, strict=True):
        checkpoint()
        text, tags = strip_tags(original.source)
        aligned = [_moved(part, pair) for part in of_sentence for pair in next(pairs)]
        target, is_moved = translated.translation or "", "moved" in translated.flags
        emphasized = [place for part in of_sentence for place in part.emphasized]
        if emphasized:
            target, aligned, is_whole = raise_emphasis(text, emphasized, target, aligned)
            is_moved |= not is_whole
        if tags:
            target = place_tags(tags, text, target, aligned) if of_sentence else original.source
        translations.append(Restored(target, is_moved))
    return translations


@dataclass(frozen=True)
class _Part:
    """A part to align, and its start in its sentence and in the sentence's translation."""

    item: AlignmentItem
    source_at: int
    target_at: int

    @property
    def emphasized(self) -> list[Place]:
        """Places in the sentence."""
        by = self.source_at
        return [(start + by, end + by) for start, end in self.item.planned.masked.emphasized]


def _parts(translator: Translator, original: Sentence, done: Sentence, terms: Terms | None) -> Iterator[_Part]:
    """The parts of a translated sentence, none if it has neither tags nor words in capitals."""
    checkpoint()
    if not (strip_tags(original.source)[1] or _has_emphasis(done.source, translator)):
        return
    source_end = target_end = 0
    for part in done.parts:
        assert part.span is not None
        start, end = part.span
        target_at = target_end + start - source_end  # the text between two parts is the source's
        is_part = len(done.parts) > 1
        item = _item(translator, done.source[start:end], part.target_ids or (), terms, is_part)
        if not (done.translation or "").startswith(item.shown, target_at):  # its terms were not masked
            item = _item(translator, item.sentence, item.ids, None, is_part)
        yield _Part(item, start, target_at)
        source_end, target_end = end, target_at + len(item.shown)


def _has_emphasis(text: str, translator: Translator) -> bool:
    """Whether the model reads a word of the sentence in small letters that it has in capitals."""
    is_possible = _CAPITALS.search(text) is not None
    return is_possible and bool(plan_sentence(text, translator.source_pieces, lowers_emphasis=True).masked.emphasized)


def _item(translator: Translator, text: str, ids: tuple[int, ...], terms: Terms | None, is_part: bool) -> AlignmentItem:
    planned = plan_sentence(text, translator.source_pieces, terms=terms, lowers_emphasis=True)
    [target] = translator.target_pieces.decode([ids])
    return AlignmentItem(text, planned, ids, restored_part(text, planned.masked, target, translator, is_part).text)


def _moved(part: _Part, pair: Pair) -> Pair:
    """A pair of a part's words as places in the whole sentence."""
    (start, end), (target_start, target_end) = pair
    by, to = part.source_at, part.target_at
    return (start + by, end + by), (target_start + to, target_end + to)


async def _aligned(translator: Translator, items: Sequence[AlignmentItem]) -> list[tuple[Pair, ...]]:
    """The pairs of every item."""
    vocabularies, aligned = (translator.source_pieces, translator.target_pieces), list[tuple[Pair, ...]]()
    for portion in in_portions(translator, items):
        with in_background():
            aligned += await align(translator.worker, vocabularies, portion, None)
    return aligned
