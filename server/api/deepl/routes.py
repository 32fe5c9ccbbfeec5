"""DeepL's API under /v2: its clients work with this server unchanged."""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Query, Response, UploadFile

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.detection import Detected, check_not_foreign, detect_sources
from server.api.admission.plain_translation import translate_by_language
from server.api.admission.remembering import UNKNOWN_MEMORY
from server.api.admission.two_models import pivot_of
from server.api.deepl.route import DEEPL, DeepLPollRoute, DeepLRoute
from server.api.deepl.schemas import (
    NOT_SERVED,
    THRESHOLD,
    DeepLDocument,
    DeepLKey,
    DeepLLanguage,
    DeepLStatus,
    DeepLTranslateRequest,
    DeepLTranslation,
    DeepLTranslations,
    DeepLUsage,
)
from server.api.deepl.terms import named_glossaries, terms_of
from server.api.deepl.translation_memories import named_memory_of_file, with_named_memory
from server.api.requests.errors import ADMISSION, BODY, QUOTA, ApiError, documented
from server.api.requests.file_fields import COLUMNS, KEYS, MEMORY
from server.api.requests.json_response import written
from server.api.requests.limits import FORMALITY, AskedFormality, check_sizes, requested_options
from server.api.requests.openapi import with_forms
from server.api.serving.finished_files import FinishedFile
from server.api.serving.language_codes import served_code
from server.api.serving.language_names import name_of
from server.api.serving.routing import TwoModels
from server.api.serving.server_state import ServerState
from server.files.file_translation import translate_file
from server.files.formats.registry import suffix_of
from server.keys.key import owner_of
from server.keys.record import KeyLimits
from server.runtime.offload import offload_above
from server.settings import Settings
from server.translation.assembly import TextTranslation, TranslationOutcome
from server.translation.glossary import GlossaryTranslator
from server.translation.line_translation import translate_lines
from server.translation.markup_translation import TranslatesTexts, translate_markup
from server.translation.planning import TextRequest
from server.translation.translator import RequestedOptions, Translator

REGIONS = {"en": ("EN-GB", "EN-US"), "pt": ("PT-PT", "PT-BR")}
"""Clients refuse these targets without a region."""
NO_LIMIT = 10**12
ERRORS = documented(*ADMISSION, *BODY, *QUOTA, dialect=DEEPL)
READ_ERRORS = documented(*ADMISSION, *BODY, dialect=DEEPL)
NO_MEMORY = documented("not_found", meanings={"not_found": UNKNOWN_MEMORY}, dialect=DEEPL)
FILE_ERRORS = documented(*ADMISSION, *BODY, "not_found", dialect=DEEPL)
RESULT_ERRORS = documented(*ADMISSION, *BODY, "not_found", "conflict", dialect=DEEPL)
router = APIRouter(tags=["DeepL"], route_class=DeepLRoute.requiring("translate"))
polls = APIRouter(tags=["DeepL"], route_class=DeepLPollRoute.requiring("translate"))


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
        _check_served(name, getattr(body, name) in (None, "", []))
    _check_markup(body)
    _check_served("model_type", body.model_type != "quality_optimized")
    glossaries = named_glossaries(body.glossary_id, body.glossary_ids, body.source_lang)
    sources = await _sources(admitted.state, body.text, body.source_lang, body.target_lang)
    target = _any_target(admitted.state, body.target_lang)
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
        DeepLTranslation(detected_source_language=_shown(source), text=translation.text, billed_characters=len(text))
        for source, translation, text in zip(sources, translations, texts, strict=True)
    ]


async def _translated(
    admitted: AdmittedRequest, body: DeepLTranslateRequest, sources: Sequence[str], glossaries: Sequence[str]
) -> list[TextTranslation]:
    kind, splits = body.markup, body.split_sentences != "0"
    joins_lines = kind is None and body.split_sentences != "1"

    async def translate(source: str, of_source: list[str]) -> TranslationOutcome:
        translator: TranslatesTexts
        target = _target(admitted, source, body.target_lang)
        route = await admitted.choose(None, source, target, sum(map(len, of_source)))
        requested = _requested_options(route.models, admitted.state.settings, body.formality)
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

    target = _any_target(admitted.state, body.target_lang)
    return await translate_by_language(admitted, body.text, sources, target, translate)


