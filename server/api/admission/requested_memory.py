"""The translation memory that a request names."""

from collections.abc import Callable
from typing import Final

from server.api.admission.admitted_request import AdmittedRequest
from server.api.requests.errors import ApiError
from server.api.serving.routing import Route
from server.keys.key import owner_of
from server.text.base.language_tags import base_language
from server.translation.markup_translation import TranslatesTexts
from server.translation.memory_lookup import MemoryUse
from server.translation.memory_translator import MemoryTranslator
from server.translation_memory.index import MemoryIndex
from server.translation_memory.pairs import EXACT

FIELD: Final = "translation_memory_id"
UNKNOWN_MEMORY: Final = "There is no such translation memory."
DEFAULT_THRESHOLD: Final = 75
"""Percent of likeness from which entries are offered, where a request does not say it."""


async def with_memory(
    admitted: AdmittedRequest,
    translator: TranslatesTexts,
    route: Route,
    memory_id: str,
    offers_from: int,
    applies_from: int = EXACT,
    may_apply: Callable[[str, str], bool] = lambda source, other: True,
) -> TranslatesTexts:
    """The translator of a route after the memory with this id, for what MemoryUse describes. Raises ApiError (422) for
    a memory of other languages, UnknownMemory."""
    use = MemoryUse(await index_of(admitted, route, memory_id), offers_from, applies_from, may_apply)
    first = route.models[0]
    counter = sentence_counter(admitted, route)
    return MemoryTranslator(translator, use, first.languages[0], counter, first.planner.check_count)


async def of_file(
    admitted: AdmittedRequest,
    route: Route,
    memory_id: str | None,
    applies_from: int = EXACT,
    may_apply: Callable[[str, str], bool] = lambda source, other: True,
) -> MemoryUse | None:
    """How a file uses the memory with this id; None without an id. Raises as `with_memory`."""
    if not memory_id:
        return None
    index, counter = await index_of(admitted, route, memory_id), sentence_counter(admitted, route)
    return MemoryUse(index, EXACT, applies_from, may_apply, counter)


def sentence_counter(admitted: AdmittedRequest, route: Route) -> Callable[[int], None]:
    """Counts sentences that a memory had in the metrics."""
    counter = admitted.state.metrics.translation_memory_sentences_total.labels(route.models[-1].name)
    return counter.inc


async def index_of(admitted: AdmittedRequest, route: Route, memory_id: str) -> MemoryIndex:
    """The index of a memory of the route's languages. Raises ApiError (422), UnknownMemory."""
    memory, index = await admitted.state.translation_memories.index(owner_of(admitted.key), memory_id)
    languages = route.models[0].languages[0], route.models[-1].languages[1]
    if tuple(map(base_language, memory.languages)) != tuple(map(base_language, languages)):
        raise ApiError(
            "invalid_value",
            f"{FIELD}: the translation memory is from {memory.source} to {memory.target}, not from {languages[0]} to "
            f"{languages[1]}",
            FIELD,
        )
    return index
