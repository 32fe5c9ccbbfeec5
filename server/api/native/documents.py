"""`/v1/documents`: documents whose sentences are translated with each other as context."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.admission.requested_memory import FIELD, UNKNOWN_MEMORY, index_of
from server.api.native.document_events import DOCUMENT, UNKNOWN, Explain, explains_attention
from server.api.native.document_list import DOCUMENTS
from server.api.native.document_request_schemas import AppendRequest, CorrectionRequest, DocumentRequest
from server.api.native.document_schemas import (
    AppendAnswer,
    ContextAnswer,
    CorrectionAnswer,
    CorrectionInMemory,
    DocumentAnswer,
    DocumentSentence,
    SentencePage,
)
from server.api.requests.errors import ADMISSION, BODY, QUOTA, ApiError, documented
from server.api.requests.json_response import written_as_set
from server.api.requests.limits import check_chars, check_total, requested_options
from server.api.serving.routing import TwoModels
from server.api.serving.server_state import ServerState
from server.documents.correcting import Correction
from server.documents.service import NewDocument
from server.documents.workspace import not_served
from server.keys.key import owner_of
from server.runtime.offload import offload_above
from server.stores.interface import StoreError
from server.stores.records import Document, Sentence
from server.telemetry.labels import OPEN_STATES

logger = logging.getLogger("ringmt")

RESULT = DOCUMENT + "/result"
SENTENCES = DOCUMENT + "/sentences"
SENTENCE = SENTENCES + "/{index:int}"
CONTEXT = SENTENCE + "/context"

MAX_SENTENCES = 2_000
"""Sentences in one answer: those of a document of the default size."""
LARGEST_INDEX = 10**9
SENTENCE_CHARS = 40
"""Characters that a sentence's fields add to its text in the estimated size of an answer."""
READING_SECONDS = 0.5
"""Seconds before its deadline at which a request stops to wait for its document and reads it."""

Index = Annotated[int, Path(ge=0, description="Of the sentence; the first is 0.")]

router = APIRouter(tags=["documents"], route_class=ApiRoute.requiring("documents"))


@router.post(
    DOCUMENTS,
    summary="Translate a document",
    response_model=DocumentAnswer,
    response_model_exclude_unset=True,
    responses={
        **documented(*ADMISSION, *BODY, *QUOTA, "not_found", meanings={"not_found": UNKNOWN_MEMORY}),
        202: {"description": "Accepted; Location says where to look.", "model": DocumentAnswer},
    },
)
async def create(body: DocumentRequest, admitted: Admitted) -> Response:
    new, latest = await _new_document(body, admitted), admitted.deadline
    kept, sentences = await admitted.state.documents.create(new)
    admitted.limit_deadline(body.timeout)
    if body.wait and sentences:
        kept, sentences = await _after_waiting(admitted, kept, sentences, latest)
    status, headers = 202 if kept.state in OPEN_STATES else 200, {"Location": f"{DOCUMENTS}/{kept.id}"}
    page = SentencePage(sentences[:MAX_SENTENCES])
    return await _written(page.sentences, lambda: _answer(admitted.state, kept, page, body.explain), status, headers)


@router.get(
    DOCUMENT,
    summary="A document and what is translated of it so far",
    response_model=DocumentAnswer,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
)
async def read_document(
    document_id: str,
    admitted: Admitted,
    explain: Explain = "false",
    first: Annotated[int, Query(ge=0, le=LARGEST_INDEX, description="Index of the first sentence.")] = 0,
    limit: Annotated[int, Query(ge=0, le=MAX_SENTENCES, description="Sentences in the answer.")] = MAX_SENTENCES,
) -> Response:
    document, sentences = await admitted.state.documents.read(document_id, first, first + limit)
    explains, page = explains_attention(document, explain), SentencePage(sentences, min(first, document.num_sentences))
    return await _written(sentences, lambda: _answer(admitted.state, document, page, explains))


@router.delete(
    DOCUMENT,
    summary="Delete a document",
    status_code=204,
    responses=documented(*ADMISSION, "not_found", meanings={"not_found": UNKNOWN}),
)
async def delete(document_id: str, admitted: Admitted) -> Response:
    await admitted.state.documents.delete(document_id)
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
async def result(document_id: str, admitted: Admitted) -> PlainTextResponse:
    document, sentences = await admitted.state.documents.read(document_id)
    if document.state != "done":
        raise ApiError("conflict", f"the document is {document.state}, its text is there when it is done")
    size = sum(SENTENCE_CHARS + len(sentence.source) for sentence in sentences)
    return await offload_above(size, _text_of, document, sentences)


def _text_of(document: Document, sentences: Sequence[Sentence]) -> PlainTextResponse:
    return PlainTextResponse("".join(f"{sentence.gap}{sentence.translation}" for sentence in sentences) + document.end)


@router.post(
    SENTENCES,
    summary="Continue an online document",
    response_model=AppendAnswer,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION, *BODY, *QUOTA, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
)
async def append(document_id: str, body: AppendRequest, admitted: Admitted, explain: Explain = "false") -> Response:
    admitted.limit_deadline(body.timeout)
    check_chars(body.sources, admitted.state.settings, "sentences")
    admitted.charge(sum(map(len, body.sources)))
    documents, explains = admitted.state.documents, explain == "true"
    document, new = await documents.append(document_id, body.sources, body.first_index, admitted.deadline, explains)
    admitted.count_for_model(document.model)
    return await _written(
        new,
        lambda: AppendAnswer(
            id=document.id,
            version=document.version,
            sentences=[DocumentSentence.of(sentence, explains, document.languages) for sentence in new],
        ),
    )


