"""`/v1/documents`: documents whose sentences are translated in the light of each other."""

import asyncio
import logging
import math
import time
from contextlib import aclosing
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import PlainTextResponse

from server.api.access import whose_are_listed
from server.api.document_schemas import (
    AppendAnswer,
    AppendRequest,
    ContextAnswer,
    CorrectionAnswer,
    CorrectionRequest,
    DocumentAnswer,
    DocumentList,
    DocumentProgress,
    DocumentRequest,
    DocumentSentence,
    TranslatedSentence,
)
from server.api.errors import ADMISSION, BODY, ApiError, documented
from server.api.event_stream import STILL_HERE, Events, EventStream, described, event
from server.api.keys import owner_of
from server.api.limits import check_chars, check_total
from server.api.pivoting import legs_of
from server.api.route import DoorRoute
from server.api.state import ServerState
from server.api.visit import Admitted, Visit
from server.documents.correcting import Correction
from server.documents.in_turn import check_looks
from server.documents.job import not_served
from server.documents.listeners import Translated
from server.documents.service import NewDocument
from server.documents.stores.interface import Cursor, StoreError
from server.documents.stores.records import Document, Sentence
from server.documents.stores.refusals import ID_PATTERN
from server.outcomes import OPEN_STATES

logger = logging.getLogger("ringmt")

DOCUMENTS = "/v1/documents"
DOCUMENT = DOCUMENTS + "/{document_id}"
EVENTS = DOCUMENT + "/events"
STREAM = (
    "`translated`: this server translated a sentence. `sentence`: a sentence of the document as it was written; those "
    "that are already there come first. `document`: its state and progress. The stream ends when the document is done "
    "or failed, or at the request's deadline: then ask again."
)
RESULT = DOCUMENT + "/result"
SENTENCES = DOCUMENT + "/sentences"
SENTENCE = SENTENCES + "/{index:int}"
CONTEXT = SENTENCE + "/context"

READING_SECONDS = 0.5
"""Seconds before its deadline at which a request stops to wait for its document and reads it."""

Index = Annotated[int, Path(ge=0, description="Of the sentence; the first is 0.")]
Explain = Annotated[Literal["true", "false"], Query(description="Say in the answer which sentences each looked at.")]
UNKNOWN = "There is no such document, or no such sentence in it."

router = APIRouter(tags=["documents"], route_class=DoorRoute.needing("documents"))


@router.post(
    DOCUMENTS,
    summary="Translate a document",
    response_model=DocumentAnswer,
    response_model_exclude_unset=True,
    responses={
        **documented(*ADMISSION, *BODY),
        202: {"description": "Accepted; Location says where to look.", "model": DocumentAnswer},
    },
)
async def create(body: DocumentRequest, visit: Admitted, response: Response) -> DocumentAnswer:
    new, latest = _new_document(body, visit), visit.deadline
    kept, sentences = await visit.state.documents.create(new)
    visit.shorten(body.timeout)
    if body.wait and sentences:
        kept, sentences = await _after_waiting(visit, kept, sentences, latest)
    if kept.state in OPEN_STATES:
        response.status_code = 202
    response.headers["Location"] = f"{DOCUMENTS}/{kept.id}"
    return _answer(visit.state, kept, sentences, body.explain)


@router.get(
    DOCUMENTS,
    summary="Documents that are kept, the newest first",
    response_model=DocumentList,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION),
)
async def listed(
    visit: Admitted,
    limit: Annotated[int, Query(ge=1, le=100, description="Documents on a page.")] = 20,
    after: Annotated[str | None, Query(description="`next` of the page before.")] = None,
    owner: Annotated[
        str | None, Query(description="For keys of the scope `admin`: the name of a key; without it, all keys.")
    ] = None,
) -> DocumentList:
    whose = whose_are_listed(visit.key, owner)
    page = await visit.state.documents.page(whose, limit, None if after is None else _cursor(after))
    shows_owners = visit.key is not None and visit.key.is_admin
    return DocumentList.of(page.documents, None if page.after is None else _written(page.after), shows_owners)


