"""`GET /v1/models` and `GET /v1/languages`; with the scope `admin`, models are loaded and unloaded."""

import time
from typing import Annotated

from fastapi import APIRouter, Query, Response

from server.api.admission.admitted_request import Admitted
from server.api.admission.api_route import ApiRoute
from server.api.native.model_schemas import Language, Languages, ListedModel, Model, Models
from server.api.requests.errors import ADMISSION, documented
from server.api.requests.json_response import written
from server.api.serving.model_names import names_of_pairs
from server.translation.translator import Translator

STARTED = int(time.time())
MODEL = "/v1/models/{name}"

admin = APIRouter(tags=["administration"], route_class=ApiRoute.requiring("admin"))
router = APIRouter(tags=["models"], route_class=ApiRoute.requiring("any key"), responses=documented(*ADMISSION))


@router.get("/v1/models", summary="The models that are served")
async def models(admitted: Admitted) -> Models:
    state = admitted.state
    names = names_of_pairs(state.translators, state.routes)
    return Models(
        models=[_model(translator) for translator in state.translators.values()],
        data=[ListedModel(id=name, created=STARTED) for name in names],
    )


@router.get(
    "/v1/languages",
    summary="Source languages and what each can be translated into",
    response_model=Languages,
)
async def languages(admitted: Admitted) -> Response:
    routes = admitted.state.routes
    listed = [
        Language(
            source=source,
            targets=targets,
            through=routes.pivots(source) or None,
            formality=routes.formality_targets(source) or None,
        )
        for source, targets in routes.direct_languages.items()
    ]
    return written(Languages(languages=listed))


@admin.put(
    MODEL,
    summary="Load a model, or load it again",
    responses={
        200: {"description": "It replaced the model of its name, which finishes its sentences in flight."},
        201: {"description": "There was no model of its name.", "model": Model},
        **documented(*ADMISSION, "not_found", meanings={"not_found": "No such artifact is in the models folder."}),
    },
)
async def load(
    name: str,
    admitted: Admitted,
    response: Response,
    folder: Annotated[
        str | None, Query(description="Where it is in the models folder, if several there have the name.")
    ] = None,
) -> Model:
    translator, is_new = await admitted.state.load_model(name, folder)
    response.status_code = 201 if is_new else 200
    return _model(translator)


@admin.delete(
    MODEL,
    summary="Unload a model; it finishes its sentences in flight",
    status_code=204,
    responses=documented(*ADMISSION, "not_found", "conflict", meanings={"not_found": "No such model is served."}),
)
async def unload(name: str, admitted: Admitted) -> Response:
    await admitted.state.unload_model(name)
    return Response(status_code=204)


def _model(translator: Translator) -> Model:
    manifest = translator.artifact.manifest
    return Model(
        name=manifest.name,
        source=manifest.source_language,
        target=manifest.target_language,
        variant=manifest.variant,
        licence=manifest.licence,
        precisions=list(manifest.precisions),
        max_source_length=manifest.max_source_length,
        max_target_length=manifest.max_target_length,
        fingerprint=translator.fingerprint,
        context=translator.knows_context,
        state=translator.state,
        reason=translator.reason,
    )
