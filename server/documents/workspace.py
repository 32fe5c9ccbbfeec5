"""What is needed to change a document: the store, the states, the limits, and the document's models. The changes
themselves are in `appending` and `correcting`, the work on queued documents in `job`."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

from server.documents.errors import NotServed, Refused, Unservable
from server.documents.sentence_states import StateReader
from server.documents.two_stage import in_stage, languages_of_stage
from server.stores.interface import ContextStore
from server.stores.limits import NO_LIMITS, DocumentLimits
from server.stores.records import Document
from server.translation.pair_translator import in_languages
from server.translation.served_model import load_together
from server.translation.translator import Translator
from server.translation_memory.service import TranslationMemoryService


@dataclass(frozen=True)
class Workspace:
    """`max_sentences` of a document; every part of a long sentence counts as one. `limits_now`: how much may be kept,
    which depends on how many keys there are."""

    store: ContextStore
    reader: StateReader
    translators: Mapping[str, Translator]
    max_sentences: int
    limits_now: Callable[[], DocumentLimits] = lambda: NO_LIMITS
    memories: TranslationMemoryService | None = None

    @property
    def limits(self) -> DocumentLimits:
        return self.limits_now()

    @contextlib.asynccontextmanager
    async def model_of(self, document: Document) -> AsyncIterator[Translator]:
        """The document's model (of two, that of its stage), loaded; it is not stopped as long as it is used. Raises
        Refused when the model is not served here, ModelUnavailable."""
        async with self._used([document]) as (model,):
            yield model

    @contextlib.asynccontextmanager
    async def models_of(self, document: Document) -> AsyncIterator[tuple[Translator, ...]]:
        """All models of the document, in their order, as `model_of` has one."""
        async with self._used([in_stage(document, leg) for leg in document.legs] or [document]) as models:
            yield models

    @contextlib.asynccontextmanager
    async def _used(self, stages: Sequence[Document]) -> AsyncIterator[tuple[Translator, ...]]:
        try:
            models = tuple(translator_of(stage, self.translators) for stage in stages)
        except Unservable as error:
            raise Refused(str(error)) from None
        with contextlib.ExitStack() as users:
            for model in models:
                users.enter_context(model.users)
            await load_together(models)
            yield models


def translator_of(document: Document, translators: Mapping[str, Translator]) -> Translator:
    """The document's model, for its languages. Raises NotServed, Unservable when it is served with other weights, and
    ModelUnavailable when its engine hangs or has failed."""
    translator = translators.get(document.model)
    if translator is None:
        raise NotServed(not_served(document))
    translator.check_available()
    if translator.fingerprint != document.fingerprint:
        raise Unservable(
            f"model '{document.model}' has other weights here than when the document came: it was replaced, or servers "
            "that share a context store serve different models of one name. Send the document again"
        )
    manifest, languages = translator.artifact.manifest, languages_of_stage(document)
    if manifest.languages is not None and not manifest.translates(*languages):
        raise Unservable(
            f"model '{document.model}' does not translate from '{languages[0]}' into '{languages[1]}' any more: it was "
            "imported with fewer languages. Send the document again"
        )
    return in_languages(translator, *languages)


def not_served(document: Document) -> str:
    return (
        f"model '{document.model}' is not served here: the document waits for a server that serves it and shares this "
        "context store. Start one, or send the document again for a model that is served"
    )