def _written(cursor: Cursor) -> str:
    return f"{cursor.created!r}~{cursor.document_id}"


def _cursor(written: str) -> Cursor:
    """Raises ApiError (422)."""
    created, _, document_id = written.partition("~")
    try:
        cursor = Cursor(float(created), document_id)
    except ValueError:
        cursor = Cursor(math.nan, document_id)
    if not math.isfinite(cursor.created) or not ID_PATTERN.fullmatch(document_id):
        raise ApiError("invalid_value", "after must be `next` of the page before", "after")
    return cursor


@router.get(
    DOCUMENT,
    summary="A document and what is translated of it so far",
    response_model=DocumentAnswer,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
)
async def look(document_id: str, visit: Admitted, explain: Explain = "false") -> DocumentAnswer:
    document, sentences = await visit.state.documents.read(document_id)
    return _answer(visit.state, document, sentences, _explains(document, explain))


@router.get(
    EVENTS,
    summary="What happens to a document, as server-sent events",
    response_class=Response,
    responses={
        200: {"content": described(STREAM, "translated", "sentence", "document"), "description": "Events."},
        **documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
    },
)
async def events(document_id: str, visit: Admitted, explain: Explain = "false") -> EventStream:
    document = await visit.state.documents.document(document_id)
    visit.works_with(document.model)
    return EventStream(_events(document_id, visit, _explains(document, explain)), visit.deadline)


async def _events(document_id: str, visit: Visit, explain: bool) -> Events:
    async with aclosing(visit.state.documents.events(document_id, visit.deadline)) as happening:
        async for news in happening:
            match news:
                case None:
                    yield STILL_HERE
                case Translated(index, translation):
                    yield event("translated", TranslatedSentence(index=index, translation=translation))
                case Sentence():
                    yield event("sentence", DocumentSentence.of(news, explain))
                case _:
                    yield event("document", DocumentProgress.of(news))


@router.delete(
    DOCUMENT,
    summary="Delete a document",
    status_code=204,
    responses=documented(*ADMISSION, "not_found", meanings={"not_found": UNKNOWN}),
)
async def delete(document_id: str, visit: Admitted) -> Response:
    await visit.state.documents.delete(document_id)
    return Response(status_code=204)


@router.get(
    RESULT,
    summary="The translated document as plain text",
    response_class=Response,
    responses={
        **documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
    },
)
async def result(document_id: str, visit: Admitted) -> PlainTextResponse:
    document, sentences = await visit.state.documents.read(document_id)
    if document.state != "done":
        raise ApiError("conflict", f"the document is {document.state}, its text is there when it is done")
    text = "".join(f"{one.gap}{one.translation}" for one in sentences) + document.end
    return PlainTextResponse(text)


@router.post(
    SENTENCES,
    summary="Continue an online document",
    response_model=AppendAnswer,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION, *BODY, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
)
async def append(document_id: str, body: AppendRequest, visit: Admitted, explain: Explain = "false") -> AppendAnswer:
    visit.shorten(body.timeout)
    check_chars(body.sources, visit.state.settings, "sentences")
    documents, explains = visit.state.documents, explain == "true"
    document, new = await documents.append(document_id, body.sources, body.first_index, visit.deadline, explains)
    visit.works_with(document.model)
    sentences = [DocumentSentence.of(one, explains) for one in new]
    return AppendAnswer(id=document.id, version=document.version, sentences=sentences)


