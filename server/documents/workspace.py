"""What every change of a document works with."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from server.documents.errors import Refused
from server.documents.job import Unservable, translator_of
from server.documents.sentence_states import StateReader
from server.documents.two_stage import on_leg
from server.stores.interface import ContextStore
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.records import Document
from server.translation.translator import Translator


@dataclass(frozen=True)
class Workspace:
    """`longest`: how many sentences a document may have; every part of a long sentence counts as one. `limits`: how
    much may be kept."""

    store: ContextStore
    reader: StateReader
    translators: Mapping[str, Translator]
    longest: int
    limits: DocumentLimits = NO_LIMITS

    @contextlib.contextmanager
    def working_on(self, document: Document) -> Iterator[Translator]:
        """The document's model (of two, that whose turn it is), which is not stopped as long as it is used. Raises
        Refused when it is not served here."""
        try:
            translator = translator_of(document, self.translators)
        except Unservable as error:
            raise Refused(str(error)) from None
        with translator.users:
            yield translator

    @contextlib.contextmanager
    def working_through(self, document: Document) -> Iterator[tuple[Translator, ...]]:
        """All models of the document, in their order, as `working_on` has one."""
        turns = [on_leg(document, leg) for leg in document.legs] or [document]
        with contextlib.ExitStack() as stack:
            yield tuple([stack.enter_context(self.working_on(turn)) for turn in turns])
