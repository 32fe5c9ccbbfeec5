"""A file in, the same file translated out: its texts are one document, so that its sentences see each other."""

import dataclasses
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from server.documents.cutting import cut_text, listed_sentences
from server.documents.job import translate_pending
from server.documents.leases import Lease
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.files.formats.base import FileTooLarge
from server.files.formats.registry import translated_name
from server.files.parsing import ParsedFile
from server.files.tagged_sentences import with_tags, without_tags
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.stores.memory import MemoryStore
from server.stores.records import Document, Mode, Sentence
from server.stores.threads import in_store_thread
from server.text.checks.flags import find_flags
from server.text.protect.pivot_placeholders import PivotPlaceholders
from server.text.protect.terms import Terms
from server.text.split.sentences import split_text
from server.translation.pivot import bare, lacks
from server.translation.translator import RequestedOptions, Translator

STATES_BYTES = 16 * 2**20
"""Memory for the states of a file's sentences, for models whose sentences see a few others."""
BATCH = 128
"""Sentences between two calls of `told`."""
Told = Callable[[int, int], None]
"""Hears how many of how many sentences are done."""
SHORTEST_SENTENCE = 16
"""Characters of a file's sentences on average, at least: a sentence costs far more memory than its characters."""
_PIECE = 10_000
"""Characters whose sentences are counted at a time."""
_SEPARATORS = "\x1e\x1d\x1c\x1f"


@dataclass(frozen=True)
class TranslatedFile:
    """`flags`: how many sentences each was said of. `num_characters` of what was translated."""

    data: bytes
    name: str
    media_type: str
    num_sentences: int
    num_characters: int
    flags: Mapping[str, int] = field(default_factory=dict)