@router.put(
    SENTENCE,
    summary="Correct a sentence",
    response_model=CorrectionAnswer,
    response_model_exclude_unset=True,
    responses={
        **documented(*ADMISSION, *BODY, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
        202: {"description": "Others are being translated again.", "model": CorrectionAnswer},
    },
)
async def correct(
    document_id: str,
    index: Index,
    body: CorrectionRequest,
    visit: Admitted,
    response: Response,
    retranslate: Annotated[
        Literal["none", "affected"], Query(description="Translate again the sentences that see this one.")
    ] = "none",
) -> CorrectionAnswer:
    visit.shorten(body.timeout)
    for param, text in (("source", body.source), ("translation", body.translation)):
        check_chars([text] if text is not None else [], visit.state.settings, param)
    correction = Correction(body.source, body.translation, retranslate)
    document, sentence = await visit.state.documents.correct(document_id, index, correction, visit.deadline)
    visit.works_with(document.model)
    if document.state in OPEN_STATES:
        response.status_code = 202
        response.headers["Location"] = f"{DOCUMENTS}/{document.id}"
    return CorrectionAnswer(
        id=document.id,
        state=document.state,
        version=document.version,
        sentence=DocumentSentence.of(sentence, explain=False),
    )


@router.get(
    CONTEXT,
    summary="Where a sentence looks, computed anew",
    response_model=ContextAnswer,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
)
async def context(document_id: str, index: Index, visit: Admitted) -> ContextAnswer:
    sentences, explanation = await visit.state.documents.explain(document_id, index)
    return ContextAnswer.of(index, sentences, explanation)


def _new_document(body: DocumentRequest, visit: Visit) -> NewDocument:
    """Raises ApiError: 413 or 422."""
    settings = visit.state.settings
    if body.text is not None:
        check_total([body.text], settings, "text")
    else:
        check_chars(body.sentences or [], settings, "sentences")
    asked_for = (body.beam_size, body.length_penalty, body.max_length)
    [translator, *more], asked = legs_of(visit, body.model, body.source, body.target, *asked_for)
    if more and body.explain:
        message = f"explain: not where two models translate, {body.source} to {more[0].languages[0]} to {body.target}"
        raise ApiError("invalid_value", f"{message}; leave it out, or send a document to each", "explain")
    return NewDocument(translator, body.mode, body.sources, asked, owner_of(visit.key), *more)


def _explains(document: Document, explain: str) -> bool:
    """Whether it is asked where sentences looked. Raises Refused where two models translated."""
    if explain == "true":
        check_looks(document)
    return explain == "true"


async def _after_waiting(
    visit: Visit, accepted: Document, sentences: list[Sentence], latest: float
) -> tuple[Document, list[Sentence]]:
    """Wait for a document that was `accepted`, and read it before `latest`, the deadline of the request (a
    time.monotonic() value). If the store does not answer in time, the document is told as it was accepted: its id is
    not to be lost. If the client hangs up, nobody knows its id, and it is deleted."""
    documents, now = visit.state.documents, time.monotonic()
    reading = min(READING_SECONDS, visit.state.settings.request_timeout / 2)
    try:
        async with asyncio.timeout(latest - reading / 2 - now):
            return await documents.wait(accepted.id, visit.deadline - reading)
    except TimeoutError:
        return accepted, sentences
    except StoreError as error:
        logger.warning("document %s was accepted and cannot be read: %s", accepted.id, error)
        return accepted, sentences
    except asyncio.CancelledError:
        if getattr(visit.request.state, "is_gone", False):
            await documents.delete(accepted.id)
        raise


def _answer(state: ServerState, document: Document, sentences: list[Sentence], explain: bool) -> DocumentAnswer:
    names = [leg.model for leg in document.legs] or [document.model]
    knows_context = any(state.translators[one].knows_context for one in names if one in state.translators)
    answer = DocumentAnswer.of(document, sentences, knows_context, explain)
    if document.model not in state.translators and document.state in OPEN_STATES:
        answer.error = not_served(document)
    elif document.state in OPEN_STATES and state.translators[document.model].state != "ready":
        answer.error = f"the document waits: {state.translators[document.model].unavailable()}"
    return answer
