"""`POST /v1/translate`."""

import dataclasses

from fastapi import APIRouter, Request, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.admission.requested_memory import DEFAULT_THRESHOLD, UNKNOWN_MEMORY, with_memory
from server.api.admission.server_sent_events import (
    KEEPALIVE_COMMENT,
    MEDIA_TYPE,
    Events,
    EventStream,
    described,
    event,
)
from server.api.admission.two_models import pivot_of, refuse
from server.api.native.schemas import (
    CutText,
    StreamBeginning,
    StreamBegins,
    TranslateRequest,
    TranslateResponse,
    Translation,
)
from server.api.requests.errors import ADMISSION, BODY, QUOTA, documented
from server.api.requests.json_response import written
from server.api.requests.limits import check_hypotheses, check_sizes, requested_options
from server.api.serving.routing import Route, TwoModels
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.protect.terms import Terms
from server.translation.assembly import TranslationOutcome
from server.translation.glossary import GlossaryTranslator
from server.translation.markup_translation import TranslatesTexts
from server.translation.memory_stream import MemoryStream
from server.translation.memory_translator import MemoryTranslator
from server.translation.planning import TextRequest
from server.translation.streaming import Beginning, TranslationStream
from server.translation.term_streaming import TermStream
from server.translation.translator import RequestedOptions, Translator

PATH = "/v1/translate"
STREAM = (
    "With `stream`: the event `begin` says how the texts were cut. `beginning` says how the translation of a sentence "
    "begins; it replaces the beginning sent before. `answer` is the last event and has the same JSON as without "
    "`stream`; if something fails on the way, the last event is an `error`."
)

Stream = TranslationStream | MemoryStream

router = APIRouter(tags=["translation"], route_class=ApiRoute.requiring("translate"))


@router.post(
    PATH,
    summary="Translate a text or a list of texts",
    response_model=TranslateResponse,
    responses={
        200: {"content": described(STREAM, "begin", "beginning", "answer")},
        **documented(*ADMISSION, *BODY, *QUOTA, "not_found", meanings={"not_found": UNKNOWN_MEMORY}),
    },
)
async def translate(body: TranslateRequest, admitted: Admitted, request: Request) -> Response:
    settings = admitted.state.settings
    admitted.limit_deadline(body.timeout)
    check_sizes(body.texts, settings)
    check_sizes(body.contexts, settings, "context")
    check_sizes(body.prefixes, settings, "target_prefix")
    route = await admitted.choose(body.model, body.source, body.target, sum(map(len, body.texts)))
    requested = requested_options(
        route.models, settings, body.beam_size, body.length_penalty, body.max_length, body.formality
    )
    if isinstance(route, TwoModels):
        return await _translate_by_two(route, requested, body, admitted, body.stream or asks_for_events(request))
    translator = route.model
    num_hypotheses = 1 if body.num_hypotheses is None else body.num_hypotheses
    check_hypotheses(num_hypotheses, requested)
    options = translator.options(**requested, num_hypotheses=num_hypotheses, deadline=admitted.deadline)
    context = await admitted.state.documents.context_of(translator, body.contexts) if body.contexts else None
    terms = await body.read_terms()
    texts = TextRequest(body.texts, options, context, prefixes=body.prefixes, aligns=body.alignment)
    if body.stream or asks_for_events(request):
        stream = await _begin_stream(
            translator, texts, terms, await _translator_with_memory(admitted, translator, route, body)
        )
        admitted.on_release(stream.close)
        return EventStream(_events(stream, body, admitted, translator), admitted.deadline)
    without_memory: TranslatesTexts = translator if terms is None else GlossaryTranslator(translator, terms)
    outcome = await (await _translator_with_memory(admitted, without_memory, route, body)).translate(texts)
    return await offload_above(body.num_chars, lambda: written(_answer(outcome, body, admitted, translator)))


def asks_for_events(request: Request) -> bool:
    """Whether events are the first media type of the request's Accept."""
    first = request.headers.get("accept", "").split(",")[0].split(";")[0]
    return first.strip().lower() == MEDIA_TYPE


