"""Files in DeepL's API: upload, status and download."""

import math
from pathlib import PurePath
from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Response, UploadFile

from server.api.admission.admitted_request import Admitted
from server.api.admission.detection import check_not_foreign
from server.api.deepl.languages import any_target, check_served, options_of, sources_of, target_of
from server.api.deepl.route import DEEPL, DeepLPollRoute, DeepLRoute
from server.api.deepl.routes import ERRORS, NO_MEMORY
from server.api.deepl.schemas import (
    THRESHOLD,
    DeepLDocument,
    DeepLKey,
    DeepLStatus,
)
from server.api.deepl.terms import named_glossaries, terms_of
from server.api.deepl.translation_memories import named_memory_of_file
from server.api.requests.errors import ADMISSION, BODY, ApiError, documented
from server.api.requests.file_fields import COLUMNS, KEYS, MEMORY
from server.api.requests.json_response import written
from server.api.requests.limits import FORMALITY, FormalityOption
from server.api.requests.openapi import with_forms
from server.api.serving.finished_files import FinishedFile
from server.files.file_translation import translate_file
from server.files.formats.registry import suffix_of
from server.keys.key import owner_of

FILE_ERRORS = documented(*ADMISSION, *BODY, "not_found", dialect=DEEPL)
RESULT_ERRORS = documented(*ADMISSION, *BODY, "not_found", "conflict", dialect=DEEPL)
router = APIRouter(tags=["DeepL"], route_class=DeepLRoute.requiring("translate"))
polls = APIRouter(tags=["DeepL"], route_class=DeepLPollRoute.requiring("translate"))


@router.post("/v2/document", summary="Send a file to be translated", responses={**ERRORS, **NO_MEMORY})
async def upload(
    admitted: Admitted,
    file: Annotated[UploadFile, File(description="Of one of the formats that are served.")],
    target_lang: Annotated[str, Form()],
    source_lang: Annotated[str | None, Form(description="By default it is detected.")] = None,
    filename: Annotated[str | None, Form(description="If the file's part names none.")] = None,
    formality: Annotated[FormalityOption | None, Form(description=FORMALITY)] = None,
    output_format: Annotated[str | None, Form(description="Only the file's own.")] = None,
    glossary_id: Annotated[str | None, Form(description="With source_lang only.")] = None,
    glossary_ids: Annotated[str | None, Form(description="Up to five, with commas between them.")] = None,
    columns: Annotated[str | None, Form(description=COLUMNS)] = None,
    keys: Annotated[str | None, Form(description=KEYS)] = None,
    style_id: Annotated[str | None, Form(description="Not served.")] = None,
    translation_memory_id: Annotated[str | None, Form(description=MEMORY)] = None,
    translation_memory_threshold: Annotated[int | None, Form(ge=0, le=100, description=THRESHOLD)] = None,
) -> DeepLDocument:
    check_served("style_id", not style_id)
    glossaries = named_glossaries(glossary_id, glossary_ids.split(",") if glossary_ids else None, source_lang)
    name = PurePath(filename or file.filename or "file").name
    state, data = admitted.state, await admitted.read(file)
    check_served("output_format", output_format is None or f".{output_format.lower()}" == suffix_of(name, data))
    with await state.file_jobs.admit(owner_of(admitted.key), len(data)) as reservation:
        parsed = await admitted.parse(data, name, target_lang, columns, keys)
        [detected] = await sources_of(state, [parsed.beginning], source_lang, target_lang)
        check_not_foreign(detected, "source_lang")
        source = detected.language
        if source == any_target(state, target_lang):
            raise ApiError("invalid_value", "Source and target language are equal.", "target_lang")
        target = target_of(admitted, source, target_lang)
        route = await admitted.choose(None, source, target, parsed.num_chars)
        options = options_of(route.models, state.settings, formality)
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
    if isinstance(reservation.outcome, ApiError):  # it failed, so that the file is never translated
        raise ApiError("conflict", f"Document was not translated: {reservation.outcome.message}")
    files.remove(reservation)
    return Response(reservation.outcome.data, media_type="application/octet-stream")
