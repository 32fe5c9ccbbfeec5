"""An admitted request: what its route knows of it beside its fields."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from server.api.requests.api_keys import Key, owner_of
from server.api.requests.body_budget import BodyReservation
from server.api.requests.fields import TimingsAnswer
from server.api.serving.server_state import ServerState
from server.files.parsing import ParsedFile, SourceFile, parse
from server.translation.assembly import TranslationOutcome
from server.translation.scoring import ScoringOutcome
from server.translation.translator import Translator


@dataclass
class AdmittedRequest:
    """`deadline`, a time.monotonic() value, is when the request must be answered; `ApiRoute` ends its work then. What
    the request holds (its models, its part of its key's concurrency, a stream's sentences) is given back by `leave`."""

    request: Request
    state: ServerState
    deadline: float
    key: Key | None = None
    body: BodyReservation | None = None
    """The bytes of its body, which count until `leave`."""
    _working: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def translator(self, model: str | None, source: str, target: str) -> Translator:
        """The model asked for, or the first for the two languages; the request counts as work of it from now on.
        Raises ApiError."""
        translator = self.state.translator_for(model, source, target)
        self._working.enter_context(translator.users)
        self.count_for_model(translator.name)
        return translator

    def legs(self, source: str, target: str) -> tuple[Translator, Translator] | None:
        """Two models where no single one translates (see ServerState.legs_for), else None. The request counts as work
        of the first, and as in progress at both. Raises ApiError."""
        legs = self.state.legs_for(source, target)
        for leg in reversed(legs or ()):
            self._working.enter_context(leg.users)
            self.count_for_model(leg.name)
        return legs

    async def parse(self, data: bytes, name: str, language: str) -> ParsedFile:
        """The texts of a file that the client sent; `language` is the target's. Raises FileError, TooManyFiles."""
        longest = self.state.settings.max_total_chars
        return await parse(self.state.parsers, SourceFile(data, name, language, longest, owner_of(self.key)))

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

    def shorten(self, seconds: float | None) -> None:
        """Bring the deadline forward to `seconds` from now, if it is later; None changes nothing."""
        if seconds is not None:
            self.deadline = min(self.deadline, time.monotonic() + seconds)

    def on_release(self, callback: Callable[[], None]) -> None:
        """Have something given back by `leave`."""
        self._working.callback(callback)

    def go_on(self) -> Callable[[], None]:
        """For work that goes on when the request is answered: it holds what the request held until it calls what is
        returned."""
        return self._working.pop_all().close

    def leave(self) -> None:
        """The request is over. It may be called more than once."""
        self._working.close()
        if self.body is not None:
            self.body.release()


async def _admitted_of(
    request: Request,
) -> AdmittedRequest:  # async, or FastAPI hands every request to a thread and back for it
    admitted: AdmittedRequest = request.state.admitted
    return admitted


Admitted = Annotated[AdmittedRequest, Depends(_admitted_of)]
"""A route's parameter: the visit of its request, made by `ApiRoute`."""
