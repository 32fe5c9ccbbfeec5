"""An admitted request: its key, deadline and models."""

import contextlib
import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request, UploadFile

from server.api.requests.body import too_large_file
from server.api.requests.body_budget import BodyReservation
from server.api.requests.errors import ApiError
from server.api.requests.fields import TimingsAnswer
from server.api.serving.finished_files import FileReservation, FinishedFile
from server.api.serving.routing import Route
from server.api.serving.server_state import ServerState
from server.files.formats.base import FileOptions
from server.files.parsing import ParsedFile, SourceFile, parse
from server.keys.key import Key, owner_of
from server.keys.record import KeyLimits
from server.keys.usage import Charge, QuotaReached
from server.telemetry.metrics import NO_KEY
from server.telemetry.series import NO_MODEL
from server.translation.assembly import TranslationOutcome
from server.translation.scoring import ScoringOutcome
from server.translation.served_model import load_together


@dataclass
class AdmittedRequest:
    """`deadline`, a time.monotonic() value, is when the request must be answered; `ApiRoute` ends its work then.
    `release` releases what the request holds: models, its part of its key's concurrency, a stream's sentences."""

    request: Request
    state: ServerState
    deadline: float
    key: Key | None = None
    body: BodyReservation | None = None
    """The bytes of its body, which count until `release`."""
    _working: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _charges: list[Charge] = field(default_factory=list)

    async def choose(self, model: str | None, source: str, target: str, num_chars: int) -> Route:
        """The route from `source` to `target` (see `RoutingTable.choose`) for texts of `num_chars` characters, which
        the key is charged for; its models are loaded. From now on they count as in use, the request as in progress at
        all of them and as work of the first. Raises ApiError (422, 429), ModelUnavailable."""
        route = self.state.routes.choose(model, source, target)
        for translator in route.models:
            translator.check_available()
        self.charge(num_chars, route.models[0].name)
        for translator in reversed(route.models):
            self._working.enter_context(translator.users)
            self.count_for_model(translator.name)
        await load_together(route.models)
        return route

    def charge(self, num_chars: int, model: str = NO_MODEL) -> None:
        """Count characters of texts that are to be translated, until `refund`. Raises ApiError (429)."""
        limits = KeyLimits() if self.key is None else self.key.limits
        try:
            self._charges.append(self.state.usage.charge(owner_of(self.key), limits, num_chars))
        except QuotaReached as quota:
            raise ApiError("quota_exceeded", str(quota), headers={"Retry-After": str(quota.seconds)}) from None
        name = owner_of(self.key) if self.state.settings.metrics_by_key == "on" else NO_KEY
        self.state.metrics.characters_accepted_total.labels(name, model).inc(num_chars)

    def refund(self) -> None:
        """Take back what was charged, because the request is not answered. Idempotent."""
        charges, self._charges = self._charges, []
        for charge in charges:
            self.state.usage.refund(charge)

    async def read(self, file: UploadFile) -> bytes:
        """The bytes of a file that the client sent. Raises ApiError (413)."""
        data = await file.read()
        max_bytes = self.state.settings.max_file_bytes
        if len(data) > max_bytes:
            raise ApiError("too_large", too_large_file(max_bytes), "file")
        return data

    async def parse(self, data: bytes, name: str, language: str, columns: str | None, keys: str | None) -> ParsedFile:
        """The texts of a file that the client sent; `language` is the target's, `columns` and `keys` are those of
        FileOptions. Raises FileError, TooManyFiles."""
        longest, options = self.state.settings.max_total_chars, FileOptions(columns or "", keys or "")
        return await parse(self.state.parsers, SourceFile(data, name, language, longest, owner_of(self.key), options))

    def count_for_model(self, model: str) -> None:
        """Count the request as work of a model."""
        self.request.state.model = model
        in_progress = self.state.metrics.requests_in_progress.labels(model)
        self._working.enter_context(in_progress.track_inprogress())

    def timings(self, outcome: TranslationOutcome | ScoringOutcome) -> TimingsAnswer:
        """The outcome's timings, which are also sent in the header Server-Timing."""
        timings = TimingsAnswer.of(outcome)
        self.request.state.timings = timings.model_dump()
        return timings

    def limit_deadline(self, seconds: float | None) -> None:
        """Set the deadline to `seconds` from now if it is later; None changes nothing."""
        if seconds is not None:
            self.deadline = min(self.deadline, time.monotonic() + seconds)

    def on_release(self, callback: Callable[[], None]) -> None:
        """Call `callback` in `release`."""
        self._working.callback(callback)

    def hand_over(self, file: FileReservation) -> Callable[[], None]:
        """For the translation of a file that goes on after the answer: returns a function that releases what the
        request holds until now, which `release` then no longer does, and takes back its charges if the file was not
        translated."""
        later = dataclasses.replace(self, _working=self._working.pop_all(), _charges=self._charges, body=None)
        self._charges = []

        def end() -> None:
            if not isinstance(file.outcome, FinishedFile):
                later.refund()
            later.release()

        return end

    def release(self) -> None:
        """End the request. Idempotent."""
        self._working.close()
        if self.body is not None:
            self.body.release()


async def _admitted_of(
    request: Request,
) -> AdmittedRequest:  # async, or FastAPI hands every request to a thread and back for it
    admitted: AdmittedRequest = request.state.admitted
    return admitted


Admitted = Annotated[AdmittedRequest, Depends(_admitted_of)]
"""A route's parameter: its request, admitted by `ApiRoute`."""
