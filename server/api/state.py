"""The state of a running server: settings, metrics, models, documents, and whether it takes requests."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from server.api.body_room import BodyRoom
from server.api.errors import ApiError
from server.api.file_jobs import FileJobs
from server.api.finished_files import FinishedFiles
from server.api.keys import KeyRing
from server.api.served_models import ServedModels
from server.documents.janitor import Janitor
from server.documents.job_runner import JobRunner
from server.documents.metered_cache import metered_cache
from server.documents.sentence_states import StateReader
from server.documents.service import DocumentService
from server.documents.stores.glossaries import GlossaryLimits
from server.documents.stores.interface import StoreError
from server.documents.stores.open_store import open_store
from server.files.limits import FileLimits
from server.files.parser_pool import ParserPool
from server.kept_glossaries import KeptGlossaries
from server.metrics import NO_MODEL, Metrics
from server.settings import Settings, nearest
from server.tracing import Tracing
from server.translator import Translator

LOOK_SECONDS = 0.1
"""How often a server that stops checks whether it was told to hurry."""
PREFERRED = "en"
"""The language between two models, where there is a choice."""
MAX_WRITTEN_FILE = 4
"""How many times as large as the largest body a translated file may be."""


@dataclass
class ServerState:
    """`failure` is why loading did not succeed; `is_draining` is set when the server was asked to stop."""

    settings: Settings
    metrics: Metrics
    keys: KeyRing = field(default_factory=KeyRing)
    translators: ServedModels = field(init=False)
    is_loaded: bool = False
    is_draining: bool = False
    failure: str | None = None
    _drain_until: float = 0.0
    """A time.monotonic() value, once it drains."""
    tracing: Tracing | None = None
    """Who collects traces, if somebody does."""
    body_room: BodyRoom = field(init=False)
    file_jobs: FileJobs = field(init=False)
    parsers: ParserPool = field(init=False)
    """Opens and writes the files of clients."""
    translated_characters: Counter[str] = field(default_factory=Counter)
    """By owner, the characters that were translated for requests to DeepL's API."""
    _documents: DocumentService | None = None
    _glossaries: KeptGlossaries | None = None
    _janitor: Janitor | None = None

    def __post_init__(self) -> None:
        settings = self.settings
        files = FinishedFiles(settings.max_files, settings.max_files_bytes, settings.file_ttl)
        self.file_jobs = FileJobs(files, settings.file_timeout)
        self.metrics.files.labels(NO_MODEL).set_function(lambda: files.num_files)
        self.metrics.files_bytes.labels(NO_MODEL).set_function(lambda: files.num_bytes)
        self.metrics.files_running.labels(NO_MODEL).set_function(lambda: self.file_jobs.num_running)
        self.parsers = ParserPool(limits_of(self.settings), self.settings.file_processes)
        self.body_room = BodyRoom(settings.max_bodies_bytes, settings.max_body_bytes)
        self.metrics.body_bytes.labels(NO_MODEL).set_function(lambda: self.body_room.num_bytes)
        self.translators = ServedModels(self.settings, self.metrics, lambda: self.why_not_ready is None)

    def load(self) -> None:
        """Load and warm up every model, open the documents. Raises ArtifactError, VocabularyError or StoreError."""
        self.translators.load_all()
        self._open_documents()
        self.is_loaded = True

    def _open_documents(self) -> None:
        settings = self.settings
        store = open_store(settings.context_store)
        reader = StateReader(metered_cache(settings.context_cache_bytes, self.metrics))
        runner = JobRunner(store, reader, self.translators, settings.document_lease, self.metrics, self.tracing)
        self._documents = DocumentService(store, reader, runner, self.translators, settings)
        self._janitor = Janitor(store, settings.document_ttl, self.metrics, self.translators)
        self._janitor.start()
        limits = GlossaryLimits(settings.max_glossaries, settings.max_glossary_bytes)
        self._glossaries = KeptGlossaries(store.glossaries, limits)

    @property
    def glossaries(self) -> KeptGlossaries:
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
        self._drain_until = 0.0

    async def give_up(self) -> None:
        """Stop jobs and engines: what is still in flight gets an error that says that the server stops."""
        await self.stop_jobs()
        for translator in list(self.translators.values()):
            await asyncio.to_thread(translator.worker.stop)

    @property
    def drain_seconds_left(self) -> float:
        """Seconds that are left for what is in flight, on a server that drains."""
        return max(0.0, self._drain_until - time.monotonic())

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
        for translator in self.translators.values():
            self._stop_engine(translator)
        self.translators.stop_leaving(lambda: self.drain_seconds_left)
        if self._janitor is not None:
            self._janitor.stop(LOOK_SECONDS + self.drain_seconds_left)
        if self._documents is not None:
            self._documents.store.close()
        if self.tracing is not None:
            self.tracing.close()

    def _stop_engine(self, translator: Translator) -> None:
        while not translator.worker.drain(min(LOOK_SECONDS, self.drain_seconds_left)):
            if not self.drain_seconds_left:
                break
        translator.worker.stop()

    @property
    def why_not_alive(self) -> str | None:
        """Why the server should be restarted; None while it is well."""
        if self.failure is not None:
            return self.failure
        for name, translator in self.translators.items():
            if not self.is_draining and not translator.worker.is_healthy:
                return f"the engine of model '{name}' does not answer"
        return None

    @property
    def why_not_ready(self) -> str | None:
        """Why the server takes no requests; None when it does."""
        if self.is_draining:
            return "the server is draining"
        if self.why_not_alive is None and not self.is_loaded:
            return "the models are being loaded and warmed up"
        return self.why_not_alive

    @property
    def languages(self) -> dict[str, list[str]]:
        """Source language -> target languages that texts can be translated into, by one model or two; both sorted."""
        direct = self.direct_languages
        if self.settings.pivot == "off":
            return direct
        return {
            source: sorted({*targets, *(end for middle in targets for end in direct.get(middle, ()))} - {source})
            for source, targets in direct.items()
        }

    @property
    def direct_languages(self) -> dict[str, list[str]]:
        """Source language -> target languages of a single model; both sorted."""
        pairs = {translator.languages for translator in self.translators.values()}
        sources = sorted({source for source, _ in pairs})
        return {source: sorted(target for one, target in pairs if one == source) for source in sources}

    def check_ready(self) -> None:
        """Raise ApiError unless the server takes requests."""
        reason = self.why_not_ready
        if reason is not None:
            raise ApiError("not_ready", reason)

    def legs_for(self, source: str, target: str) -> tuple[Translator, Translator] | None:
        """Two models with a language between them: English if possible, else the first by its code. None where one
        model translates, or no two do."""
        direct = self.direct_languages
        if target in direct.get(source, ()) or target not in self.languages.get(source, ()):
            return None
        middles = [one for one in direct[source] if target in direct.get(one, ())]
        middle = PREFERRED if PREFERRED in middles else middles[0]
        return self.translator_for(None, source, middle), self.translator_for(None, middle, target)

    def translator_for(self, model: str | None, source: str, target: str) -> Translator:
        """The model that was asked for, or the first for the two languages. Raises ApiError (422) that names what is
        served."""
        if model is not None and model not in self.translators:
            message = f"no model '{model}' is served: {nearest(model, self.translators)}"
            raise ApiError("invalid_value", message, "model")
        candidates = [one for name, one in self.translators.items() if model in (None, name)]
        languages = [one.languages for one in candidates]
        for translator, pair in zip(candidates, languages, strict=True):
            if pair == (source, target):
                return translator
        legs = None if model is not None else self.legs_for(source, target)
        if legs is not None:
            middle = legs[0].languages[1]
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


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))
