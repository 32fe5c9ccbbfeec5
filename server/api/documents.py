"""`/v1/documents`: documents whose sentences are translated in the light of each other."""

import time
from collections.abc import Iterable
from typing import Literal, cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from server.api.body import read_json
from server.api.deadline import before
from server.api.disconnect import unless_disconnected
from server.api.document_schemas import (
    AppendAnswer,
    AppendRequest,
    ContextAnswer,
    CorrectionAnswer,
    CorrectionRequest,
    DocumentAnswer,
    DocumentRequest,
    DocumentSentence,
)
from server.api.errors import ApiError, Route, documented
from server.api.middleware import ClientGone
from server.api.state import ServerState
from server.api.translate import check_chars, check_search, request_body
from server.documents.records import Document, Sentence
from server.documents.service import Correction, NewDocument
from server.settings import Settings, nearest
from server.translator import Translator

DOCUMENTS = "/v1/documents"
DOCUMENT = DOCUMENTS + "/{document_id}"
RESULT = DOCUMENT + "/result"
SENTENCES = DOCUMENT + "/sentences"
SENTENCE = SENTENCES + "/{index:int}"
CONTEXT = SENTENCE + "/context"


def endpoints() -> Iterable[tuple[str, tuple[int, ...]]]:
    """Paths with every status that they answer with."""
    kinds: dict[str, tuple[Route, tuple[int, ...]]] = {
        DOCUMENTS: ("document write", (200, 202)),
        DOCUMENT: ("document read", (200, 204)),
        RESULT: ("document read", (200,)),
        SENTENCES: ("document write", (200,)),
        SENTENCE: ("document write", (200, 202)),
        CONTEXT: ("document read", (200,)),
    }
    for path, (kind, good) in kinds.items():
        yield path, (*good, *(int(status) for status in documented(kind)))


def documents_router(state: ServerState) -> APIRouter:
    """The routes, bound to a server's state."""
    router = APIRouter(tags=["documents"])
    read, write = documented("document read"), documented("document write")

    @router.post(
        DOCUMENTS,
        summary="Translate a document",
        response_model=DocumentAnswer,
        response_model_exclude_unset=True,
        responses={**write, 202: {"description": "Accepted; Location says where to look.", "model": DocumentAnswer}},
        openapi_extra=request_body(DocumentRequest),
    )
    async def create(request: Request, response: Response) -> DocumentAnswer:
        deadline = _deadline(state)
        body = await read_json(request, DocumentRequest, state.settings.max_body_bytes)
        new = _new_document(body, state)
        request.state.model = new.translator.name
        document = await state.documents.create(new)
        kept, sentences = await _after_waiting(request, state, document, deadline if body.wait else None)
        if kept.state in ("queued", "running"):
            response.status_code = 202
        response.headers["Location"] = f"{DOCUMENTS}/{kept.id}"
        return _answer(state, kept, sentences, body.explain)

    @router.get(
        DOCUMENT,
        summary="A document and what is translated of it so far",
        response_model=DocumentAnswer,
        response_model_exclude_unset=True,
        responses=read,
    )
    async def look(request: Request, document_id: str) -> DocumentAnswer:
        state.check_ready()
        explain = _choice(request, "explain", ("true", "false"), "false") == "true"
        document, sentences = await state.documents.read(document_id)
        return _answer(state, document, sentences, explain)

    @router.delete(DOCUMENT, summary="Delete a document", status_code=204, responses=read)
    async def delete(document_id: str) -> Response:
        state.check_ready()
        await state.documents.delete(document_id)
        return Response(status_code=204)

    @router.get(
        RESULT,
        summary="The translated document as plain text",
        response_class=PlainTextResponse,
        responses=read,
    )
    async def result(document_id: str) -> PlainTextResponse:
        state.check_ready()
        document, sentences = await state.documents.read(document_id)
        if document.state != "done":
            raise ApiError("conflict", f"the document is {document.state}, its text is there when it is done")
        text = "".join(f"{one.gap}{one.translation}" for one in sentences) + document.end
        return PlainTextResponse(text)

    @router.post(
        SENTENCES,
        summary="Continue an online document",
        response_model=AppendAnswer,
        response_model_exclude_unset=True,
        responses=write,
        openapi_extra=request_body(AppendRequest),
    )
    async def append(request: Request, document_id: str) -> AppendAnswer:
        deadline = _deadline(state)
        explain = _choice(request, "explain", ("true", "false"), "false") == "true"
        body = await read_json(request, AppendRequest, state.settings.max_body_bytes)
        check_chars(body.sources, state.settings, "sentences")
        work = state.documents.append(document_id, body.sources, body.first_index, deadline)
        document, new = await unless_disconnected(request, before(deadline, work))
        request.state.model = document.model
        sentences = [DocumentSentence.of(one, explain) for one in new]
        return AppendAnswer(id=document.id, version=document.version, sentences=sentences)

    @router.put(
        SENTENCE,
        summary="Correct a sentence",
        response_model=CorrectionAnswer,
        response_model_exclude_unset=True,
        responses={**write, 202: {"description": "Others are being translated again.", "model": CorrectionAnswer}},
        openapi_extra=request_body(CorrectionRequest),
    )
    async def correct(request: Request, response: Response, document_id: str, index: int) -> CorrectionAnswer:
        deadline = _deadline(state)
        wanted = _choice(request, "retranslate", ("none", "affected"), "none")
        body = await read_json(request, CorrectionRequest, state.settings.max_body_bytes)
        check_chars([text for text in (body.source, body.translation) if text is not None], state.settings, "source")
        correction = Correction(body.source, body.translation, cast(Literal["none", "affected"], wanted))
        work = state.documents.correct(document_id, index, correction, deadline)
        document, sentence = await unless_disconnected(request, before(deadline, work))
        request.state.model = document.model
        if document.state in ("queued", "running"):
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
        responses=read,
    )
    async def context(request: Request, document_id: str, index: int) -> ContextAnswer:
        state.check_ready()
        sentences, explanation = await unless_disconnected(request, state.documents.explain(document_id, index))
        return ContextAnswer.of(index, sentences, explanation)

    return router


