"""`POST /v1/translate`."""

import dataclasses

from fastapi import APIRouter, Request, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.admission.model_choice import refuse, two_models_between
from server.api.admission.server_sent_events import (
    KEEPALIVE_COMMENT,
    Events,
    EventStream,
    asks_for_events,
    described,
    event,
)
from server.api.native.schemas import (
    NO_STREAM,
    CutText,
    StreamBeginning,
    StreamBegins,
    TranslateRequest,
    TranslateResponse,
    Translation,
)
from server.api.requests.errors import ADMISSION, BODY, ApiError, documented
from server.api.requests.json_response import written
from server.api.requests.limits import check_hypotheses, check_sizes, requested_options
from server.engine.request import SearchOptions
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.translation.assembly import TranslationOutcome
from server.translation.glossary import translate_with_terms
from server.translation.pivot import Pivot
from server.translation.streaming import Beginning, TranslationStream
from server.translation.translator import Translator

PATH = "/v1/translate"
STREAM = (
    "With `stream`: the event `begin` says how the texts were cut. `beginning` says how the translation of a sentence "
    "begins; it replaces the beginning sent before. `answer` is the last event and has the same JSON as without "
    "`stream`; if something fails on the way, the last event is an `error`."
)

router = APIRouter(tags=["translation"], route_class=ApiRoute.requiring("translate"))


@router.post(
    PATH,
    summary="Translate a text or a list of texts",
    response_model=TranslateResponse,
    responses={200: {"content": described(STREAM, "begin", "beginning", "answer")}, **documented(*ADMISSION, *BODY)},
)
async def translate(body: TranslateRequest, admitted: Admitted, request: Request) -> Response:
    settings = admitted.state.settings
    admitted.shorten(body.timeout)
    check_sizes(body.texts, settings)
    check_sizes(body.contexts, settings, "context")
    check_sizes(body.prefixes, settings, "target_prefix")
    through = None
    if body.model is None:
        through = two_models_between(
            admitted, body.source, body.target, body.beam_size, body.length_penalty, body.max_length
        )
    if through is not None:
        return await _translate_through(*through, body, admitted, body.stream or asks_for_events(request))
    translator = admitted.translator(body.model, body.source, body.target)
    asked = requested_options(translator, settings, body.beam_size, body.length_penalty, body.max_length)
    num_hypotheses = 1 if body.num_hypotheses is None else body.num_hypotheses
    check_hypotheses(num_hypotheses, asked)
    options = translator.options(**asked, num_hypotheses=num_hypotheses, deadline=admitted.deadline)
    context = await admitted.state.documents.context_of(translator, body.contexts) if body.contexts else None
    terms = await body.read_terms()
    if terms is not None and asks_for_events(request):
        raise ApiError("invalid_value", NO_STREAM, "stream")
    if body.stream or asks_for_events(request):
        stream = await TranslationStream.begin(translator, body.texts, options, context, body.prefixes, body.alignment)
        admitted.on_release(stream.close)
        return EventStream(_events(stream, body, admitted, translator), admitted.deadline)
    if terms is None:
        outcome = await translator.translate(
            body.texts, options, context, prefixes=body.prefixes, aligns=body.alignment
        )
    else:
        outcome = await translate_with_terms(
            translator, body.texts, options, terms, context, prefixes=body.prefixes, aligns=body.alignment
        )
    return await offload_above(body.num_chars, lambda: written(_answer(outcome, body, admitted, translator)))


async def _translate_through(
    pivot: Pivot, options: SearchOptions, body: TranslateRequest, admitted: AdmittedRequest, streams: bool
) -> Response:
    refuse(pivot, "stream", streams)
    refuse(pivot, "num_hypotheses", body.num_hypotheses is not None)
    refuse(pivot, "target_prefix", any(body.prefixes))
    refuse(pivot, "alignment", body.alignment)
    refuse(pivot, "pieces", body.pieces)
    context = await admitted.state.documents.context_of(pivot.first, body.contexts) if body.contexts else None
    way = dataclasses.replace(pivot, terms=await body.read_terms())
    outcome = await way.translate(body.texts, options, context)
    return await offload_above(body.num_chars, lambda: written(_answer_through(pivot, outcome, body, admitted)))


def _answer_through(
    pivot: Pivot, outcome: TranslationOutcome, body: TranslateRequest, admitted: AdmittedRequest
) -> TranslateResponse:
    return TranslateResponse(
        translations=[Translation.of(one, False, pivot.first.languages[1]) for one in outcome.translations],
        model=pivot.second.name,
        models=[pivot.first.name, pivot.second.name],
        timings=admitted.timings(outcome),
        context=None if body.context is None else pivot.first.knows_context,
    )


def _answer(
    outcome: TranslationOutcome, body: TranslateRequest, admitted: AdmittedRequest, translator: Translator
) -> TranslateResponse:
    with_hypotheses = body.num_hypotheses is not None
    answer = TranslateResponse(
        translations=[Translation.of(one, with_hypotheses) for one in outcome.translations],
        model=translator.name,
        timings=admitted.timings(outcome),
        context=None if body.context is None else translator.knows_context,
    )
    if body.pieces:
        answer.order = translator.artifact.manifest.order
        for text, found in zip(answer.translations, outcome.translations, strict=True):
            for sentence, one in zip(text.sentences, found.sentences, strict=True):
                checkpoint()
                sentence.pieces = translator.target_pieces.texts(one.ids)
    return answer


async def _events(
    stream: TranslationStream, body: TranslateRequest, admitted: AdmittedRequest, translator: Translator
) -> Events:
    yield await offload_above(body.num_chars, _begin, stream, translator)
    async for news in stream.news():
        match news:
            case None:
                yield KEEPALIVE_COMMENT
            case Beginning(text, sentence, target, is_done):
                yield event("beginning", StreamBeginning(text=text, sentence=sentence, target=target, done=is_done))
            case _:
                yield await offload_above(body.num_chars, _end, news, body, admitted, translator)


def _begin(stream: TranslationStream, translator: Translator) -> bytes:
    return event("begin", StreamBegins(model=translator.name, texts=[CutText.of(plan) for plan in stream.plans]))


def _end(
    outcome: TranslationOutcome, body: TranslateRequest, admitted: AdmittedRequest, translator: Translator
) -> bytes:
    return event("answer", _answer(outcome, body, admitted, translator))
