"""A file in, the same file translated out: its texts are one document, so that its sentences see each other."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from server.documents.cutting import cut_text, listed_sentences
from server.documents.job import translate_pending
from server.documents.leases import Lease
from server.documents.sentence_states import StateReader
from server.documents.stores.memory import MemoryStore
from server.documents.stores.records import Document, Mode, Sentence
from server.tagged_sentences import with_tags, without_tags
from server.text.flags import find_flags
from server.text.formats.table import FORMATS, open_file, suffix_of, translated_name
from server.text.terms import Terms
from server.translator import AskedOptions, Translator

BATCH = 128
"""Sentences between two calls of `told`."""
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
    data: bytes,
    name: str,
    reader: StateReader,
    options: AskedOptions,
    mode: Mode = "offline",
    max_characters: int = 10_000_000,
    told: Callable[[int, int], None] = lambda done, total: None,
    terms: Terms | None = None,
) -> TranslatedFile:
    """Translate a file of any format of the table by one model, or by two of which the second reads what the first
    said. `options` as documents have them, for every leg; `terms` are translated as they say, by one model only. `told`
    hears how many of how many sentences are done. Nothing is kept; cancelled, it leaves the engine.

    Raises FileError, and what `translate_pending` raises.
    """
    language = legs[-1].languages[1]
    opened = await asyncio.to_thread(open_file, data, name, language, max_characters)
    sentences, translations, targets = await _translated(legs, opened.texts, reader, options, mode, told, terms)
    written = await asyncio.to_thread(opened.write, targets)
    suffix = suffix_of(name, data)
    pairs = zip(sentences, translations, strict=True)
    flags = Counter(flag for one, translation in pairs for flag in find_flags(one.source, translation))
    return TranslatedFile(
        written,
        translated_name(name, language),
        FORMATS[suffix].media_type,
        len(sentences),
        sum(map(len, opened.texts)),
        dict(flags),
    )


async def _translated(
    legs: Sequence[Translator],
    texts: Sequence[str],
    reader: StateReader,
    options: AskedOptions,
    mode: Mode,
    told: Callable[[int, int], None],
    terms: Terms | None,
) -> tuple[list[Sentence], list[str], list[str]]:
    """The sentences of the texts, their translations, and the translated texts. Between two texts stands a control
    character: no sentence goes beyond it, and no translation has one. The texts are cut once: what the first leg says
    of a sentence is one sentence for the second."""
    if not texts:
        return [], [], []
    separator = _free_separator(texts)
    text = texts[0] if len(texts) == 1 else separator.join(text.replace(separator, " ") for text in texts)
    sentences, end = await asyncio.to_thread(cut_text, text, legs[0])
    said = [one.source for one in sentences]
    for number, leg in enumerate(legs):
        read = sentences if number == 0 else await asyncio.to_thread(listed_sentences, said, leg)
        said = await _one_leg(leg, read, reader, options, mode, _told_of_leg(told, number, len(legs)), terms)
    whole = "".join(f"{one.gap}{target}" for one, target in zip(sentences, said, strict=True)) + end
    return sentences, said, [whole] if len(texts) == 1 else whole.split(separator)


async def _one_leg(
    translator: Translator,
    sentences: Sequence[Sentence],
    reader: StateReader,
    options: AskedOptions,
    mode: Mode,
    told: Callable[[int, int], None],
    terms: Terms | None,
) -> list[str]:
    """The translations of sentences that see each other, with their tags."""
    lifts = translator.worker.can_align
    read = await asyncio.to_thread(without_tags, sentences, translator) if lifts else sentences
    document = _document(translator, len(sentences), options, mode)
    store = MemoryStore()
    store.create(document, read)
    try:
        lease = Lease(store, document.id, None, 0)
        await translate_pending(lease, {translator.name: translator}, reader, BATCH, told, terms=terms)
        done = store.sentences(document.id)
        if lifts:
            return await with_tags(translator, sentences, done, terms)
        return [one.translation or "" for one in done]
    finally:
        store.close()


def _told_of_leg(told: Callable[[int, int], None], number: int, count: int) -> Callable[[int, int], None]:
    """What leg `number` of `count` tells: every leg has the same sentences."""
    return lambda done, total: told(number * total + done, count * total)


def _free_separator(texts: Sequence[str]) -> str:
    """One that the texts don't have; if they have all, the first, which then becomes a space in them."""
    free = (one for one in _SEPARATORS if not any(one in text for text in texts))
    return next(free, _SEPARATORS[0])


def _document(translator: Translator, num_sentences: int, options: AskedOptions, mode: Mode) -> Document:
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
