"""Translates files: the texts of a file are one document, so that its sentences see each other."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from server.documents.cutting import cut_text
from server.documents.job import translate_pending
from server.documents.leases import Lease
from server.documents.sentence_states import StateReader
from server.documents.stores.memory import MemoryStore
from server.documents.stores.records import Document, Mode, Sentence
from server.text.flags import find_flags
from server.text.formats.table import FORMATS, open_file, suffix_of, translated_name
from server.text.terms import Terms
from server.translator import AskedOptions, Translator

BATCH = 128
"""Sentences between two calls of `told`."""
_SEPARATORS = "\x1e\x1d\x1c\x1f"


@dataclass(frozen=True)
class TranslatedFile:
    """A translated file. `flags`: flag -> number of sentences with it. `num_characters`: those of its texts."""

    data: bytes
    name: str
    media_type: str
    num_sentences: int
    num_characters: int
    flags: Mapping[str, int] = field(default_factory=dict)


async def translate_file(
    translator: Translator,
    data: bytes,
    name: str,
    reader: StateReader,
    options: AskedOptions,
    mode: Mode = "offline",
    max_characters: int = 10_000_000,
    told: Callable[[int, int], None] = lambda done, total: None,
    terms: Terms | None = None,
) -> TranslatedFile:
    """Translate a file of any format of FORMATS, with the `options` of documents and its `terms` as they say. `told` is
    called with the number of sentences that are done and of all. Nothing is kept; when cancelled, its sentences leave
    the engine.

    Raises FileError, and what `translate_pending` raises.
    """
    language = translator.languages[1]
    opened = await asyncio.to_thread(open_file, data, name, language, max_characters)
    sentences, targets = await _translated(translator, opened.texts, reader, options, mode, told, terms)
    written = await asyncio.to_thread(opened.write, targets)
    suffix = suffix_of(name, data)
    flags = Counter(flag for one in sentences for flag in find_flags(one.source, one.translation or ""))
    return TranslatedFile(
        written,
        translated_name(name, language),
        FORMATS[suffix].media_type,
        len(sentences),
        sum(map(len, opened.texts)),
        dict(flags),
    )


async def _translated(
    translator: Translator,
    texts: Sequence[str],
    reader: StateReader,
    options: AskedOptions,
    mode: Mode,
    told: Callable[[int, int], None],
    terms: Terms | None,
) -> tuple[Sequence[Sentence], list[str]]:
    """The sentences of the texts, and the translated texts. Texts are joined by a control character, which ends a
    sentence and is in no translation."""
    if not texts:
        return [], []
    separator = _free_separator(texts)
    text = texts[0] if len(texts) == 1 else separator.join(text.replace(separator, " ") for text in texts)
    sentences, end = await asyncio.to_thread(cut_text, text, translator)
    document = _document(translator, len(sentences), end, options, mode)
    store = MemoryStore()
    store.create(document, sentences)
    try:
        lease = Lease(store, document.id, None, 0)
        await translate_pending(lease, {translator.name: translator}, reader, BATCH, told, terms=terms)
        finished, done = store.read(document.id)
    finally:
        store.close()
    whole = "".join(f"{one.gap}{one.translation}" for one in done) + finished.end
    return done, [whole] if len(texts) == 1 else whole.split(separator)


def _free_separator(texts: Sequence[str]) -> str:
    """A separator that no text has; if they have all of them, the first, which is replaced by spaces in the texts."""
    free = (one for one in _SEPARATORS if not any(one in text for text in texts))
    return next(free, _SEPARATORS[0])


def _document(translator: Translator, num_sentences: int, end: str, options: AskedOptions, mode: Mode) -> Document:
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
        end=end,
        options=dict(options),
        created=now,
        touched=now,
    )
