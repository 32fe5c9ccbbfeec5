"""Documents that name a translation memory: their sentences with the source of an entry get its translation, as a
person's, and the translations of corrections become entries."""

import dataclasses
from collections.abc import Sequence

from server.documents.cutting import edited_parts
from server.runtime.checkpoints import checkpoint
from server.stores.interface import StoreError
from server.stores.records import Document, Sentence
from server.stores.translation_memories import MemoriesFull, UnknownMemory
from server.translation.translator import Translator
from server.translation_memory.entries import RefusedPair, checked
from server.translation_memory.index import MemoryIndex
from server.translation_memory.service import TranslationMemoryService


def with_entries(sentences: Sequence[Sentence], translator: Translator, index: MemoryIndex) -> list[Sentence]:
    """New sentences, those that have words and the source of an entry with its translation."""
    return [_with_entry(sentence, translator, index) for sentence in sentences]


def _with_entry(sentence: Sentence, translator: Translator, index: MemoryIndex) -> Sentence:
    checkpoint()
    pair = index.exact(sentence.source) if sentence.parts else None
    if pair is None:
        return sentence
    parts = edited_parts(sentence.parts, pair.target, translator)
    return dataclasses.replace(sentence, parts=parts, translation=pair.target, is_edited=True)


async def index_of(memories: TranslationMemoryService | None, document: Document) -> MemoryIndex | None:
    """The index of the document's memory; None if it names none, or its memory was deleted, or two models translate
    it."""
    if memories is None or document.translation_memory_id is None or document.legs:
        return None
    try:
        return (await memories.index(document.owner, document.translation_memory_id))[1]
    except UnknownMemory:
        return None


async def keep_correction(
    memories: TranslationMemoryService, owner: str, memory_id: str, source: str, translation: str
) -> str | None:
    """Make the translation that a person wrote for a sentence an entry of the document's memory; returns why it is
    none, None if it is one. The correction itself is stored already."""
    try:
        pair = checked(source, translation)
        await memories.add(owner, memory_id, [pair], "correction")
    except (RefusedPair, MemoriesFull) as error:
        return str(error)
    except UnknownMemory:
        return "the document's translation memory was deleted"
    except StoreError:
        return "the translation memory cannot be reached at the moment: send the correction again"
    return None
