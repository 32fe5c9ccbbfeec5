"""`POST /v1/translate`."""

from fastapi import APIRouter, Response

from server.api.answer import written
from server.api.errors import ADMISSION, BODY, documented
from server.api.limits import asked_options, check_hypotheses, check_sizes
from server.api.route import DoorRoute
from server.api.schemas import TranslateRequest, TranslateResponse, Translation
from server.api.visit import Admitted

PATH = "/v1/translate"

router = APIRouter(tags=["translation"], route_class=DoorRoute)


@router.post(
    PATH,
    summary="Translate a text or a list of texts",
    response_model=TranslateResponse,
    responses=documented(*ADMISSION, *BODY),
)
async def translate(body: TranslateRequest, visit: Admitted) -> Response:
    settings = visit.state.settings
    visit.shorten(body.timeout)
    check_sizes(body.texts, settings)
    check_sizes(body.contexts, settings, "context")
    translator = visit.translator(body.model, body.source, body.target)
    asked = asked_options(translator, settings, body.beam_size, body.length_penalty, body.max_length)
    num_hypotheses = 1 if body.num_hypotheses is None else body.num_hypotheses
    check_hypotheses(num_hypotheses, asked)
    options = translator.options(**asked, num_hypotheses=num_hypotheses, deadline=visit.deadline)
    context = await visit.state.documents.context_of(translator, body.contexts) if body.contexts else None
    outcome = await translator.translate(body.texts, options, context)
    with_hypotheses = body.num_hypotheses is not None
    return written(
        TranslateResponse(
            translations=[Translation.of(one, with_hypotheses) for one in outcome.translations],
            model=translator.name,
            timings=visit.timings(outcome),
            context=None if body.context is None else translator.knows_context,
        )
    )
