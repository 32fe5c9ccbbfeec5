"""`GET /v1/models` and `GET /v1/languages`: what is served."""

from fastapi import APIRouter

from server.api.errors import documented
from server.api.schemas import Language, Languages, Model, Models
from server.api.state import ServerState
from server.translator import Translator


def models_router(state: ServerState) -> APIRouter:
    """The routes, bound to a server's state."""
    router = APIRouter(tags=["models"], responses=documented("probe"))

    @router.get("/v1/models", summary="The models that are served")
    async def models() -> Models:
        state.check_ready()
        return Models(models=[_model(translator) for translator in state.translators.values()])

    @router.get("/v1/languages", summary="Source languages and what each can be translated into")
    async def languages() -> Languages:
        state.check_ready()
        targets: dict[str, set[str]] = {}
        for translator in state.translators.values():
            manifest = translator.artifact.manifest
            targets.setdefault(manifest.source_language, set()).add(manifest.target_language)
        return Languages(languages=[Language(source=one, targets=sorted(targets[one])) for one in sorted(targets)])

    return router


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
        context=translator.knows_context,
    )
