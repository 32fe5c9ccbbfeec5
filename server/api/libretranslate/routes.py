"""LibreTranslate's API at the root: its clients work with this server unchanged."""

from collections.abc import Sequence
from typing import TypeVar

from fastapi import APIRouter, Request, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.detection import Detected, detect
from server.api.admission.plain_translation import translate_texts
from server.api.admission.requested_memory import UNKNOWN_MEMORY
from server.api.admission.text_languages import TextLanguages, languages_of
from server.api.libretranslate.route import LIBRE, LibreProbeRoute, LibreRoute
from server.api.libretranslate.schemas import (
    LibreChoice,
    LibreDetection,
    LibreDetectRequest,
    LibreLanguage,
    LibreSettings,
    LibreSuggestion,
    LibreSuggestRequest,
    LibreTranslateRequest,
    LibreTranslation,
)
from server.api.requests.errors import ADMISSION, BODY, QUOTA, ApiError, documented
from server.api.requests.fields import Status
from server.api.requests.json_response import written
from server.api.requests.openapi import with_forms
from server.api.serving.language_names import name_of
from server.api.serving.server_state import ServerState
from server.files.formats.registry import FORMATS
from server.keys.key import owner_of
from server.runtime.offload import offload_above
from server.settings import Settings
from server.text.base.language_tags import base_language
from server.text.markup.tokens import Kind
from server.translation.assembly import TextTranslation
from server.translation_memory.entries import RefusedPair, checked

PATHS = (
    "/translate",
    "/suggest",
    "/languages",
    "/detect",
    "/translate_file",
    "/download_file",
    "/frontend",
    "/health",
    "/spec",
)
AUTO = "auto"

Value = TypeVar("Value")

ERRORS = documented(*ADMISSION, *BODY, *QUOTA, dialect=LIBRE)
SUGGEST_ERRORS = documented(*ADMISSION, *BODY, dialect=LIBRE)
READ_ERRORS = documented(*ADMISSION, dialect=LIBRE)
NO_MEMORY = documented("not_found", meanings={"not_found": UNKNOWN_MEMORY}, dialect=LIBRE)
router = APIRouter(tags=["LibreTranslate"], route_class=LibreRoute.requiring("translate"))
probes = APIRouter(tags=["LibreTranslate"], route_class=LibreProbeRoute)


@router.post(
    "/translate",
    summary="Translate a text or a list of texts",
    response_model=LibreTranslation,
    responses={**ERRORS, **NO_MEMORY},
    openapi_extra=with_forms("LibreTranslateRequest"),
)
async def translate(body: LibreTranslateRequest, admitted: Admitted) -> Response:
    _check_texts(body.texts, admitted.state.settings)
    if body.format not in ("text", "html"):
        raise ApiError("invalid_value", f"{body.format} format is not supported", "format")
    languages = await named_languages(admitted.state, body.texts, body.source, body.target)
    translations = await _translated(admitted, body, languages)

    def shaped(values: list[Value]) -> Value | list[Value]:
        return values[0] if isinstance(body.q, str) else values

    answer = LibreTranslation(translatedText=shaped([item.text for item in translations]))
    if body.source.lower() == AUTO:
        answer.detectedLanguage = shaped([_detection(item) for item in languages.sources])
    if body.alternatives:
        answer.alternatives = shaped([_others(item) for item in translations])
    if body.scores:
        answer.score = shaped([float(item.hypotheses[0].score) for item in translations])
        answer.flags = shaped([_flags(item) for item in translations])
    return await offload_above(sum(map(len, body.texts)), written, answer)


async def _translated(
    admitted: AdmittedRequest, body: LibreTranslateRequest, languages: TextLanguages
) -> list[TextTranslation]:
    settings = admitted.state.settings
    count = 1 + body.alternatives
    if count > settings.engine.max_beam_size:
        most = settings.engine.max_beam_size - 1
        raise ApiError("invalid_value", f"Invalid request: alternatives must be at most {most}", "alternatives")

    kind: Kind | None = "html" if body.format == "html" else None
    return await translate_texts(
        admitted,
        body.texts,
        languages,
        kind,
        count,
        terms=await body.read_terms(),
        memory_id=body.translation_memory_id,
    )


async def named_languages(state: ServerState, texts: Sequence[str], source: str, target: str) -> TextLanguages:
    """The languages of texts, as `languages_of`; `source` may be AUTO. Raises ApiError for languages that are not
    served."""
    return await languages_of(state, texts, None if source.lower() == AUTO else source, target)


