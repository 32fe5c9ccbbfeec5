"""`POST /v1/translate`."""

import dataclasses

from fastapi import APIRouter, Request, Response

from server.api.answer import written
from server.api.errors import ADMISSION, BODY, ApiError, documented
from server.api.event_stream import STILL_HERE, Events, EventStream, asks_for_events, described, event
from server.api.limits import asked_options, check_hypotheses, check_sizes
from server.api.pivoting import pivot_between, refuse
from server.api.route import DoorRoute
from server.api.schemas import (
    NO_STREAM,
    CutText,
    StreamBeginning,
    StreamBegins,
    TranslateRequest,
    TranslateResponse,
    Translation,
)
from server.api.visit import Admitted, Visit
from server.engine.request import SearchOptions
from server.glossary import translate_with_terms
from server.pivot import Pivot
from server.streaming import Beginning, TranslationStream
from server.translations import TranslationOutcome
from server.translator import Translator

PATH = "/v1/translate"
STREAM = (
    "With `stream`: the event `begin` says how the texts were cut. `beginning` says how the translation of a sentence "
    "begins; it replaces the beginning sent before. `answer` is the last event and has the same JSON as without "
    "`stream`; if something fails on the way, the last event is an `error`."
)

router = APIRouter(tags=["translation"], route_class=DoorRoute.needing("translate"))


@router.post(
    PATH,
    summary="Translate a text or a list of texts",
    response_model=TranslateResponse,
    responses={200: {"content": described(STREAM, "begin", "beginning", "answer")}, **documented(*ADMISSION, *BODY)},
)
async def translate(body: TranslateRequest, visit: Admitted, request: Request) -> Response:
    settings = visit.state.settings
    visit.shorten(body.timeout)
    check_sizes(body.texts, settings)
    check_sizes(body.contexts, settings, "context")
    check_sizes(body.prefixes, settings, "target_prefix")
    through = None
    if body.model is None:
        through = pivot_between(visit, body.source, body.target, body.beam_size, body.length_penalty, body.max_length)
    if through is not None:
        return written(await _translate_through(*through, body, visit, body.stream or asks_for_events(request)))
    translator = visit.translator(body.model, body.source, body.target)
    asked = asked_options(translator, settings, body.beam_size, body.length_penalty, body.max_length)
    num_hypotheses = 1 if body.num_hypotheses is None else body.num_hypotheses
    check_hypotheses(num_hypotheses, asked)
    options = translator.options(**asked, num_hypotheses=num_hypotheses, deadline=visit.deadline)
    context = await visit.state.documents.context_of(translator, body.contexts) if body.contexts else None
    terms = await body.read_terms()
    if terms is not None and asks_for_events(request):
        raise ApiError("invalid_value", NO_STREAM, "stream")
    if body.stream or asks_for_events(request):
        stream = await TranslationStream.begin(translator, body.texts, options, context, body.prefixes, body.alignment)
        visit.when_over(stream.close)
        return EventStream(_events(stream, body, visit, translator), visit.deadline)
    if terms is None:
        outcome = await translator.translate(
            body.texts, options, context, prefixes=body.prefixes, aligns=body.alignment
        )
    else:
        outcome = await translate_with_terms(
            translator, body.texts, options, terms, context, prefixes=body.prefixes, aligns=body.alignment
        )
    return written(_answer(outcome, body, visit, translator))


async def _translate_through(
    pivot: Pivot, options: SearchOptions, body: TranslateRequest, visit: Visit, streams: bool
) -> TranslateResponse:
    refuse(pivot, "stream", streams)
    refuse(pivot, "num_hypotheses", body.num_hypotheses is not None)
    refuse(pivot, "target_prefix", any(body.prefixes))
    refuse(pivot, "alignment", body.alignment)
    refuse(pivot, "pieces", body.pieces)
    context = await visit.state.documents.context_of(pivot.first, body.contexts) if body.contexts else None
    way = dataclasses.replace(pivot, terms=await body.read_terms())
    outcome = await way.translate(body.texts, options, context)
    return TranslateResponse(
        translations=[Translation.of(one, False, pivot.first.languages[1]) for one in outcome.translations],
        model=pivot.second.name,
        models=[pivot.first.name, pivot.second.name],
        timings=visit.timings(outcome),
        context=None if body.context is None else pivot.first.knows_context,
    )


def _answer(
    outcome: TranslationOutcome, body: TranslateRequest, visit: Visit, translator: Translator
) -> TranslateResponse:
    with_hypotheses = body.num_hypotheses is not None
    answer = TranslateResponse(
        translations=[Translation.of(one, with_hypotheses) for one in outcome.translations],
        model=translator.name,
        timings=visit.timings(outcome),
        context=None if body.context is None else translator.knows_context,
    )
    if body.pieces:
        answer.order = translator.artifact.manifest.order
        for text, found in zip(answer.translations, outcome.translations, strict=True):
            for sentence, one in zip(text.sentences, found.sentences, strict=True):
                sentence.pieces = translator.target_pieces.texts(one.ids)
    return answer


async def _events(stream: TranslationStream, body: TranslateRequest, visit: Visit, translator: Translator) -> Events:
    yield event("begin", StreamBegins(model=translator.name, texts=[CutText.of(plan) for plan in stream.plans]))
    async for news in stream.news():
        match news:
            case None:
                yield STILL_HERE
            case Beginning(text, sentence, target, is_done):
                yield event("beginning", StreamBeginning(text=text, sentence=sentence, target=target, done=is_done))
            case _:
                yield event("answer", _answer(news, body, visit, translator))
