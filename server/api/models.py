"""`GET /v1/models` and `GET /v1/languages`: what is served."""

from fastapi import APIRouter

from server.api.errors import ADMISSION, documented
from server.api.route import DoorRoute
from server.api.schemas import Language, Languages, Model, Models
from server.api.visit import Admitted
from server.translator import Translator

router = APIRouter(tags=["models"], route_class=DoorRoute, responses=documented(*ADMISSION))


@router.get("/v1/models", summary="The models that are served")
async def models(visit: Admitted) -> Models:
    return Models(models=[_model(translator) for translator in visit.state.translators.values()])


@router.get("/v1/languages", summary="Source languages and what each can be translated into")
async def languages(visit: Admitted) -> Languages:
    targets = visit.state.languages
    return Languages(languages=[Language(source=one, targets=targets[one]) for one in targets])


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
    )
