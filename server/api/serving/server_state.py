"""The state of a running server: settings, metrics, models, documents, and whether it takes requests."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field

from server.api.requests.body import FORM_BYTES
from server.api.requests.body_budget import BodyBudget
from server.api.requests.errors import ApiError
from server.api.serving.drain import Drain
from server.api.serving.file_counts import SharedFileCounts
from server.api.serving.file_jobs import FileJobs
from server.api.serving.finished_files import FinishedFiles
from server.api.serving.limits import file_limits
from server.api.serving.model_registry import ModelRegistry
from server.api.serving.process_group import ProcessGroup
from server.api.serving.routing import RoutingTable
from server.api.serving.shared_files import SharedFiles
from server.api.serving.stored_services import StoredServices
from server.api.serving.supervisor import Supervisor
from server.documents.service import DocumentService
from server.engine.request import EngineStopped
from server.engine.worker import STOP_SECONDS, EngineWorker
from server.files.parser_pool import ParserPool
from server.glossaries.service import GlossaryService
from server.keys.editing import StoreKeys
from server.keys.ring import KeyRing
from server.keys.shared_traffic import SharedUsage
from server.keys.usage import CharacterUsage
from server.runtime.loop_lag import LoopLag
from server.runtime.processes.board import READY
from server.runtime.processes.worker_process import WorkerProcess
from server.runtime.time_limit import at_most
from server.settings import Settings
from server.stores.interface import StoreError
from server.stores.threads import in_store_thread
from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL
from server.telemetry.tracing import Tracing
from server.translation.translator import Translator
from server.translation_memory.service import TranslationMemoryService

POLL_SECONDS = 0.1
"""Seconds between two checks of a stopping server whether it must stop at once."""
GIVE_UP_SECONDS = 1.0
"""Seconds to release documents in work when the drain timeout is over."""


@dataclass
class ServerState:
    """`failure`: why loading failed. `drain`: runs while the server stops."""

    settings: Settings
    metrics: Metrics
    keys: KeyRing = field(default_factory=KeyRing)
    translators: ModelRegistry = field(init=False)
    is_loaded: bool = False
    drain: Drain = field(init=False)
    failure: str | None = None
    process: WorkerProcess | None = None
    """This process, if the server has several."""
    group: ProcessGroup | None = field(init=False, default=None)
    loading: "asyncio.Task[None] | None" = None
    """Loads the models, from the application's start on."""
    tracing: Tracing | None = None
    """Sends traces to a collector, if one is configured."""
    body_budget: BodyBudget = field(init=False)
    file_budget: BodyBudget = field(init=False)
    """The bytes of bodies that have files."""
    supervisor: Supervisor = field(init=False)
    """Watches the engines of the models, while its `run` runs."""
    loop_lag: LoopLag = field(default_factory=LoopLag)
    file_jobs: FileJobs = field(init=False)
    parsers: ParserPool = field(init=False)
    """Parses and writes the files of clients."""
    usage: CharacterUsage = field(init=False)
    """The characters of accepted texts, by owner."""
    _stored: StoredServices | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        self.drain = Drain(settings.drain_timeout)
        id_start, shared, count = "", None, 1
        if self.process is not None:
            id_start, count = f"{self.process.slot:02X}", self.process.count
            shared = SharedFileCounts(self.process.file_rows, self.process.slot)
        files = FinishedFiles(settings.max_files, settings.max_files_bytes, settings.file_ttl, id_start, shared)
        self.file_jobs = FileJobs(files, settings.file_timeout)
        self.metrics.files.labels(NO_MODEL).set_function(lambda: files.num_files)
        self.metrics.files_bytes.labels(NO_MODEL).set_function(lambda: files.num_bytes)
        self.metrics.files_running.labels(NO_MODEL).set_function(lambda: self.file_jobs.num_running)
        self.parsers = ParserPool(
            file_limits(self.settings),
            self.settings.file_processes,
            on_failure=lambda reason: self.metrics.parser_failures_total.labels(reason, NO_MODEL).inc(),
        )
        self.body_budget = BodyBudget(settings.max_bodies_bytes, settings.max_body_bytes)
        one_file = settings.max_file_bytes + FORM_BYTES
        of_uploads = min(settings.max_files_bytes, max(one_file, settings.max_files_bytes // count))
        self.file_budget = BodyBudget(of_uploads, one_file)
        self.metrics.body_bytes.labels(NO_MODEL).set_function(
            lambda: self.body_budget.num_bytes + self.file_budget.num_bytes
        )
        self.translators = ModelRegistry(self.settings, self.metrics, lambda: self.why_closed is None)
        self.supervisor = Supervisor(self.translators, self.metrics, lambda: not self.drain.is_running)
        self.metrics.event_loop_lag_seconds.labels(NO_MODEL).set_function(lambda: self.loop_lag.longest)
        if self.process is None:
            self.usage = CharacterUsage()
        else:
            others = SharedUsage(self.process.rows, self.process.slot, self.process.folder / "usage.lock")
            self.usage = CharacterUsage(others=others)
            self.group = ProcessGroup(self.process, self.translators, self.metrics, self._follow_keys)
            self.file_jobs.free_space = SharedFiles(files, self.group.peers).free_space

    def load(self) -> None:
        """Load and warm up every model and open the store, unless the server begins to drain. Raises ArtifactError,
        VocabularyError or StoreError."""
        if self.group is not None:
            self.group.models.begin()
        self.translators.load_all(lambda: self.drain.seconds_left if self.drain.is_running else None)
        if not self.drain.is_running:
            self._stored = StoredServices(
                self.settings, self.keys, self.usage, self.translators, self.metrics, self.tracing
            )
            self.is_loaded = self.group is None

    async def join(self) -> None:
        """After `load`: be one of the processes of a server that has several. Raises ApiError if a model cannot be
        loaded that the others have."""
        if self.group is not None and not self.drain.is_running:
            await self.group.join()
            self.is_loaded = True
            if self.process is not None and self.why_not_ready is None:
                # Before /readyz reports it: a client that reads it connects to no process that is not ready.
                self.process.board.beat(self.process.slot, READY)

    @property
    def glossaries(self) -> GlossaryService:
        """The glossaries. Raises ApiError (503) before the server has loaded."""
        return self._opened("glossaries").glossaries

    @property
    def translation_memories(self) -> TranslationMemoryService:
        """The translation memories. Raises ApiError (503) before the server has loaded."""
        return self._opened("translation memories").translation_memories

    @property
    def documents(self) -> DocumentService:
        """The documents. Raises ApiError (503) before the server has loaded."""
        return self._opened("documents").documents

    def _opened(self, what: str) -> StoredServices:
        if self._stored is None:
            raise ApiError("not_ready", f"the {what} are not open yet")
        return self._stored

    @property
    def stored_keys(self) -> StoreKeys:
        """The API keys that can be changed while the server runs. Raises ApiError (409, 503)."""
        keys = self.documents.store.keys
        if not self.keys.is_required:
            raise ApiError("conflict", "this server needs no API keys: start it with --api-keys, `store` for none yet")
        if keys is None:
            raise ApiError(
                "conflict", "memory:// keeps no API keys: start with --context-store sqlite:///PATH or redis://HOST"
            )
        return StoreKeys(keys)

    def read_stored_keys(self) -> None:
        """Accept what has changed in the store at once. Blocks. Raises StoreError."""
        if self._stored is not None:
            self._stored.key_thread.read_stored()

    async def follow_stored_keys(self) -> None:
        """Accept what this process has changed in the store at once, in all processes of the server. Raises
        StoreError."""
        await self._follow_keys()
        if self.group is not None:
            await self.group.announce_keys()

    async def _follow_keys(self) -> None:
        await in_store_thread(self.read_stored_keys)

    async def load_model(self, name: str, place: str | None) -> tuple[Translator, bool]:
        """Load a model in all processes of the server; see ModelRegistry.load."""
        models = self.translators if self.group is None else self.group.models
        return await models.load(name, place)

    async def unload_model(self, name: str) -> None:
        """Unload a model in all processes of the server; see ModelRegistry.unload."""
        models = self.translators if self.group is None else self.group.models
        await models.unload(name)

    def count_documents(self) -> None:
        """Update the metric of stored documents. Blocks while the store counts."""
        if self._stored is not None:
            with contextlib.suppress(StoreError):
                count = self._stored.documents.store.count()
                self.metrics.context_store_documents.labels(NO_MODEL).set(count)

    async def give_up(self) -> None:
        """Stop jobs and engines: sentences in flight are answered with EngineStopped."""
        await at_most(GIVE_UP_SECONDS, self.stop_jobs())
        for worker in self.translators.workers:
            worker.abandon(EngineStopped("the server was stopped before the sentence was translated"))

    @property
    def num_sentences(self) -> int:
        """Sentences of all models that wait or are decoded."""
        return sum(worker.waiting_sentences + worker.running_sentences for worker in self.translators.workers)

    def start_jobs(self) -> None:
        """Start to work on documents, and to load models in the background, in the running event loop."""
        self.translators.start()
        if self._stored is not None:
            self._stored.documents.runner.start()

    async def stop_jobs(self) -> None:
        """Release documents in work, kill the processes that parse files and wait for changes of models; call it in the
        event loop of `start_jobs`."""
        await self.file_jobs.stop()
        await self.parsers.stop()
        if self._stored is not None:
            await self._stored.documents.runner.stop()
        await self.translators.finish()

    def stop(self) -> None:
        """Wait for work in flight until the drain timeout ends, then stop every engine and close the store."""
        self.drain.begin()
        workers = self.translators.workers
        for worker in workers:
            self._drain_engine(worker)
        until = time.monotonic() + STOP_SECONDS
        for worker in workers:
            worker.close()
        for worker in workers:
            worker.stop(max(0.0, until - time.monotonic()))
        self.translators.retired.wait(lambda: self.drain.seconds_left)
        if self._stored is not None:
            self._stored.close(
                lambda: POLL_SECONDS + self.drain.seconds_left, lambda: GIVE_UP_SECONDS + self.drain.seconds_left
            )
        if self.tracing is not None:
            self.tracing.close()

    def _drain_engine(self, worker: EngineWorker) -> None:
        while not worker.drain(min(POLL_SECONDS, self.drain.seconds_left)):
            if not self.drain.seconds_left:
                break

    @property
    def why_not_alive(self) -> str | None:
        """Why the process should be restarted; None if it need not be. Failed models are a reason only when all models
        have failed."""
        if self.failure is not None:
            return self.failure
        if self.group is not None and self.group.models.failure is not None:
            return self.group.models.failure
        if (
            self.is_loaded
            and not self.drain.is_running
            and all(translator.state == "failed" for translator in self.translators.values())
        ):
            return self._why_no_model
        return None

    @property
    def why_not_ready(self) -> str | None:
        """Why the server should get no requests; None if some model is ready, or is loaded for its first request."""
        is_available = any(translator.is_available for translator in self.translators.values())
        return self.why_closed or (None if is_available else self._why_no_model)

    @property
    def why_closed(self) -> str | None:
        """Why the server takes no requests, whatever the states of its models; None if it takes requests."""
        if self.drain.is_running:
            return "the server is draining"
        if self.failure is None and not self.is_loaded:
            return "the models are being loaded and warmed up"
        return self.failure

    @property
    def _why_no_model(self) -> str:
        return "; ".join(str(translator.unavailable()) for translator in self.translators.values())

    @property
    def routes(self) -> RoutingTable:
        """Which model or which two translate from one language into another, at the moment."""
        return self.translators.routes

    def check_ready(self) -> None:
        """Raise ApiError unless the server takes requests. The model of a request is checked where it is chosen."""
        reason = self.why_closed
        if reason is not None:
            raise ApiError("not_ready", reason)