@router.put(
    SENTENCE,
    summary="Correct a sentence",
    response_model=CorrectionAnswer,
    response_model_exclude_unset=True,
    responses={
        **documented(*ADMISSION, *BODY, *QUOTA, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
        202: {"description": "Others are being translated again.", "model": CorrectionAnswer},
    },
)
async def correct(
    document_id: str,
    index: Index,
    body: CorrectionRequest,
    admitted: Admitted,
    retranslate: Annotated[
        Literal["none", "affected"], Query(description="Translate again the sentences that see this one.")
    ] = "none",
) -> Response:
    admitted.limit_deadline(body.timeout)
    for param, text in (("source", body.source), ("translation", body.translation)):
        check_chars([text] if text is not None else [], admitted.state.settings, param)
    admitted.charge(len(body.source or ""))
    correction = Correction(body.source, body.translation, retranslate)
    document, sentence = await admitted.state.documents.correct(document_id, index, correction, admitted.deadline)
    admitted.count_for_model(document.model)
    answer = CorrectionAnswer(
        id=document.id,
        state=document.state,
        version=document.version,
        sentence=DocumentSentence.of(sentence, explain=False, languages=document.languages),
    )
    if body.translation is not None and document.translation_memory_id is not None:
        reason = await admitted.state.documents.keep_correction(document, sentence)
        refused = {} if reason is None else {"reason": reason}
        answer.memory = CorrectionInMemory(kept=reason is None, **refused)
    if document.state in OPEN_STATES:
        return written_as_set(answer, 202, {"Location": f"{DOCUMENTS}/{document.id}"})
    return written_as_set(answer)


@router.get(
    CONTEXT,
    summary="What a sentence attends to, computed again",
    response_model=ContextAnswer,
    response_model_exclude_unset=True,
    responses=documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": UNKNOWN}),
)
async def context(document_id: str, index: Index, admitted: Admitted) -> Response:
    sentences, explanation = await admitted.state.documents.explain(document_id, index)
    return await _written(sentences, lambda: ContextAnswer.of(index, sentences, explanation))


async def _new_document(body: DocumentRequest, admitted: AdmittedRequest) -> NewDocument:
    """Raises ApiError: 413 or 422."""
    settings = admitted.state.settings
    if body.text is not None:
        check_total([body.text], settings, "text")
    else:
        check_chars(body.sentences or [], settings, "sentences")
    num_chars = len(body.text) if body.text is not None else sum(map(len, body.sentences or []))
    route = await admitted.choose(body.model, body.source, body.target, num_chars)
    requested = requested_options(
        route.models, settings, body.beam_size, body.length_penalty, body.max_length, body.formality
    )
    if isinstance(route, TwoModels) and body.explain:
        message = f"explain: not where two models translate, {' to '.join(route.languages)}"
        raise ApiError("invalid_value", f"{message}; leave it out, or send a document to each", "explain")
    memory_id = body.translation_memory_id or None
    if isinstance(route, TwoModels) and memory_id is not None:
        message = f"{FIELD}: not where two models translate, {' to '.join(route.languages)}"
        raise ApiError("invalid_value", f"{message}; leave it out, or send texts to /v1/translate", FIELD)
    memory = None if memory_id is None else (memory_id, await index_of(admitted, route, memory_id))
    first, *second = route.models
    return NewDocument(
        first,
        body.mode,
        body.sources,
        requested,
        owner_of(admitted.key),
        then=second[0] if second else None,
        memory=memory,
    )


async def _after_waiting(
    admitted: AdmittedRequest, accepted: Document, sentences: list[Sentence], latest: float
) -> tuple[Document, list[Sentence]]:
    """Wait for a document that was `accepted`, and read it before `latest`, the deadline of the request (a
    time.monotonic() value). If the store does not answer in time, the answer has the document as it was accepted, so
    that the client has its id. If the client disconnects, the document is deleted, because its id is lost."""
    documents, now = admitted.state.documents, time.monotonic()
    reading = min(READING_SECONDS, admitted.state.settings.request_timeout / 2)
    try:
        async with asyncio.timeout(latest - reading / 2 - now):
            return await documents.wait(accepted.id, admitted.deadline - reading)
    except TimeoutError:
        return accepted, sentences
    except StoreError as error:
        logger.warning("document %s was accepted and cannot be read: %s", accepted.id, error)
        return accepted, sentences
    except asyncio.CancelledError:
        if getattr(admitted.request.state, "is_gone", False):
            await documents.delete(accepted.id)
        raise


async def _written(
    sentences: Sequence[Sentence],
    build: Callable[[], BaseModel],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer that `build` returns for `sentences`, as JSON. A large answer is built and written in a thread."""
    size = sum(SENTENCE_CHARS + len(sentence.source) for sentence in sentences)
    return await offload_above(size, lambda: written_as_set(build(), status, headers))


def _answer(state: ServerState, document: Document, page: SentencePage, explain: bool) -> DocumentAnswer:
    names = [leg.model for leg in document.legs] or [document.model]
    knows_context = any(state.translators[name].knows_context for name in names if name in state.translators)
    answer = DocumentAnswer.of(document, page, knows_context, explain)
    if document.model not in state.translators and document.state in OPEN_STATES:
        answer.error = not_served(document)
    elif document.state in OPEN_STATES and not state.translators[document.model].is_available:
        answer.error = f"the document waits: {state.translators[document.model].unavailable()}"
    return answer
