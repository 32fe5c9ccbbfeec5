"""The state of a running server: settings, metrics, models, documents, and whether it takes requests."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from server.api.requests.api_keys import KeyRing
from server.api.requests.body_budget import BodyBudget
from server.api.requests.errors import ApiError
from server.api.serving.file_jobs import FileJobs
from server.api.serving.finished_files import FinishedFiles
from server.api.serving.model_registry import ModelRegistry
from server.api.serving.supervisor import Supervisor
from server.documents.expiry import INTERVAL_SECONDS, ExpiryThread
from server.documents.job_runner import JobRunner
from server.documents.metered_cache import metered_cache
from server.documents.sentence_states import StateReader
from server.documents.service import DocumentService
from server.engine.request import EngineStopped
from server.engine.worker import STOP_SECONDS
from server.files.limits import FileLimits
from server.files.parser_pool import ParserPool
from server.files.parsing import Failure
from server.glossaries.service import GlossaryService
from server.runtime.loop_lag import LoopLag
from server.settings import Settings, nearest
from server.stores.glossaries import GlossaryLimits
from server.stores.interface import StoreError
from server.stores.limits import DocumentLimits
from server.stores.open_store import open_store
from server.telemetry.metrics import NO_MODEL, Metrics
from server.telemetry.tracing import Tracing
from server.translation.translator import Translator

POLL_SECONDS = 0.1
"""How often a server that stops checks whether it was told to hurry."""
GIVE_UP_SECONDS = 1.0
"""How long documents in work may take to be given back when time is over."""
PREFERRED = "en"
"""The language between two models, where there is a choice."""
MAX_WRITTEN_FILE = 4
"""How many times as large as the largest body a translated file may be."""
MEMORY_BYTES, STORE_BYTES = 256 * 2**20, 16 * 2**30
"""How much is kept of documents, in this process's memory and elsewhere, unless the settings say something else."""
MOST_SHARES = 4
"""Of what is kept of documents one key gets at most this share, where there are so many keys."""