def _check_markup(body: DeepLTranslateRequest) -> None:
    """Raise ApiError for options of texts with tags that cannot be honoured."""
    _check_served("tag_handling", body.tag_handling in (None, "", "html", "xml"))
    if body.markup is not None:
        for name in ("splitting_tags", "non_splitting_tags"):
            _check_served(name, not getattr(body, name))
        _check_served("outline_detection", body.outline_detection is not False)
        # In HTML a line break is a space anyway; in XML it belongs to the document.
        _check_served("split_sentences", body.markup == "html" or body.split_sentences != "nonewlines")


@router.get("/v2/languages", summary="Languages that can be read or written", responses=READ_ERRORS)
async def languages(
    admitted: Admitted,
    kind: Annotated[Literal["source", "target"], Query(alias="type", description="May come as a form too.")] = "source",
) -> list[DeepLLanguage]:
    routes = admitted.state.routes
    served = routes.languages
    if kind == "source":
        return [DeepLLanguage(language=_shown(code), name=name_of(code)) for code in served]
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
    """Of the present month, or of the day if the key has less left of that."""
    used = admitted.state.usage.used(owner_of(admitted.key))
    limits = KeyLimits() if admitted.key is None else admitted.key.limits
    of_month, of_day = (used.month, limits.chars_per_month or NO_LIMIT), (used.day, limits.chars_per_day or NO_LIMIT)
    count, limit = min(of_month, of_day, key=lambda period: period[1] - period[0])
    return DeepLUsage(character_count=count, character_limit=limit)


@router.post("/v2/document", summary="Send a file to be translated", responses={**ERRORS, **NO_MEMORY})
async def upload(
    admitted: Admitted,
    file: Annotated[UploadFile, File(description="Of one of the formats that are served.")],
    target_lang: Annotated[str, Form()],
    source_lang: Annotated[str | None, Form(description="By default it is detected.")] = None,
    filename: Annotated[str | None, Form(description="If the file's part names none.")] = None,
    formality: Annotated[AskedFormality | None, Form(description=FORMALITY)] = None,
    output_format: Annotated[str | None, Form(description="Only the file's own.")] = None,
    glossary_id: Annotated[str | None, Form(description="With source_lang only.")] = None,
    glossary_ids: Annotated[str | None, Form(description="Up to five, with commas between them.")] = None,
    columns: Annotated[str | None, Form(description=COLUMNS)] = None,
    keys: Annotated[str | None, Form(description=KEYS)] = None,
    style_id: Annotated[str | None, Form(description="Not served.")] = None,
    translation_memory_id: Annotated[str | None, Form(description=MEMORY)] = None,
    translation_memory_threshold: Annotated[int | None, Form(ge=0, le=100, description=THRESHOLD)] = None,
) -> DeepLDocument:
    _check_served("style_id", not style_id)
    glossaries = named_glossaries(glossary_id, glossary_ids.split(",") if glossary_ids else None, source_lang)
    name = PurePath(filename or file.filename or "file").name
    state, data = admitted.state, await admitted.read(file)
    _check_served("output_format", output_format is None or f".{output_format.lower()}" == suffix_of(name, data))
    with state.file_jobs.files.admit(owner_of(admitted.key), len(data)) as reservation:
        parsed = await admitted.parse(data, name, target_lang, columns, keys)
        [detected] = await _sources(state, [parsed.beginning], source_lang, target_lang)
        check_not_foreign(detected, "source_lang")
        source = detected.language
        if source == _any_target(state, target_lang):
            raise ApiError("invalid_value", "Source and target language are equal.", "target_lang")
        target = _target(admitted, source, target_lang)
        route = await admitted.choose(None, source, target, parsed.num_chars)
        options = _requested_options(route.models, state.settings, formality)
        terms = await terms_of(admitted, glossaries, (source, target))
        memory = await named_memory_of_file(admitted, route, translation_memory_id, translation_memory_threshold)

        async def translated() -> FinishedFile:
            on_progress, reader = reservation.progress.update, state.documents.reader
            done = await translate_file(
                route.models, parsed, reader, options, on_progress=on_progress, terms=terms, memory=memory
            )
            return FinishedFile.of(done)

        state.file_jobs.start(reservation, translated, admitted.hand_over(reservation))
    return DeepLDocument(document_id=reservation.id, document_key=str(reservation.key))


