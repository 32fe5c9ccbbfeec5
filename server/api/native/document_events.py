"""`GET /v1/documents/{document_id}/events`: what happens to a document, as server-sent events. A stream that was
interrupted continues where it ended (`Last-Event-ID`)."""

import asyncio
import re
from contextlib import aclosing
from functools import partial
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Query, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.admission.server_sent_events import KEEPALIVE_COMMENT, Events, EventStream, described, event
from server.api.native.document_list import DOCUMENTS
from server.api.native.document_schemas import DocumentProgress, DocumentSentence, TranslatedSentence
from server.api.requests.errors import ADMISSION, ApiError, documented
from server.documents.feeds import LAST_POSITION, Update, place_of
from server.documents.progress import Translated
from server.documents.two_stage import check_explainable
from server.runtime.offload import INLINE_CHARS, offload
from server.stores.interface import FIRST_CHANGE, ChangePlace
from server.stores.records import Document, Sentence
from server.telemetry.labels import RESTING_STATES

DOCUMENT = DOCUMENTS + "/{document_id}"
EVENTS = DOCUMENT + "/events"
STREAM = (
    "`translated`: this server translated a sentence. `sentence`: a sentence of the document as it is stored; "
    "sentences that are already translated come first. `document`: its state and progress. The stream ends when the "
    "document is done or failed, or at the request's deadline: then ask again with the last `id` as `Last-Event-ID`."
)
UNKNOWN = "There is no such document, or no such sentence in it."
Explain = Annotated[Literal["true", "false"], Query(description="Answer which sentences each sentence attended to.")]
LAST_EVENT_ID: Final = "Last-Event-ID"
_EVENT_ID = re.compile(r"(\d{1,15})(?:\.(\d{1,9}))?", re.ASCII)

router = APIRouter(tags=["documents"], route_class=ApiRoute.requiring("documents"))


@router.get(
    EVENTS,
    summary="The progress of a document, as server-sent events",
    response_class=Response,
    responses={
        200: {"content": described(STREAM, "translated", "sentence", "document"), "description": "Events."},
        204: {"description": "With `Last-Event-ID`: the document is done or failed, and nothing happened since."},
        **documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
    },
)
async def events(
    document_id: str,
    admitted: Admitted,
    explain: Explain = "false",
    last_event_id: Annotated[
        str | None, Header(alias=LAST_EVENT_ID, description="`id` of the last event that was received: others follow.")
    ] = None,
) -> Response:
    document = await admitted.state.documents.document(document_id)
    admitted.count_for_model(document.model)
    explains, after = explains_attention(document, explain), _place(last_event_id)
    if document.state in RESTING_STATES and after == place_of(document):
        return Response(status_code=204)  # browsers do not connect again
    return EventStream(_events(document, admitted, explains, after), admitted.deadline)


def explains_attention(document: Document, explain: str) -> bool:
    """Whether attention weights are requested. Raises Refused for a document of two models."""
    if explain == "true":
        check_explainable(document)
    return explain == "true"


async def _events(document: Document, admitted: AdmittedRequest, explains: bool, after: ChangePlace) -> Events:
    async with aclosing(admitted.state.documents.events(document.id, admitted.deadline, after)) as updates:
        async for update in updates:
            yield KEEPALIVE_COMMENT if update is None else await _written(update, explains, document.languages)


async def _written(update: Update, explains: bool, languages: tuple[str, str]) -> bytes:
    """The event of an update, which is made once for all of its listeners."""
    made = update.written.get(explains)
    if made is None:
        make = partial(_event, update, explains, languages)
        made = make() if update.num_chars <= INLINE_CHARS else asyncio.ensure_future(offload(make))
        update.written[explains] = made
    return made if isinstance(made, bytes) else await asyncio.shield(made)


def _event(update: Update, explains: bool, languages: tuple[str, str]) -> bytes:
    match update.content:
        case Translated(index, translation):
            return event("translated", TranslatedSentence(index=index, translation=translation))
        case Sentence():
            assert update.place is not None
            event_id = f"{update.place.version}.{update.place.position}"
            return event("sentence", DocumentSentence.of(update.content, explains, languages), event_id)
        case _:
            return event("document", DocumentProgress.of(update.content), str(update.content.document.version))


def _place(event_id: str | None) -> ChangePlace:
    """The place in the document's changes after which events follow. Raises ApiError (422)."""
    if not event_id:
        return FIRST_CHANGE
    match = _EVENT_ID.fullmatch(event_id)
    if match is None:
        raise ApiError("invalid_value", f"{LAST_EVENT_ID} must be the `id` of an event of this stream", LAST_EVENT_ID)
    version, position = match.groups()
    return ChangePlace(int(version), LAST_POSITION if position is None else int(position))