async def translate_file(
    legs: Sequence[Translator],
    file: ParsedFile,
    reader: StateReader,
    options: RequestedOptions,
    mode: Mode = "offline",
    told: Told = lambda done, total: None,
    terms: Terms | None = None,
) -> TranslatedFile:
    """Translate a file whose texts were read by one model, or by two of which the second reads what the first
    said. `options` as documents have them, for every leg; `terms` are translated as they say. `told` hears how many of
    how many sentences are done. Nothing is kept; cancelled, it leaves the engine.

    Raises FileError, and what `translate_pending` raises.
    """
    language = legs[-1].languages[1]
    most = max(1, file.source.max_characters // SHORTEST_SENTENCE)
    sentences, translations, targets = await _translated(legs, file.texts, reader, options, mode, told, terms, most)
    written = await file.write(targets, language)
    flags = await offload(_flags, sentences, translations)
    legs[-1].count_flags(flags)
    return TranslatedFile(
        written,
        translated_name(file.name, language),
        file.media_type,
        len(sentences),
        sum(map(len, file.texts)),
        flags,
    )


def _flags(sentences: Sequence[Sentence], translations: Sequence[str]) -> dict[str, int]:
    flags = Counter[str]()
    for one, translation in zip(sentences, translations, strict=True):
        checkpoint()
        flags.update(find_flags(one.source, translation))
    return dict(flags)


async def _translated(
    legs: Sequence[Translator],
    texts: Sequence[str],
    reader: StateReader,
    options: RequestedOptions,
    mode: Mode,
    told: Told,
    terms: Terms | None,
    most: int,
) -> tuple[list[Sentence], list[str], list[str]]:
    """The sentences of the texts (FileTooLarge for more than `most`), their translations, and the translated texts.
    Between two texts stands a control character: no sentence goes beyond it, and no translation has one. The texts are
    cut once: what the first leg says of a sentence is one sentence for the second."""
    if not texts:
        return [], [], []
    separator = _free_separator(texts)
    text = texts[0] if len(texts) == 1 else separator.join(text.replace(separator, " ") for text in texts)
    sentences, end = await offload(_cut, text, legs[0], most)
    told_of = [_told_of_leg(told, number, len(legs)) for number in range(len(legs))]
    if len(legs) == 1:
        said = await _one_leg(legs[0], sentences, reader, options, mode, told, terms)
    else:
        said = await _two_legs(legs, sentences, reader, options, mode, told_of, terms)
    whole = "".join(f"{one.gap}{target}" for one, target in zip(sentences, said, strict=True)) + end
    return sentences, said, [whole] if len(texts) == 1 else whole.split(separator)


def _cut(text: str, translator: Translator, most: int) -> tuple[list[Sentence], str]:
    """As `cut_text`. Raises FileTooLarge before it has made many more than `most` sentences."""
    count, language = 0, translator.languages[0]
    for start in range(0, len(text), _PIECE):
        count += sum(one.is_sentence for one in split_text(text[start : start + _PIECE], language))
        if count > most + start // _PIECE:  # one may be cut in two at every start
            raise FileTooLarge(f"the file has more than {most} sentences, the most that are taken; split it")
    return cut_text(text, translator)


async def _two_legs(
    legs: Sequence[Translator],
    sentences: Sequence[Sentence],
    reader: StateReader,
    options: RequestedOptions,
    mode: Mode,
    told: Sequence[Told],
    terms: Terms | None,
) -> list[str]:
    """What the second model says of what the first says of the sentences. Those that then lack a term go the way again,
    with marks in place of their terms, as in texts."""
    first, second = legs
    middles = await _one_leg(first, sentences, reader, options, mode, told[0], None)
    listed = await offload(listed_sentences, middles, second)
    said = await _one_leg(second, listed, reader, options, mode, told[1], None)
    lifts, pairs = first.worker.can_align, list(zip(sentences, said, strict=True))
    lacking = [one.index for one, text in pairs if terms is not None and lacks(terms, one.source, text, lifts)]
    if terms is None or not lacking:
        return said
    carried = PivotPlaceholders(terms, [sentences[index].source for index in lacking])
    marked = await _one_leg(first, sentences, reader, options, mode, _told_nobody, carried, lacking)
    for index, middle in zip(lacking, marked, strict=True):
        middles[index] = middle
    listed = await offload(listed_sentences, middles, second)
    ends = await _one_leg(second, listed, reader, options, mode, _told_nobody, None, lacking)
    for index, end in zip(lacking, ends, strict=True):
        said[index] = carried.fill_terms(bare(sentences[index].source, lifts), end)
    return said


async def _one_leg(
    translator: Translator,
    sentences: Sequence[Sentence],
    reader: StateReader,
    options: RequestedOptions,
    mode: Mode,
    told: Told,
    terms: Terms | None,
    only: Collection[int] | None = None,
) -> list[str]:
    """The translations of sentences that see each other, with their tags; of those with the numbers `only`, if that is
    given."""
    lifts = translator.worker.can_align
    read = await offload(without_tags, sentences, translator) if lifts else sentences
    if only is not None:
        read = [one if one.index in only else dataclasses.replace(one, translation="") for one in read]
        sentences = [one for one in sentences if one.index in only]
    document = _document(translator, len(read), options, mode)
    store = MemoryStore()
    if translator.reach is not None:  # then the states of a few sentences serve the next batch, and no other file
        reader = StateReader(StateCache(STATES_BYTES))
    await in_store_thread(store.create, document, read)
    try:
        lease = Lease(store, document.id, None, 0)
        await translate_pending(
            lease, {translator.name: translator}, reader, BATCH, told, terms=terms, counts_flags=False
        )
        kept = await in_store_thread(store.sentences, document.id)
        done = [sentence for sentence in kept if only is None or sentence.index in only]
        if lifts:
            return await with_tags(translator, sentences, done, terms)
        return [sentence.translation or "" for sentence in done]
    finally:
        reader.cache.drop(document.id)
        store.close()


def _told_nobody(done: int, total: int) -> None:
    """The sentences were counted before."""


def _told_of_leg(told: Told, number: int, count: int) -> Told:
    """What leg `number` of `count` tells: every leg has the same sentences."""
    return lambda done, total: told(number * total + done, count * total)


def _free_separator(texts: Sequence[str]) -> str:
    """One that the texts don't have; if they have all, the first, which then becomes a space in them."""
    free = (one for one in _SEPARATORS if not any(one in text for text in texts))
    return next(free, _SEPARATORS[0])


def _document(translator: Translator, num_sentences: int, options: RequestedOptions, mode: Mode) -> Document:
    now = time.time()
    source_language, target_language = translator.languages
    return Document(
        "file-" + secrets.token_hex(16),
        translator.name,
        translator.fingerprint,
        source_language,
        target_language,
        mode,
        "running",
        num_sentences,
        options=dict(options),
        created=now,
        touched=now,
    )
