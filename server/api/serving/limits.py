"""The limits of documents, glossaries, translation memories and files, as the settings have them."""

from dataclasses import replace

from server.documents.expiry import INTERVAL_SECONDS
from server.files.limits import FileLimits
from server.settings import Settings
from server.stores.glossaries import GlossaryLimits
from server.stores.limits import DocumentLimits
from server.stores.translation_memories import MemoryLimits

MAX_WRITTEN_TEXT = 4
"""How many times as large as the largest body without a file a translation may make its file."""
MEMORY_BYTES, STORE_BYTES = 256 * 2**20, 16 * 2**30
"""Bytes of documents that are kept in this process's memory, and in other stores, by default."""
MOST_SHARES = 4
"""A key gets 1 / min(MOST_SHARES, number of keys) of the documents and bytes that are kept."""


def document_limits(settings: Settings, num_keys: int | None) -> DocumentLimits:
    """Limits on stored documents: of all owners, and of each of `num_keys` keys; None for a server without keys."""
    in_memory = settings.context_store == "memory://"
    num_bytes = settings.max_documents_bytes or (MEMORY_BYTES if in_memory else STORE_BYTES)
    expires_after = settings.document_ttl + min(INTERVAL_SECONDS, settings.document_ttl)
    everybody = DocumentLimits(documents=settings.max_documents, num_bytes=num_bytes, expires_after=expires_after)
    if num_keys is None:
        return everybody
    shares = min(MOST_SHARES, max(1, num_keys))
    return replace(
        everybody,
        owner_documents=settings.max_documents_per_key or max(1, settings.max_documents // shares),
        owner_open=settings.max_queued_documents_per_key,
        owner_bytes=settings.max_documents_bytes_per_key or max(1, num_bytes // shares),
    )


def glossary_limits(settings: Settings) -> GlossaryLimits:
    """Limits on the glossaries of each key."""
    return GlossaryLimits(settings.max_glossaries, settings.max_glossary_bytes)


def memory_limits(settings: Settings) -> MemoryLimits:
    """Limits on the translation memories of each key, and of all."""
    return MemoryLimits(
        settings.max_translation_memories,
        settings.max_translation_memory_entries,
        settings.max_translation_memory_bytes,
        settings.max_translation_memories_bytes,
    )


def file_limits(settings: Settings) -> FileLimits:
    """The limits of parsing one file."""
    return FileLimits(
        cpu_seconds=settings.file_cpu_seconds,
        wall_seconds=3 * settings.file_cpu_seconds,  # it may have to wait for a processor
        memory_bytes=settings.file_memory_bytes,
        max_written_bytes=settings.max_file_bytes + MAX_WRITTEN_TEXT * max(settings.max_body_bytes, 2**20),
    )