def _deadline(state: ServerState) -> float:
    """When the request must be answered. Raises ApiError unless the server takes requests."""
    state.check_ready()
    return time.monotonic() + state.settings.request_timeout


def _new_document(body: DocumentRequest, state: ServerState) -> NewDocument:
    """Raises ApiError: 413 or 422."""
    settings = state.settings
    if body.text is not None:
        _check_total(len(body.text), settings, "text")
    else:
        check_chars(body.sentences or [], settings, "sentences")
    translator = state.translator_for(body.model, body.source, body.target)
    beam_size = check_search(body.beam_size, body.max_length, translator, settings)
    options = {"beam_size": beam_size, "length_penalty": body.length_penalty, "max_length": body.max_length}
    return NewDocument(translator, body.mode, body.sentences or [] if body.text is None else body.text, options)


def _check_total(count: int, settings: Settings, param: str) -> None:
    if count > settings.max_total_chars:
        message = f"{count} characters, at most {settings.max_total_chars} in one request"
        raise ApiError("too_large", message, param)


async def _after_waiting(
    request: Request, state: ServerState, document: Document, deadline: float | None
) -> tuple[Document, list[Sentence]]:
    """The document now, or when it has ended. One whose client hangs up is deleted: nobody else knows its id."""
    if deadline is None:
        return await state.documents.read(document.id)
    try:
        return await unless_disconnected(request, state.documents.wait(document.id, deadline))
    except ClientGone:
        await state.documents.delete(document.id)
        raise


def _answer(state: ServerState, document: Document, sentences: list[Sentence], explain: bool) -> DocumentAnswer:
    translator: Translator | None = state.translators.get(document.model)
    knows_context = translator is not None and translator.knows_context
    return DocumentAnswer.of(document, sentences, knows_context, explain)


def _choice(request: Request, name: str, choices: tuple[str, ...], default: str) -> str:
    """A parameter of the query. Raises ApiError (422) for another value or another parameter."""
    for given in request.query_params:
        if given != name:
            raise ApiError("invalid_value", f"unknown parameter '{given}': {nearest(given, [name])}", given)
    value = request.query_params.get(name, default)
    if value not in choices:
        raise ApiError("invalid_value", f"{name} must be one of {', '.join(choices)}, not '{value}'", name)
    return value