@polls.post(
    "/v2/document/{upload_id}",
    summary="How far a file is",
    response_model=DeepLStatus,
    responses=FILE_ERRORS,
    openapi_extra=with_forms("DeepLKey"),
)
async def status(upload_id: str, body: DeepLKey, admitted: Admitted) -> Response:
    jobs = admitted.state.file_jobs
    reservation = jobs.files.find(upload_id, body.document_key)
    match reservation.outcome:
        case None:
            status: Literal["translating", "queued"] = "translating" if jobs.has_begun(reservation) else "queued"
            left = reservation.progress.seconds_left
            remaining = None if left is None else math.ceil(left)
            answer = DeepLStatus(document_id=reservation.id, status=status, seconds_remaining=remaining)
        case ApiError(message=message):
            answer = DeepLStatus(document_id=reservation.id, status="error", error_message=message)
        case FinishedFile(num_characters=count) as finished:
            answer = DeepLStatus(
                document_id=reservation.id, status="done", billed_characters=count, notes=finished.remarks or None
            )
    return written(answer)


@polls.post(
    "/v2/document/{upload_id}/result",
    summary="The translated file, once",
    response_class=Response,
    responses={**RESULT_ERRORS, 200: {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}},
    openapi_extra=with_forms("DeepLKey"),
)
async def result(upload_id: str, body: DeepLKey, admitted: Admitted) -> Response:
    files = admitted.state.file_jobs.files
    reservation = files.find(upload_id, body.document_key)
    if reservation.outcome is None:
        raise ApiError("not_ready", "Document is not translated yet: its status says more.")
    if isinstance(reservation.outcome, ApiError):  # it never will be
        raise ApiError("conflict", f"Document was not translated: {reservation.outcome.message}")
    files.remove(reservation)
    return Response(reservation.outcome.data, media_type="application/octet-stream")


async def _sources(
    state: ServerState, texts: Sequence[str], source_lang: str | None, target_lang: str
) -> list[Detected]:
    """The language of every text, as a served code unless it is foreign. Raises ApiError for languages that are not
    served."""
    fitting = state.routes.sources_into(target_lang)
    _check_served("target_lang", bool(fitting))
    if not source_lang:
        return await detect_sources(texts, fitting, _any_target(state, target_lang))
    source = served_code(source_lang, fitting)
    if source is None:
        raise ApiError("invalid_value", "Value for 'source_lang' not supported.", "source_lang")
    return [Detected(source, 100.0)] * len(texts)


def _any_target(state: ServerState, target_lang: str) -> str:
    """The served code of a target that some source has."""
    target = served_code(target_lang, sorted(set().union(*state.routes.known_languages.values())))
    assert target is not None
    return target


def _target(admitted: AdmittedRequest, source: str, target_lang: str) -> str:
    target = served_code(target_lang, admitted.state.routes.known_languages[source])
    assert target is not None
    return target


def _check_served(name: str, is_served: bool) -> None:
    """Raise ApiError for an option that cannot be honoured."""
    if not is_served:
        raise ApiError("invalid_value", f"Value for '{name}' not supported.", name)


def _requested_options(
    models: Sequence[Translator], settings: Settings, formality: AskedFormality | None
) -> RequestedOptions:
    """Raises ApiError for a formality that the models do not know."""
    try:
        return requested_options(models, settings, formality=formality)
    except ApiError:
        _check_served("formality", False)
        raise


def _shown(code: str) -> str:
    """A source language as this API writes it, without region."""
    return code.partition("-")[0].upper()
