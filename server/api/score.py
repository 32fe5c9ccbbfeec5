"""`POST /v1/score`."""

import time

from fastapi import APIRouter, Request, Response

from server.api.body import read_json
from server.api.deadline import before
from server.api.disconnect import unless_disconnected
from server.api.errors import ApiError, documented
from server.api.schemas import Timings
from server.api.score_schemas import ScoredItem, ScoredTarget, ScoreItem, ScoreRequest, ScoreResponse
from server.api.state import ServerState
from server.api.translate import check_chars, check_sizes, request_body
from server.scoring import ScoringItem, ScoringOutcome, TargetScore, score
from server.settings import Settings
from server.translator import TooManySentences, Translator

SCORE = "/v1/score"


def score_router(state: ServerState) -> APIRouter:
    """The route, bound to a server's state."""
    router = APIRouter(tags=["translation"])

    @router.post(
        SCORE,
        summary="How probable translations are",
        response_model=ScoreResponse,
        response_model_exclude_none=True,
        responses=documented("translate"),
        openapi_extra=request_body(ScoreRequest),
    )
    async def score_items(request: Request) -> Response:
        deadline = time.monotonic() + state.settings.request_timeout
        state.check_ready()
        body = await read_json(request, ScoreRequest, state.settings.max_body_bytes)
        check_items(body.items, state.settings)
        translator = state.translator_for(body.model, body.source, body.target)
        request.state.model = translator.name
        with state.metrics.requests_in_progress.labels(translator.name).track_inprogress():
            outcome = await unless_disconnected(request, _score(state, translator, body, deadline))
        timings = Timings.of(outcome)
        request.state.timings = timings.model_dump()
        has_context = any(item.contexts for item in body.items)
        answer = ScoreResponse(
            items=[_answer(targets, body.tokens) for targets in outcome.targets],
            model=translator.name,
            timings=timings,
            context=translator.knows_context if has_context else None,
        )
        # Written here and not by FastAPI, which would check the answer again.
        return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")

    return router


async def _score(state: ServerState, translator: Translator, body: ScoreRequest, deadline: float) -> ScoringOutcome:
    items = []
    for item in body.items:
        context = None
        if item.contexts:
            context = await before(deadline, state.documents.context_of(translator, item.contexts))
        items.append(ScoringItem(item.source, item.targets, context))
    try:
        return await before(deadline, score(translator, items, deadline))
    except TooManySentences as error:
        raise ApiError("too_large", str(error), "items") from None


def _answer(targets: tuple[TargetScore, ...], with_tokens: bool) -> ScoredItem:
    best = max(range(len(targets)), key=lambda index: targets[index].score)
    return ScoredItem(best=best, targets=[ScoredTarget.of(one, with_tokens) for one in targets])


def check_items(items: list[ScoreItem], settings: Settings) -> None:
    """Raise ApiError (413) that names the limit, or (422) for an item without a translation."""
    for index, item in enumerate(items):
        if not item.targets:
            message = f"items[{index}].target: must be a translation or a list of at least one"
            raise ApiError("invalid_value", message, "items")
    check_sizes([item.source for item in items], settings, "items")
    check_sizes([target for item in items for target in item.targets], settings, "items")
    contexts = [context for item in items for context in item.contexts]
    longest = settings.max_document_sentences
    if len(contexts) > longest:
        message = f"{len(contexts)} sentences of context, at most {longest} are taken; send fewer items at a time"
        raise ApiError("too_large", message, "items")
    check_chars(contexts, settings, "items")