@router.post(
    "/suggest",
    summary="Keep a better translation in your translation memory",
    responses=SUGGEST_ERRORS,
    openapi_extra=with_forms("LibreSuggestRequest"),
)
async def suggest(body: LibreSuggestRequest, admitted: Admitted) -> LibreSuggestion:
    if admitted.state.settings.suggestions == "off":
        raise ApiError("forbidden", "Suggestions are disabled on this server.")
    _check_texts([body.q, body.s], admitted.state.settings)
    languages = await named_languages(admitted.state, [body.q], body.source, body.target)
    try:
        pair = checked(body.q, body.s)
    except RefusedPair as error:
        raise ApiError("invalid_value", f"Invalid request: the suggestion cannot be kept: {error}") from None
    [source] = languages.sources
    pair_of_languages = base_language(source.language), base_language(languages.target)
    memories = admitted.state.translation_memories
    return LibreSuggestion(
        translation_memory_id=await memories.suggest(owner_of(admitted.key), *pair_of_languages, pair)
    )


@router.post(
    "/detect",
    summary="What language is a text in?",
    response_model=list[LibreDetection],
    responses=ERRORS,
    openapi_extra=with_forms("LibreDetectRequest"),
)
async def detect_language(body: LibreDetectRequest, admitted: Admitted) -> list[LibreDetection]:
    _check_texts([body.text], admitted.state.settings)
    detected = await detect(body.text, list(_codes(admitted.state)))
    if detected.foreign is not None:
        detected = await detect(body.text, [detected.foreign])
    return [_detection(detected)]


@router.get("/languages", summary="Languages, with what each can be translated into", responses=READ_ERRORS)
@router.post("/languages", summary="The same, for clients that post", responses=READ_ERRORS)
async def languages(admitted: Admitted) -> list[LibreLanguage]:
    served = admitted.state.routes.languages
    return [
        LibreLanguage(code=code, name=name_of(code), targets=served.get(code, [])) for code in _codes(admitted.state)
    ]


@router.get(
    "/frontend/settings",
    summary="Settings for a web page that uses the API",
    response_model_exclude_none=True,
    responses=READ_ERRORS,
)
async def frontend_settings(admitted: Admitted) -> LibreSettings:
    served = admitted.state.routes.languages
    if not served:
        raise ApiError("not_ready", admitted.state.why_not_ready or "no model is served")
    source, targets = next(iter(served.items()))
    return LibreSettings(
        apiKeys=admitted.state.keys.is_required,
        keyRequired=admitted.state.keys.is_required,
        charLimit=admitted.state.settings.max_text_chars,
        language=LibreChoice(source=_named(source), target=_named(targets[0])),
        suggestions=admitted.state.settings.suggestions == "on",
        supportedFilesFormat=list(FORMATS),
    )


@probes.get("/health", summary="Does the server take requests?", responses=documented("not_ready", dialect=LIBRE))
async def health(request: Request) -> Status:
    state: ServerState = request.app.state.server
    if state.why_not_ready is not None:
        raise ApiError("not_ready", state.why_not_ready)
    return Status()


def _check_texts(texts: Sequence[str], settings: Settings) -> None:
    """Raise ApiError that names the limit."""
    if len(texts) > settings.max_texts:
        message = f"Invalid request: request ({len(texts)}) exceeds batch limit ({settings.max_texts})"
        raise ApiError("too_large", message, "q")
    for size, limit in (
        (max(map(len, texts), default=0), settings.max_text_chars),
        (sum(map(len, texts)), settings.max_total_chars),
    ):
        if size > limit:
            raise ApiError("too_large", f"Invalid request: request ({size}) exceeds text limit ({limit})", "q")


def _codes(state: ServerState) -> list[str]:
    """All source and target languages."""
    return sorted({*state.routes.languages, *state.routes.targets})


def _named(code: str) -> LibreLanguage:
    return LibreLanguage(code=code, name=name_of(code))


def _detection(detected: Detected) -> LibreDetection:
    return LibreDetection(confidence=detected.confidence, language=detected.language)


def _others(translation: TextTranslation) -> list[str]:
    """The next best translations, each once."""
    texts = dict.fromkeys(hypothesis.text for hypothesis in translation.hypotheses)
    return [text for text in texts if text != translation.text]


def _flags(translation: TextTranslation) -> list[str]:
    """The flags of all sentences, each once."""
    return list(dict.fromkeys(flag for sentence in translation.sentences for flag in sentence.flags))
