"""What a server has in its store: documents, glossaries, translation memories and keys, with the threads for them."""

from collections.abc import Callable

from server.api.serving.limits import document_limits, glossary_limits, memory_limits
from server.api.serving.model_registry import ModelRegistry
from server.documents.expiry import ExpiryThread
from server.documents.job_runner import JobRunner
from server.documents.sentence_states import DocumentCache, StateReader
from server.documents.service import DocumentService
from server.glossaries.service import GlossaryService
from server.keys.key_thread import KeyThread
from server.keys.ring import KeyRing
from server.keys.usage import CharacterUsage
from server.settings import Settings
from server.stores.open_store import open_store
from server.telemetry.metrics import Metrics
from server.telemetry.tracing import Tracing
from server.translation_memory.service import TranslationMemoryService


class StoredServices:
    """The services over one store. Their threads run from the beginning to `close`."""

    def __init__(
        self,
        settings: Settings,
        keys: KeyRing,
        usage: CharacterUsage,
        translators: ModelRegistry,
        metrics: Metrics,
        tracing: Tracing | None,
    ) -> None:
        """Raises StoreError."""
        store = self._store = open_store(settings.context_store, keys.former_owners)
        self.translation_memories = TranslationMemoryService(store.translation_memories, memory_limits(settings))
        reader = StateReader(DocumentCache.metered(settings.context_cache_bytes, metrics))
        runner = JobRunner(store, reader, translators, settings.document_lease, metrics, tracing)
        self.documents = DocumentService(
            store,
            reader,
            runner,
            translators,
            settings,
            lambda: document_limits(settings, len(keys.keys) if keys.is_required else None),
            self.translation_memories,
        )
        self.glossaries = GlossaryService(store.glossaries, glossary_limits(settings))
        self._expiry = ExpiryThread(store, settings.document_ttl, metrics, translators)
        self._expiry.start()
        self.key_thread = KeyThread(keys, usage, store, metrics)
        self.key_thread.start()

    def close(self, expiry_seconds: Callable[[], float], key_seconds: Callable[[], float]) -> None:
        """Stop the threads, each for so many seconds at most, and close the store; call it after the last request,
        whose characters the keys' thread stores."""
        self._expiry.stop(expiry_seconds())
        self.key_thread.stop(key_seconds())
        self._store.close()
