"""DeepL's API under /v2: its clients work with this server unchanged."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.plain_translation import translate_by_language
from server.api.admission.requested_memory import UNKNOWN_MEMORY
from server.api.admission.two_models import pivot_of
from server.api.deepl.languages import any_target, check_served, options_of, shown_code, sources_of, target_of
from server.api.deepl.route import DEEPL, DeepLRoute
from server.api.deepl.schemas import (
    NOT_SERVED,
    DeepLLanguage,
    DeepLTranslateRequest,
    DeepLTranslation,
    DeepLTranslations,
    DeepLUsage,
)
from server.api.deepl.terms import named_glossaries, terms_of
from server.api.deepl.translation_memories import with_named_memory
from server.api.requests.errors import ADMISSION, BODY, QUOTA, documented
from server.api.requests.json_response import written
from server.api.requests.limits import check_sizes
from server.api.requests.openapi import with_forms
from server.api.serving.language_names import name_of
from server.api.serving.routing import TwoModels
from server.keys.key import owner_of
from server.keys.record import KeyLimits
from server.runtime.offload import offload_above
from server.translation.assembly import TextTranslation, TranslationOutcome
from server.translation.glossary import GlossaryTranslator
from server.translation.line_translation import translate_lines
from server.translation.markup_translation import TranslatesTexts, translate_markup
from server.translation.planning import TextRequest

REGIONS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-PT", "PT-BR")}
"""Clients refuse these targets without a region."""
NO_LIMIT = 10**12
ERRORS = documented(*ADMISSION, *BODY, *QUOTA, dialect=DEEPL)
READ_ERRORS = documented(*ADMISSION, *BODY, dialect=DEEPL)
NO_MEMORY = documented("not_found", meanings={"not_found": UNKNOWN_MEMORY}, dialect=DEEPL)
router = APIRouter(tags=["DeepL"], route_class=DeepLRoute.requiring("translate"))


@router.post(
    "/v2/translate",
    summary="Translate texts",
    response_model=DeepLTranslations,
    responses={**ERRORS, **NO_MEMORY},
    openapi_extra=with_forms("DeepLTranslateRequest"),
)
async def translate(body: DeepLTranslateRequest, admitted: Admitted) -> Response:
    check_sizes(body.text, admitted.state.settings)
    check_sizes([body.context or ""], admitted.state.settings, "context")
    for name in NOT_SERVED:
        check_served(name, getattr(body, name) in (None, "", []))
    _check_markup(body)
    check_served("model_type", body.model_type != "quality_optimized")
    glossaries = named_glossaries(body.glossary_id, body.glossary_ids, body.source_lang)
    sources = await sources_of(admitted.state, body.text, body.source_lang, body.target_lang)
    target = any_target(admitted.state, body.target_lang)
    languages = [target if source.foreign else source.language for source in sources]
    translations = await _translated(admitted, body, languages, glossaries)
    return await offload_above(
        sum(map(len, body.text)),
        lambda: written(
            DeepLTranslations(
                translations=_answers(
                    body.text, [source.foreign or source.language for source in sources], translations
                )
            )
        ),
    )


def _answers(
    texts: Sequence[str], sources: Sequence[str], translations: Sequence[TextTranslation]
) -> list[DeepLTranslation]:
    return [
        DeepLTranslation(
            detected_source_language=shown_code(source), text=translation.text, billed_characters=len(text)
        )
        for source, translation, text in zip(sources, translations, texts, strict=True)
    ]


async def _translated(
    admitted: AdmittedRequest, body: DeepLTranslateRequest, sources: Sequence[str], glossaries: Sequence[str]
) -> list[TextTranslation]:
    kind, splits = body.markup, body.split_sentences != "0"
    joins_lines = kind is None and body.split_sentences != "1"

    async def translate(source: str, of_source: list[str]) -> TranslationOutcome:
        translator: TranslatesTexts
        target = target_of(admitted, source, body.target_lang)
        route = await admitted.choose(None, source, target, sum(map(len, of_source)))
        requested = options_of(route.models, admitted.state.settings, body.formality)
        terms = await terms_of(admitted, glossaries, (source, target))
        if isinstance(route, TwoModels):
            pivot, options = pivot_of(route, requested, admitted)
            translator = dataclasses.replace(pivot, terms=terms)
        else:
            translator = route.model if terms is None else GlossaryTranslator(route.model, terms)
            options = route.model.options(**requested, deadline=admitted.deadline)
        translator = await with_named_memory(
            admitted, translator, route, body.translation_memory_id, body.translation_memory_threshold
        )
        first, state = route.models[0], admitted.state
        context = await state.documents.context_of(first, [body.context]) if body.context else None
        request = TextRequest(of_source, options, context, splits)
        if joins_lines:
            return await translate_lines(translator, request)
        if kind is None:
            return await translator.translate(request)
        return await translate_markup(translator, request, kind, body.ignore_tags or ())

    target = any_target(admitted.state, body.target_lang)
    return await translate_by_language(admitted, body.text, sources, target, translate)


def _check_markup(body: DeepLTranslateRequest) -> None:
    """Raise ApiError for options of texts with tags that cannot be honoured."""
    check_served("tag_handling", body.tag_handling in (None, "", "html", "xml"))
    if body.markup is not None:
        for name in ("splitting_tags", "non_splitting_tags"):
            check_served(name, not getattr(body, name))
        check_served("outline_detection", body.outline_detection is not False)
        # In HTML a line break is a space anyway; in XML it belongs to the document.
        check_served("split_sentences", body.markup == "html" or body.split_sentences != "nonewlines")


@router.get("/v2/languages", summary="Languages that can be read or written", responses=READ_ERRORS)
async def languages(
    admitted: Admitted,
    kind: Annotated[Literal["source", "target"], Query(alias="type", description="May come as a form too.")] = "source",
) -> list[DeepLLanguage]:
    routes = admitted.state.routes
    served = routes.languages
    if kind == "source":
        return [DeepLLanguage(language=shown_code(code), name=name_of(code)) for code in served]
    formal = {target for source in served for target in routes.formality_targets(source)}
    return [
        DeepLLanguage(
            language=shown,
            name=f"{name_of(code)} ({shown[3:]})" if shown[2:] else name_of(code),
            supports_formality=code in formal,
        )
        for code in routes.targets
        for shown in REGIONS.get(code, (code.upper(),))
    ]


@router.get("/v2/usage", summary="How much was translated", responses=READ_ERRORS)
async def usage(admitted: Admitted) -> DeepLUsage:
    """The usage of the present month, or of the day if the key has fewer characters left for that."""
    used = admitted.state.usage.used(owner_of(admitted.key))
    limits = KeyLimits() if admitted.key is None else admitted.key.limits
    of_month, of_day = (used.month, limits.chars_per_month or NO_LIMIT), (used.day, limits.chars_per_day or NO_LIMIT)
    count, limit = min(of_month, of_day, key=lambda period: period[1] - period[0])
    return DeepLUsage(character_count=count, character_limit=limit)
