"""Claims queued documents from the store and runs their jobs in this process's event loop. A claim is a lease, so that
only one of several processes works on a document, and another process continues when that one dies. What a job does
with its document is in `job`."""

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping

from server.documents.errors import NotServed, Unservable
from server.documents.job import translate_pending
from server.documents.leases import GivenUp, Lease, LeaseLost, begin, end, forgive
from server.documents.progress import ProgressBroker
from server.documents.sentence_states import StateReader
from server.documents.workspace import translator_of
from server.engine.request import EngineStopped
from server.scheduling import caller
from server.stores.interface import ContextStore, StoreError, UnknownDocument
from server.stores.records import Document
from server.stores.threads import in_store_thread
from server.telemetry.labels import DocumentState
from server.telemetry.metrics import Metrics
from server.telemetry.series import NO_MODEL
from server.telemetry.tracing import Tracing, current
from server.translation.translator import Translator

logger = logging.getLogger("ringmt")

MAX_RUNNING = 4
"""Documents that a process works on at the same time."""
POLL_SECONDS = 1.0
"""How often the store is polled for documents that another process queued or gave up."""


class JobRunner:
    """Use it from one event loop; `start` and `stop` it there."""

    def __init__(
        self,
        store: ContextStore,
        reader: StateReader,
        translators: Mapping[str, Translator],
        lease_seconds: float,
        metrics: Metrics,
        tracing: Tracing | None = None,
    ) -> None:
        self._store, self._reader, self._translators = store, reader, translators
        self._lease_seconds, self._metrics, self._tracing = lease_seconds, metrics, tracing
        self._worker = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._claims = itertools.count(1)
        self._jobs: dict[asyncio.Task[None], str] = {}
        """Document ids by job."""
        self._suspect: asyncio.Task[None] | None = None
        """The job of a document whose last job ended with its process. It runs alone, so that no other document is
        suspected."""
        self._started: set[str | None] = set()
        """The workers of leases under which an attempt was counted."""
        self._uncounted: set[str] = set()
        """Documents whose lease was lost while this process lived, with an attempt that is still to be subtracted."""
        self._wake = asyncio.Event()
        self.progress = ProgressBroker()
        self._ended: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._dispatcher: asyncio.Task[None] | None = None
        metrics.document_jobs_running.labels(NO_MODEL).set_function(lambda: len(self._jobs))

    def start(self) -> None:
        self._dispatcher = asyncio.create_task(self._dispatch())

    async def stop(self) -> None:
        """Stop working. Documents under work are queued again, with what was translated so far."""
        if self._dispatcher is not None:
            self._dispatcher.cancel()
            await asyncio.gather(self._dispatcher, return_exceptions=True)
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    def wake(self) -> None:
        """A document was queued."""
        self._wake.set()

    def works_on(self, document_id: str) -> bool:
        return document_id in self._jobs.values()

    async def ended(self, document_id: str, timeout: float) -> bool:
        """Wait for the end of this process's work on the document, `timeout` seconds at most; returns whether it
        ended."""
        event = self._ended[document_id]
        try:
            async with asyncio.timeout(timeout):
                return await event.wait()
        except TimeoutError:
            return False
        finally:
            if self._ended.get(document_id) is event:
                del self._ended[document_id]

    async def _dispatch(self) -> None:
        while True:
            self._wake.clear()
            if self._is_full or not await self._claim():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_SECONDS):
                        await self._wake.wait()

    async def _claim(self) -> bool:
        """Claim a document and begin to work on it; False when there is none."""
        if not await self._subtract_attempts():
            return False
        # Every claim has its own name: a job whose lease ran out must notice that this process has claimed its document
        # again.
        worker = f"{self._worker}-{next(self._claims)}"
        ready = [name for name, translator in self._translators.items() if translator.is_available]
        claim = asyncio.ensure_future(in_store_thread(self._store.claim, worker, self._lease_seconds, ready))
        try:
            document = await asyncio.shield(claim)
        except StoreError as error:
            logger.warning("no document could be claimed, trying again: %s", error)
            return False
        except Exception:  # the other documents must not wait for ever
            logger.exception("no document could be claimed, trying again")
            return False
        except asyncio.CancelledError:  # the claim continues in its thread: its document is released
            document = await claim
            if document is not None:
                await self._end(self._lease(document, worker), "released")
            raise
        if document is None:
            return False
        others = frozenset(self._jobs) if document.attempts else frozenset()
        job = asyncio.create_task(self._run_job(document, self._lease(document, worker), others))
        if document.attempts:
            self._suspect = job
        self._jobs[job] = document.id
        job.add_done_callback(self._forget)
        return True

    async def _subtract_attempts(self) -> bool:
        """Attempts count processes that died; where only the store was gone or slow, the attempt is subtracted. Called
        before a claim, which may find one of these documents. False when the store cannot be reached."""
        for document_id in tuple(self._uncounted):
            try:
                await in_store_thread(forgive, self._store, document_id)
            except UnknownDocument:
                pass
            except StoreError as error:
                logger.warning("no document could be claimed, trying again: %s", error)
                return False
            except Exception:  # the other documents must not wait for ever
                logger.exception("an attempt at document %s could not be subtracted", document_id)
            self._uncounted.discard(document_id)
        return True

    def _forget(self, job: "asyncio.Task[None]") -> None:
        was_full = self._is_full
        del self._jobs[job]
        if self._suspect is job:
            self._suspect = None
        if was_full:  # otherwise all that was queued has been claimed
            self._wake.set()

    @property
    def _is_full(self) -> bool:
        return len(self._jobs) >= MAX_RUNNING or self._suspect is not None

    def _lease(self, document: Document, worker: str) -> Lease:
        return Lease(self._store, document.id, worker, self._lease_seconds)

    async def _translate(self, claimed: Document, lease: Lease, others: frozenset["asyncio.Task[None]"]) -> None:
        if others:
            await asyncio.wait(others)
        await self._run_stage(claimed, lease)
        if claimed.next_leg is not None:
            await self._run_stage(await in_store_thread(self._store.document, claimed.id), lease)

    async def _run_stage(self, document: Document, lease: Lease) -> None:
        """Translate with the model of the document's stage; translations of the first of two models are not
        published."""
        translator = translator_of(document, self._translators)
        with translator.users:  # also when another model takes its place meanwhile
            await translator.load_on_demand()
            await in_store_thread(begin, lease, document)
            self._started.add(lease.worker)
            await translate_pending(
                lease,
                {translator.name: translator},
                self._reader,
                on_progress=lambda done, total: self.progress.publish(document.id, None),
                on_sentence=self.progress.publisher(document.id) if document.next_leg is None else None,
            )

    async def _run_job(self, document: Document, lease: Lease, others: frozenset["asyncio.Task[None]"]) -> None:
        """Translate a document once the `others` have ended, renew its lease meanwhile, and report how it ended."""
        started = time.monotonic()
        self._metrics.document_sentences.labels(NO_MODEL).observe(document.num_sentences)
        caller.current.set(caller.Caller(document.owner))
        trace = None if self._tracing is None else self._tracing.work(started)
        current.set(trace)
        translating = asyncio.ensure_future(self._translate(document, lease, others))
        renewing = asyncio.ensure_future(self._renew(lease))
        result, message = "released", None
        try:
            await asyncio.wait({translating, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if translating.done():
                translating.result()
                result = "done"
            else:
                renewing.result()
        except (LeaseLost, UnknownDocument):
            result = "lost"
        except (EngineStopped, NotServed):
            result = "released"
        except StoreError as error:  # the lease runs out, and the document is claimed again when the store is back
            logger.warning("work on document %s was given up for now: %s", document.id, error)
            result = "lost"
        except (GivenUp, Unservable) as error:
            result, message = "failed", str(error)
        except Exception:
            logger.exception("document %s failed", document.id)
            result, message = "failed", "the translation failed; the server's log has more under the document's id"
        finally:
            for task in (translating, renewing):
                task.cancel()
            await asyncio.gather(translating, renewing, return_exceptions=True)
            if result in ("released", "failed"):
                await self._end(lease, result, message)
            elif result == "lost":
                self._mark_uncounted(lease)
            self._started.discard(lease.worker)
            self._metrics.document_jobs_total.labels(result, NO_MODEL).inc()
            self._metrics.document_job_duration_seconds.labels(NO_MODEL).observe(time.monotonic() - started)
            if trace is not None:
                trace.end(
                    "document",
                    {"ringmt.document_id": document.id, "ringmt.model": document.model, "ringmt.result": result},
                    failed=result == "failed",
                )
            self.progress.publish(document.id, None)
            if document.id in self._ended:
                self._ended[document.id].set()

    async def _end(self, lease: Lease, result: str, message: str | None = None) -> None:
        state: DocumentState = "failed" if result == "failed" else "queued"
        try:
            await in_store_thread(end, lease, state, None, message)
        except (LeaseLost, UnknownDocument):
            pass
        except StoreError as error:
            logger.warning("document %s could not be released as %s: %s", lease.document_id, state, error)
            self._mark_uncounted(lease)

    def _mark_uncounted(self, lease: Lease) -> None:
        """The lease is lost and this process lives: its attempt is to be subtracted."""
        if lease.worker in self._started:
            self._uncounted.add(lease.document_id)

    async def _renew(self, lease: Lease) -> None:
        """Renew the lease for ever. Raises LeaseLost, UnknownDocument; a failed renewal is tried again."""
        while True:
            await asyncio.sleep(lease.seconds / 3)
            try:
                await in_store_thread(lease.renew)
            except StoreError as error:
                logger.warning("the lease of document %s was not renewed: %s", lease.document_id, error)
