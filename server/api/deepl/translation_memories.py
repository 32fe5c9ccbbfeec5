"""DeepL's translation memories: read and deleted under /v3, used by /v2/translate. They are made and filled under
/v1/translation_memories."""

import contextlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.requested_memory import FIELD, of_file, with_memory
from server.api.deepl.route import DEEPL, DeepLRoute
from server.api.requests.errors import ADMISSION, BODY, ApiError, documented
from server.api.requests.json_response import written
from server.api.serving.routing import Route
from server.keys.key import owner_of
from server.runtime.offload import offload
from server.text.spans.table import protected_spans
from server.translation.markup_translation import TranslatesTexts
from server.translation.memory_lookup import MemoryUse
from server.translation_memory.entries import Entry
from server.translation_memory.pairs import EXACT
from server.translation_memory.service import TranslationMemory

PATH = "/v3/translation_memories"
_DIGITS = re.compile(r"\d+")
READ_ERRORS = documented(*ADMISSION, *BODY, dialect=DEEPL)
FIND_ERRORS = documented(*ADMISSION, *BODY, "not_found", dialect=DEEPL)
router = APIRouter(tags=["DeepL"], route_class=DeepLRoute.requiring("translate"))


class DeepLMemory(BaseModel):
    translation_memory_id: str
    name: str
    source_language: str
    target_languages: list[str]
    segment_count: int
    creation_time: str

    @classmethod
    def of(cls, memory: TranslationMemory) -> "DeepLMemory":
        return cls(
            translation_memory_id=memory.id,
            name=memory.name,
            source_language=memory.source,
            target_languages=[memory.target],
            segment_count=memory.entries,
            creation_time=_time(memory.created),
        )


class DeepLMemories(BaseModel):
    translation_memories: list[DeepLMemory]


class DeepLTargetSegment(BaseModel):
    target_segment_id: str
    target_language: str
    target_text: str
    updated_time: str


class DeepLSegment(BaseModel):
    source_segment_id: str
    source_text: str
    targets: list[DeepLTargetSegment]
    updated_time: str

    @classmethod
    def of(cls, entry: Entry, target: str) -> "DeepLSegment":
        updated = _time(entry.created)
        translation = DeepLTargetSegment(
            target_segment_id=entry.id, target_language=target, target_text=entry.pair.target, updated_time=updated
        )
        return cls(
            source_segment_id=entry.id, source_text=entry.pair.source, targets=[translation], updated_time=updated
        )


class DeepLSegments(BaseModel):
    segments: list[DeepLSegment]
    segment_count: int = Field(description="Of the whole memory.")
    next_page_cursor: str | None = Field(default=None, description="Not on the last page.")


@router.get(PATH, summary="Translation memories, in pages", responses=READ_ERRORS)
async def listed(
    admitted: Admitted,
    page: Annotated[int, Query(ge=0, le=10**6, description="From 0 on.")] = 0,
    page_size: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> DeepLMemories:
    memories = await admitted.state.translation_memories.of_owner(owner_of(admitted.key))
    shown = memories[page * page_size : (page + 1) * page_size]
    return DeepLMemories(translation_memories=[DeepLMemory.of(memory) for memory in shown])


@router.get(PATH + "/{memory_id}", summary="A translation memory without its segments", responses=FIND_ERRORS)
async def info(memory_id: str, admitted: Admitted) -> DeepLMemory:
    return DeepLMemory.of(await admitted.state.translation_memories.find(owner_of(admitted.key), memory_id))


@router.delete(PATH + "/{memory_id}", summary="Delete a translation memory", status_code=204, responses=FIND_ERRORS)
async def delete(memory_id: str, admitted: Admitted) -> None:
    await admitted.state.translation_memories.delete(owner_of(admitted.key), memory_id)


@router.get(
    PATH + "/{memory_id}/segments",
    summary="The segments of a translation memory, in pages",
    response_model=DeepLSegments,
    responses=FIND_ERRORS,
)
async def segments(
    memory_id: str,
    admitted: Admitted,
    page_size: Annotated[int, Query(ge=1, le=500)] = 50,
    page_cursor: Annotated[int, Query(ge=0, le=2**53, description="next_page_cursor of the page before.")] = 0,
    filter_text: Annotated[str | None, Query(description="Not served.")] = None,
) -> Response:
    if filter_text:
        raise ApiError("invalid_value", "Value for 'filter_text' not supported.", "filter_text")
    memories, owner = admitted.state.translation_memories, owner_of(admitted.key)
    memory = await memories.find(owner, memory_id)
    entries = await memories.entries(owner, memory_id, page_cursor, page_size + 1)
    shown = entries[:page_size]

    def answer() -> Response:
        page = [DeepLSegment.of(entry, memory.target) for entry in shown]
        following = str(shown[-1].number) if len(entries) > page_size else None
        return written(DeepLSegments(segments=page, segment_count=memory.entries, next_page_cursor=following))

    return await offload(answer)


async def with_named_memory(
    admitted: AdmittedRequest, translator: TranslatesTexts, route: Route, memory_id: str | None, threshold: int | None
) -> TranslatesTexts:
    """The translator of a route after a memory whose segments are used from a likeness of `threshold` percent on (None:
    equal ones only), if they have the details of the text; without an id, the translator alone. Raises ApiError: 400
    for a threshold without a memory, 404 for a memory of other languages."""
    applies_from = _applies_from(memory_id, threshold)
    if not memory_id:
        return translator
    with _not_found():
        return await with_memory(admitted, translator, route, memory_id, EXACT, applies_from, same_details)


async def named_memory_of_file(
    admitted: AdmittedRequest, route: Route, memory_id: str | None, threshold: int | None
) -> MemoryUse | None:
    """The same for a file. Raises ApiError."""
    applies_from = _applies_from(memory_id, threshold)
    with _not_found():
        return await of_file(admitted, route, memory_id, applies_from, same_details)


def _applies_from(memory_id: str | None, threshold: int | None) -> int:
    """Raises ApiError (400) for a threshold without a memory."""
    if threshold is not None and not memory_id:
        raise ApiError("invalid_value", f"'{FIELD}' is missing: translation_memory_threshold needs it.", FIELD)
    return EXACT if threshold is None else threshold


@contextlib.contextmanager
def _not_found() -> Iterator[None]:
    """A memory of other languages is not found."""
    try:
        yield
    except ApiError as error:
        if error.param == FIELD:
            raise ApiError("not_found", error.message, FIELD) from None
        raise


def same_details(source: str, text: str) -> bool:
    """Whether two texts of one language have the same digits and the same untranslated spans, such as URLs and
    placeholders, in the same order: what a similar segment must not change."""
    return _details(source) == _details(text)


def _details(text: str) -> tuple[list[str], list[str]]:
    return _DIGITS.findall(text), [text[start:end] for start, end in protected_spans(text)]


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
