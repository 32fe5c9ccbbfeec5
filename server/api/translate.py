"""`POST /v1/translate`."""

import time
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from server.api.body import read_json
from server.api.deadline import before
from server.api.disconnect import unless_disconnected
from server.api.errors import ApiError, documented
from server.api.schemas import Timings, TranslateRequest, TranslateResponse, Translation
from server.api.state import ServerState
from server.settings import Settings
from server.translator import TranslationOptions, TranslationOutcome, Translator

PATH = "/v1/translate"


def translate_router(state: ServerState) -> APIRouter:
    """The route, bound to a server's state."""
    router = APIRouter(tags=["translation"])

    @router.post(
        PATH,
        summary="Translate a text or a list of texts",
        response_model=TranslateResponse,
        response_model_exclude_none=True,
        responses=documented("translate"),
        openapi_extra=request_body(TranslateRequest),
    )
    async def translate(request: Request) -> Response:
        deadline = time.monotonic() + state.settings.request_timeout
        state.check_ready()
        body = await read_json(request, TranslateRequest, state.settings.max_body_bytes)
        check_sizes(body.texts, state.settings)
        check_sizes(body.contexts, state.settings, "context")
        translator = state.translator_for(body.model, body.source, body.target)
        request.state.model = translator.name
        options = options_of(body, translator, state.settings, deadline)
        with state.metrics.requests_in_progress.labels(translator.name).track_inprogress():
            outcome = await unless_disconnected(request, _translate(state, translator, body, options))
        timings = Timings.of(outcome)
        request.state.timings = timings.model_dump()
        with_hypotheses = body.num_hypotheses is not None
        answer = TranslateResponse(
            translations=[Translation.of(one, with_hypotheses) for one in outcome.translations],
            model=translator.name,
            timings=timings,
            context=None if body.context is None else translator.knows_context,
        )
        # Written here and not by FastAPI, which would check the answer again.
        return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")

    return router


async def _translate(
    state: ServerState, translator: Translator, body: TranslateRequest, options: TranslationOptions
) -> TranslationOutcome:
    context = None
    if body.contexts:
        context = await before(options.deadline, state.documents.context_of(translator, body.contexts))
    return await translator.translate(body.texts, options, context)


def check_sizes(texts: list[str], settings: Settings, param: str = "text") -> None:
    """Raise ApiError (413) that names the limit."""
    if len(texts) > settings.max_texts:
        raise ApiError("too_large", f"{len(texts)} texts, at most {settings.max_texts} in one request", param)
    check_chars(texts, settings, param)


def check_chars(texts: list[str], settings: Settings, param: str) -> None:
    """Raise ApiError (413) that names the limit."""
    for index, text in enumerate(texts):
        if len(text) > settings.max_text_chars:
            message = f"text {index} has {len(text)} characters, at most {settings.max_text_chars} are taken"
            raise ApiError("too_large", message, param)
    total = sum(map(len, texts))
    if total > settings.max_total_chars:
        raise ApiError("too_large", f"{total} characters, at most {settings.max_total_chars} in one request", param)


def check_search(beam_size: int | None, max_length: int | None, translator: Translator, settings: Settings) -> int:
    """The beam size. Raises ApiError (422) for what this server or this model cannot do."""
    beam_size = settings.default_beam_size if beam_size is None else beam_size
    widest = settings.engine.max_beam_size
    if beam_size > widest:
        message = f"beam_size: must be at most {widest} on this server, not {beam_size}"
        raise ApiError("invalid_value", message, "beam_size")
    longest = translator.artifact.manifest.max_target_length
    if max_length is not None and max_length > longest:
        message = f"max_length: must be at most {longest} for model '{translator.name}', not {max_length}"
        raise ApiError("invalid_value", message, "max_length")
    return beam_size


def options_of(
    body: TranslateRequest, translator: Translator, settings: Settings, deadline: float
) -> TranslationOptions:
    """The request's options over the server's defaults. Raises ApiError (422) for one that this model cannot do."""
    beam_size = check_search(body.beam_size, body.max_length, translator, settings)
    num_hypotheses = 1 if body.num_hypotheses is None else body.num_hypotheses
    if num_hypotheses > beam_size:
        message = f"num_hypotheses: must be at most beam_size ({beam_size}), not {num_hypotheses}"
        raise ApiError("invalid_value", message, "num_hypotheses")
    return TranslationOptions(beam_size, num_hypotheses, body.length_penalty, body.max_length, deadline)


def request_body(body: type[BaseModel]) -> dict[str, Any]:
    """The body's schema for OpenAPI; the body itself is read by hand, with a limit."""
    schema = body.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
