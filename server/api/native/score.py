"""`POST /v1/score`."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.native.score_schemas import ScoredItem, ScoredTarget, ScoreItem, ScoreRequest, ScoreResponse
from server.api.requests.errors import ADMISSION, BODY, QUOTA, ApiError, documented
from server.api.requests.json_response import written
from server.api.requests.limits import check_chars, check_sizes
from server.api.serving.routing import Route, TwoModels
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.settings import Settings
from server.translation.planning import TooManySentences
from server.translation.scoring import ScoringItem, ScoringOutcome, TargetScore, score
from server.translation.translator import Translator

SCORE = "/v1/score"
Answer = TypeVar("Answer")

router = APIRouter(tags=["translation"], route_class=ApiRoute.requiring("translate"))


@router.post(
    SCORE,
    summary="How probable translations are",
    response_model=ScoreResponse,
    responses=documented(*ADMISSION, *BODY, *QUOTA),
)
async def score_items(body: ScoreRequest, admitted: Admitted) -> Response:
    return await score_request(body, admitted, written)


async def score_request(
    body: ScoreRequest, admitted: AdmittedRequest, shaped: Callable[[ScoreResponse], Answer]
) -> Answer:
    """The answer to a request, as `shaped` writes it. Raises ApiError, and what `score` raises."""
    admitted.limit_deadline(body.timeout)
    check_items(body.items, admitted.state.settings)
    num_chars = sum(len(item.source) + sum(map(len, item.targets)) for item in body.items)
    translator = _single_model(await admitted.choose(body.model, body.source, body.target, num_chars))
    outcome = await _score(admitted, translator, body.items)
    has_context = any(item.contexts for item in body.items)
    context = translator.knows_context if has_context else None
    size = sum(len(target) for item in body.items for target in item.targets)

    def build() -> ScoreResponse:
        items = [_answer(targets, body.tokens) for targets in outcome.targets]
        return ScoreResponse(items=items, model=translator.name, timings=admitted.timings(outcome), context=context)

    return await offload_above(size, lambda: shaped(build()))


def _single_model(route: Route) -> Translator:
    """Raises ApiError (422) for two models: a score is of one."""
    if isinstance(route, TwoModels):
        source, pivot, target = route.languages
        message = f"two models translate '{source}' into '{target}', through '{pivot}', and a score is of one model"
        raise ApiError("invalid_value", f"{message}: score '{source}' to '{pivot}', or that to '{target}'", "target")
    return route.model


async def _score(admitted: AdmittedRequest, translator: Translator, scored: list[ScoreItem]) -> ScoringOutcome:
    documents = admitted.state.documents
    try:
        translator.check_capacity(len(scored))
        contexts = await documents.contexts_of(translator, [item.contexts for item in scored])
        items = [
            ScoringItem(item.source, item.targets, context) for item, context in zip(scored, contexts, strict=True)
        ]
        return await score(translator, items, admitted.deadline)
    except TooManySentences as error:
        raise ApiError("too_large", str(error), "items") from None


def _answer(targets: tuple[TargetScore, ...], with_tokens: bool) -> ScoredItem:
    checkpoint()
    best = max(range(len(targets)), key=lambda index: targets[index].score)
    return ScoredItem(best=best, targets=[ScoredTarget.of(target, with_tokens) for target in targets])


def check_items(items: list[ScoreItem], settings: Settings) -> None:
    """Raise ApiError (413) that names the limit."""
    check_sizes([item.source for item in items], settings, "items")
    check_sizes([target for item in items for target in item.targets], settings, "items")
    contexts = [context for item in items for context in item.contexts]
    longest = settings.max_document_sentences
    if len(contexts) > longest:
        message = f"{len(contexts)} sentences of context, at most {longest} are taken; send fewer items at a time"
        raise ApiError("too_large", message, "items")
    check_chars(contexts, settings, "items")