async def _begin_stream(
    translator: Translator, texts: TextRequest, terms: Terms | None, memory_translator: TranslatesTexts
) -> Stream:
    """`memory_translator`: a MemoryTranslator where the request names a memory."""

    async def begin(request: TextRequest) -> TranslationStream:
        if terms is None and request.options.formality is None:
            return await TranslationStream.begin(translator, request)
        return await TermStream.begin_with_terms(translator, request, terms or Terms({}))

    if isinstance(memory_translator, MemoryTranslator):
        return await MemoryStream.begin(memory_translator, texts, begin)
    return await begin(texts)


async def _translate_by_two(
    route: TwoModels, requested: RequestedOptions, body: TranslateRequest, admitted: AdmittedRequest, streams: bool
) -> Response:
    refuse(route, "stream", streams)
    refuse(route, "num_hypotheses", body.num_hypotheses is not None)
    refuse(route, "target_prefix", any(body.prefixes))
    refuse(route, "alignment", body.alignment)
    refuse(route, "pieces", body.pieces)
    context = await admitted.state.documents.context_of(route.first, body.contexts) if body.contexts else None
    pivot, options = pivot_of(route, requested, admitted)
    pivot = dataclasses.replace(pivot, terms=await body.read_terms())
    memory_translator = await _translator_with_memory(admitted, pivot, route, body)
    outcome = await memory_translator.translate(TextRequest(body.texts, options, context))
    return await offload_above(body.num_chars, lambda: written(_answer_of_two(route, outcome, body, admitted)))


async def _translator_with_memory(
    admitted: AdmittedRequest, translator: TranslatesTexts, route: Route, body: TranslateRequest
) -> TranslatesTexts:
    if not body.translation_memory_id:
        return translator
    given = body.translation_memory_threshold
    threshold = DEFAULT_THRESHOLD if given is None else given
    return await with_memory(admitted, translator, route, body.translation_memory_id, threshold)


def _with_memory(answer: TranslateResponse, outcome: TranslationOutcome, body: TranslateRequest) -> TranslateResponse:
    if body.translation_memory_id:
        for translation, translated in zip(answer.translations, outcome.translations, strict=True):
            translation.with_memory(translated)
    return answer


def _answer_of_two(
    route: TwoModels, outcome: TranslationOutcome, body: TranslateRequest, admitted: AdmittedRequest
) -> TranslateResponse:
    answer = TranslateResponse(
        translations=[Translation.of(text, False, route.pivot_language) for text in outcome.translations],
        model=route.second.name,
        models=[model.name for model in route.models],
        timings=admitted.timings(outcome),
        context=None if body.context is None else route.first.knows_context,
    )
    return _with_memory(answer, outcome, body)


def _answer(
    outcome: TranslationOutcome, body: TranslateRequest, admitted: AdmittedRequest, translator: Translator
) -> TranslateResponse:
    with_hypotheses = body.num_hypotheses is not None
    answer = TranslateResponse(
        translations=[Translation.of(text, with_hypotheses) for text in outcome.translations],
        model=translator.name,
        timings=admitted.timings(outcome),
        context=None if body.context is None else translator.knows_context,
    )
    if body.pieces:
        answer.order = translator.artifact.manifest.order
        for text, translation in zip(answer.translations, outcome.translations, strict=True):
            for sentence, translated in zip(text.sentences, translation.sentences, strict=True):
                checkpoint()
                sentence.pieces = translator.target_pieces.texts(translated.ids)
    return _with_memory(answer, outcome, body)


async def _events(stream: Stream, body: TranslateRequest, admitted: AdmittedRequest, translator: Translator) -> Events:
    yield await offload_above(body.num_chars, _begin, stream, translator)
    async for update in stream.updates():
        match update:
            case None:
                yield KEEPALIVE_COMMENT
            case Beginning(text, sentence, target, is_done):
                yield event("beginning", StreamBeginning(text=text, sentence=sentence, target=target, done=is_done))
            case _:
                yield await offload_above(body.num_chars, _end, update, body, admitted, translator)


def _begin(stream: Stream, translator: Translator) -> bytes:
    return event("begin", StreamBegins(model=translator.name, texts=[CutText.of(plan) for plan in stream.plans]))


def _end(
    outcome: TranslationOutcome, body: TranslateRequest, admitted: AdmittedRequest, translator: Translator
) -> bytes:
    return event("answer", _answer(outcome, body, admitted, translator))
