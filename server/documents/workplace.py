"""What every change of a document needs at hand."""

from collections.abc import Mapping
from dataclasses import dataclass

from server.documents.job import Unservable, translator_of
from server.documents.refused import Refused
from server.documents.sentence_states import StateReader
from server.documents.stores.interface import ContextStore
from server.documents.stores.records import Document
from server.translator import Translator


@dataclass(frozen=True)
class Workplace:
    """`longest`: sentences that a document may have, parts of long ones counted."""

    store: ContextStore
    reader: StateReader
    translators: Mapping[str, Translator]
    longest: int

    def translator_of(self, document: Document) -> Translator:
        """Raises Refused when the document's model is not served here."""
        try:
            return translator_of(document, self.translators)
        except Unservable as error:
            raise Refused(str(error)) from None
