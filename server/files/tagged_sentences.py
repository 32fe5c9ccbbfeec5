"""Tags inside the sentences of a file: removed before translation, and placed in the translations by word alignment, as
in texts (`server.text.markup.tags`)."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.documents.cutting import cut
from server.documents.encoding_cache import in_portions
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.scheduling.caller import in_background
from server.stores.records import Sentence
from server.text.markup.tags import Pair, place_tags, strip_tags
from server.text.protect.terms import Terms
from server.text.split.plan import plan_sentence
from server.translation.alignment import AlignmentItem, align
from server.translation.translator import Translator


def without_tags(sentences: Sequence[Sentence], translator: Translator) -> list[Sentence]:
    """The sentences as the model reads them."""
    readable = []
    for sentence in sentences:
        text, tags = strip_tags(sentence.source)
        readable.append(dataclasses.replace(sentence, source=text, parts=cut(text, translator)) if tags else sentence)
    return readable


async def with_tags(
    translator: Translator, sentences: Sequence[Sentence], done: Sequence[Sentence], terms: Terms | None = None
) -> list[str]:
    """The translations of `sentences` with their tags; `done` are these sentences `without_tags`, translated as `terms`
    say. A sentence that has nothing to translate stays as it is. Raises EngineStopped."""
    sides = list(zip(sentences, done, strict=True))
    parts = await offload(lambda: [list(_parts(translator, *side, terms)) for side in sides])
    pairs = iter(await _aligned(translator, [part.item for of_sentence in parts for part in of_sentence]))
    return await offload(_placed, sides, parts, pairs)


def _placed(
    sides: Sequence[tuple[Sentence, Sentence]], parts: "Sequence[Sequence[_Part]]", pairs: Iterator[tuple[Pair, ...]]
) -> list[str]:
    """The translations with their tags, in order; `pairs` are the pairs of every part."""
    translations: list[str] = []
    for (original, translated), of_sentence in zip(sides, parts, strict=True):
        checkpoint()
        text, tags = strip_tags(original.source)
        aligned = [_moved(part, pair) for part in of_sentence for pair in next(pairs)]
        if not tags:
            translations.append(translated.translation or "")
        elif not of_sentence:
            translations.append(original.source)
        else:
            translations.append(place_tags(tags, text, translated.translation or "", aligned))
    return translations


@dataclass(frozen=True)
class _Part:
    """A part to align, and its start in its sentence and in the sentence's translation."""

    item: AlignmentItem
    source_at: int
    target_at: int


def _parts(translator: Translator, original: Sentence, done: Sentence, terms: Terms | None) -> Iterator[_Part]:
    """The parts of a translated sentence, none if it has no tags."""
    checkpoint()
    if not strip_tags(original.source)[1]:
        return
    source_end = target_end = 0
    for part in done.parts:
        assert part.span is not None
        start, end = part.span
        target_at = target_end + start - source_end  # the text between two parts is the source's
        item = _item(translator, done.source[start:end], part.target_ids or (), terms)
        if not (done.translation or "").startswith(item.shown, target_at):  # its terms were not masked
            item = _item(translator, item.sentence, item.ids, None)
        yield _Part(item, start, target_at)
        source_end, target_end = end, target_at + len(item.shown)


def _item(translator: Translator, text: str, ids: tuple[int, ...], terms: Terms | None) -> AlignmentItem:
    planned = plan_sentence(text, translator.source_pieces, terms=terms)
    return AlignmentItem(text, planned, ids, planned.restore(ids, translator.target_pieces).text)


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