@dataclass
class ServerState:
    """`failure` is why loading did not succeed; `is_draining` is set when the server was asked to stop."""

    settings: Settings
    metrics: Metrics
    keys: KeyRing = field(default_factory=KeyRing)
    translators: ModelRegistry = field(init=False)
    is_loaded: bool = False
    is_draining: bool = False
    failure: str | None = None
    _drain_until: float = 0.0
    """A time.monotonic() value, once it drains."""
    tracing: Tracing | None = None
    """Who collects traces, if somebody does."""
    body_budget: BodyBudget = field(init=False)
    supervisor: Supervisor = field(init=False)
    """Watches the engines of the models, while its `run` runs."""
    loop_lag: LoopLag = field(default_factory=LoopLag)
    file_jobs: FileJobs = field(init=False)
    parsers: ParserPool = field(init=False)
    """Opens and writes the files of clients."""
    translated_characters: Counter[str] = field(default_factory=Counter)
    """By owner, the characters that were translated for requests to DeepL's API."""
    _documents: DocumentService | None = None
    _glossaries: GlossaryService | None = None
    _janitor: ExpiryThread | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        files = FinishedFiles(settings.max_files, settings.max_files_bytes, settings.file_ttl)
        self.file_jobs = FileJobs(files, settings.file_timeout)
        self.metrics.files.labels(NO_MODEL).set_function(lambda: files.num_files)
        self.metrics.files_bytes.labels(NO_MODEL).set_function(lambda: files.num_bytes)
        self.metrics.files_running.labels(NO_MODEL).set_function(lambda: self.file_jobs.num_running)
        self.parsers = ParserPool(
            limits_of(self.settings), self.settings.file_processes, failed=self._count_parser_failure
        )
        self.body_budget = BodyBudget(settings.max_bodies_bytes, settings.max_body_bytes)
        self.metrics.body_bytes.labels(NO_MODEL).set_function(lambda: self.body_budget.num_bytes)
        self.translators = ModelRegistry(self.settings, self.metrics, lambda: self.why_closed is None)
        self.supervisor = Supervisor(self.translators, self.metrics, lambda: not self.is_draining)
        self.metrics.event_loop_lag_seconds.labels(NO_MODEL).set_function(lambda: self.loop_lag.longest)

    def load(self) -> None:
        """Load and warm up every model, open the documents; a server that drains meanwhile does not go on. Raises
        ArtifactError, VocabularyError or StoreError."""
        self.translators.load_all(lambda: self.drain_seconds_left if self.is_draining else None)
        if not self.is_draining:
            self._open_documents()
            self.is_loaded = True

    def _open_documents(self) -> None:
        settings = self.settings
        store = open_store(settings.context_store, self.keys.former_owners)
        reader = StateReader(metered_cache(settings.context_cache_bytes, self.metrics))
        runner = JobRunner(store, reader, self.translators, settings.document_lease, self.metrics, self.tracing)
        self._documents = DocumentService(store, reader, runner, self.translators, settings, self._limits)
        self._janitor = ExpiryThread(store, settings.document_ttl, self.metrics, self.translators)
        self._janitor.start()
        limits = GlossaryLimits(settings.max_glossaries, settings.max_glossary_bytes)
        self._glossaries = GlossaryService(store.glossaries, limits)

    @property
    def _limits(self) -> DocumentLimits:
        """How many documents are kept, how large: of all, and where there are keys of one of them."""
        settings, keys = self.settings, self.keys.keys
        in_memory = settings.context_store == "memory://"
        num_bytes = settings.max_documents_bytes or (MEMORY_BYTES if in_memory else STORE_BYTES)
        expires_after = settings.document_ttl + min(INTERVAL_SECONDS, settings.document_ttl)
        everybody = DocumentLimits(documents=settings.max_documents, num_bytes=num_bytes, expires_after=expires_after)
        if not keys:
            return everybody
        shares = min(MOST_SHARES, len(keys))
        return replace(
            everybody,
            owner_documents=settings.max_documents_per_key or max(1, settings.max_documents // shares),
            owner_open=settings.max_queued_documents_per_key,
            owner_bytes=settings.max_documents_bytes_per_key or max(1, num_bytes // shares),
        )

    @property
    def glossaries(self) -> GlossaryService:
        """The glossaries of a server that has loaded. Raises ApiError before."""
        if self._glossaries is None:
            raise ApiError("not_ready", "the glossaries are not open yet")
        return self._glossaries

    @property
    def documents(self) -> DocumentService:
        """The documents of a loaded server. Raises ApiError (503) before."""
        if self._documents is None:
            raise ApiError("not_ready", "the documents are not open yet")
        return self._documents

    def count_documents(self) -> None:
        """Update the metric of kept documents. Blocks while the store counts."""
        if self._documents is not None:
            with contextlib.suppress(StoreError):
                count = self._documents.store.count()
                self.metrics.context_store_documents.labels(NO_MODEL).set(count)

    def drain(self) -> None:
        """Take no more requests; from now on what is in flight has drain_timeout seconds to finish. It may be called
        from a signal handler: it takes no lock that the interrupted thread might hold."""
        if not self.is_draining:
            self._drain_until = time.monotonic() + self.settings.drain_timeout
            self.is_draining = True

    def hurry(self) -> None:
        """Give up what is in flight when draining. It may be called from a signal handler."""
        self._drain_until = min(self._drain_until, time.monotonic())

    async def give_up(self) -> None:
        """Stop jobs and engines: what is still in flight gets an error that says that the server stops."""
        await at_most(GIVE_UP_SECONDS, self.stop_jobs())
        for translator in list(self.translators.values()):
            translator.worker.abandon(EngineStopped("the server was stopped before the sentence was translated"))

    @property
    def drained_at(self) -> float | None:
        """When a server that drains gives up what is in flight: a time.monotonic() value; None before it drains."""
        return self._drain_until if self.is_draining else None

    @property
    def num_sentences(self) -> int:
        """Sentences that wait or are decoded, of all models."""
        workers = [one.worker for one in list(self.translators.values())]
        return sum(one.waiting_sentences + one.running_sentences for one in workers)

    @property
    def drain_seconds_left(self) -> float:
        """Seconds that are left for what is in flight, on a server that drains."""
        return max(0.0, self._drain_until - time.monotonic())

    def _count_parser_failure(self, reason: Failure) -> None:
        self.metrics.parser_failures_total.labels(reason, NO_MODEL).inc()

    def start_jobs(self) -> None:
        """Begin to work on documents, in the event loop that calls."""
        if self._documents is not None:
            self._documents.runner.start()

    async def stop_jobs(self) -> None:
        """Give back documents under work, kill the processes that parse files and wait for changes of models; call it
        in the event loop of `start_jobs`."""
        await self.file_jobs.stop()
        await self.parsers.stop()
        if self._documents is not None:
            await self._documents.runner.stop()
        await self.translators.finish()

    def stop(self) -> None:
        """Let what is in flight finish while there is time, then stop every engine and close the documents."""
        self.drain()
        translators = list(self.translators.values())
        for translator in translators:
            self._drain_engine(translator)
        until = time.monotonic() + STOP_SECONDS
        for translator in translators:
            translator.worker.close()
        for translator in translators:
            translator.worker.stop(max(0.0, until - time.monotonic()))
        self.translators.stop_leaving(lambda: self.drain_seconds_left)
        if self._janitor is not None:
            self._janitor.stop(POLL_SECONDS + self.drain_seconds_left)
        if self._documents is not None:
            self._documents.store.close()
        if self.tracing is not None:
            self.tracing.close()

    def _drain_engine(self, translator: Translator) -> None:
        while not translator.worker.drain(min(POLL_SECONDS, self.drain_seconds_left)):
            if not self.drain_seconds_left:
                break

    @property
    def why_not_alive(self) -> str | None:
        """Why the server should be restarted; None while it is well. A model that is not well is its own matter, until
        all of them have failed."""
        if self.failure is not None:
            return self.failure
        if self.is_loaded and not self.is_draining and all(one.state == "failed" for one in self.translators.values()):
            return self._why_no_model
        return None

    @property
    def why_not_ready(self) -> str | None:
        """Why no requests should be sent; None when some model translates."""
        return self.why_closed or (None if self._well else self._why_no_model)

    @property
    def why_closed(self) -> str | None:
        """Why the server takes no requests at all; None when it does."""
        if self.is_draining:
            return "the server is draining"
        if self.failure is None and not self.is_loaded:
            return "the models are being loaded and warmed up"
        return self.failure

    @property
    def _why_no_model(self) -> str:
        return "; ".join(str(one.unavailable()) for one in self.translators.values())

    @property
    def _well(self) -> list[Translator]:
        """The models that translate at the moment."""
        return [one for one in self.translators.values() if one.state == "ready"]

    @property
    def languages(self) -> dict[str, list[str]]:
        """Source language -> target languages that texts can be translated into, by one model or two; both sorted."""
        return self._by_one_or_two(self.direct_languages)

    @property
    def known_languages(self) -> dict[str, list[str]]:
        """As `languages`, with those of models that have failed: a request for them is no mistake of its client."""
        return self._by_one_or_two(_by_source(self.translators.values()))

    def _by_one_or_two(self, direct: dict[str, list[str]]) -> dict[str, list[str]]:
        if self.settings.pivot == "off":
            return direct
        return {
            source: sorted({*targets, *(end for middle in targets for end in direct.get(middle, ()))} - {source})
            for source, targets in direct.items()
        }

    @property
    def direct_languages(self) -> dict[str, list[str]]:
        """Source language -> target languages of a single model that has not failed; both sorted."""
        return _by_source(one for one in self.translators.values() if one.state != "failed")

    def check_ready(self) -> None:
        """Raise ApiError unless the server takes requests. How a model is, is asked where it is chosen."""
        reason = self.why_closed
        if reason is not None:
            raise ApiError("not_ready", reason)

    def middle_for(self, source: str, target: str) -> str | None:
        """The language between two models, English if possible, else the first by its code; models that translate at
        the moment are preferred to others. None where one model translates, or no two do."""
        direct, every = self.direct_languages, _by_source(self.translators.values())
        if target in direct.get(source, ()) or target not in self.known_languages.get(source, ()):
            return None
        well = _by_source(self._well)
        middles = _middles(well, source, target) or _middles(direct, source, target)
        if not middles and target not in every[source]:  # two of which one has failed, which then says so
            middles = _middles(every, source, target)
        if not middles:
            return None
        return PREFERRED if PREFERRED in middles else middles[0]

    def legs_for(self, source: str, target: str) -> tuple[Translator, Translator] | None:
        """Two models with the language of `middle_for` between them, or None. Raises ApiError."""
        middle = self.middle_for(source, target)
        if middle is None:
            return None
        return self.translator_for(None, source, middle), self.translator_for(None, middle, target)

    def translator_for(self, model: str | None, source: str, target: str) -> Translator:
        """The model that was asked for, or the first for the two languages that is well. Raises ApiError: 422 that
        names what is served, 503 where it is not well."""
        if model is not None and model not in self.translators:
            message = f"no model '{model}' is served: {nearest(model, self.translators)}"
            raise ApiError("invalid_value", message, "model")
        candidates = [one for name, one in self.translators.items() if model in (None, name)]
        languages = [one.languages for one in candidates]
        fitting = [one for one in candidates if one.languages == (source, target)]
        if fitting:
            well = next((one for one in fitting if one.state == "ready"), None)
            if well is None:
                raise ApiError("not_ready", str(fitting[0].unavailable()))
            return well
        middle = None if model is not None else self.middle_for(source, target)
        if middle is not None:
            message = (
                f"two models translate '{source}' into '{target}', through '{middle}', and a score is of one model"
            )
            raise ApiError(
                "invalid_value", f"{message}: score '{source}' to '{middle}', or that to '{target}'", "target"
            )
        where = "is served" if model is None else f"is what model '{model}' translates"
        param, known = ("target", {pair[1] for pair in languages if pair[0] == source})
        if not known:
            param, known = ("source", {pair[0] for pair in languages})
        asked = target if param == "target" else source
        raise ApiError("invalid_value", f"{param} language '{asked}': only {_listed(known)} {where}", param)


def limits_of(settings: Settings) -> FileLimits:
    """The limits of parsing one file."""
    return FileLimits(
        cpu_seconds=settings.file_cpu_seconds,
        wall_seconds=3 * settings.file_cpu_seconds,  # it may have to wait for a processor
        memory_bytes=settings.file_memory_bytes,
        max_written_bytes=MAX_WRITTEN_FILE * max(settings.max_body_bytes, 2**20),
    )


def _by_source(translators: Iterable[Translator]) -> dict[str, list[str]]:
    """Source language -> target languages; both sorted."""
    pairs = {translator.languages for translator in translators}
    sources = sorted({source for source, _ in pairs})
    return {source: sorted(target for one, target in pairs if one == source) for source in sources}


def _middles(direct: Mapping[str, Sequence[str]], source: str, target: str) -> list[str]:
    """Languages that `source` is translated into, and that are translated into `target`."""
    return [one for one in direct.get(source, ()) if target in direct.get(one, ())]


async def at_most(seconds: float, work: Awaitable[object]) -> bool:
    """Wait for `work`, which is cancelled after `seconds`; whether it was done. What swallows its cancellation is left
    behind."""
    task = asyncio.ensure_future(work)
    await asyncio.wait({task}, timeout=max(0.0, seconds))
    if task.done():
        task.result()
        return True
    task.cancel()
    return False


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))
