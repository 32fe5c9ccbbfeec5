"""Files in LibreTranslate's API: upload, and download by a link."""

from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, Response, UploadFile

from server.api.admission.admitted_request import Admitted
from server.api.admission.detection import check_not_foreign
from server.api.admission.requested_memory import of_file
from server.api.libretranslate.route import LIBRE, LibreProbeRoute, LibreRoute
from server.api.libretranslate.routes import ERRORS, NO_MEMORY, named_languages
from server.api.libretranslate.schemas import LibreFile
from server.api.requests.content_disposition import attachment_for_old_clients, quoted, shortened
from server.api.requests.errors import ADMISSION, documented
from server.api.requests.file_fields import COLUMNS, KEYS, MEMORY
from server.api.requests.json_response import written, written_as_set
from server.api.requests.limits import requested_options
from server.api.requests.preferences import APPLIED, prefers_async
from server.api.serving.file_jobs import STATUS, within
from server.api.serving.finished_files import FinishedFile
from server.api.serving.server_state import ServerState
from server.documents.batches import OnProgress
from server.files.file_translation import translate_file as translated_file
from server.files.formats.registry import FORMATS, translated_name
from server.keys.key import owner_of

router = APIRouter(tags=["LibreTranslate"], route_class=LibreRoute.requiring("translate"))
downloads = APIRouter(tags=["LibreTranslate"], route_class=LibreProbeRoute)


@router.post(
    "/translate_file",
    summary="Translate a file",
    response_model=LibreFile,
    response_model_exclude_none=True,
    responses={
        **ERRORS,
        **NO_MEMORY,
        202: {
            "description": "With `Prefer: respond-async`: the link has the file later, Location its state.",
            "model": LibreFile,
        },
    },
)
async def translate_file(
    request: Request,
    admitted: Admitted,
    file: Annotated[UploadFile, File(description=f"One of {', '.join(FORMATS)}.")],
    source: Annotated[str, Form(description='Its language, or "auto".')],
    target: Annotated[str, Form(description="Language to translate into.")],
    columns: Annotated[str | None, Form(description=COLUMNS)] = None,
    keys: Annotated[str | None, Form(description=KEYS)] = None,
    translation_memory_id: Annotated[str | None, Form(description=MEMORY)] = None,
) -> Response:
    state, data = admitted.state, await admitted.read(file)
    jobs = state.file_jobs
    with await jobs.admit(owner_of(admitted.key), len(data)) as reservation:
        name = PurePath(file.filename or "file.txt").name
        parsed = await admitted.parse(data, name, target, columns, keys)
        languages = await named_languages(state, [parsed.beginning], source, target)
        [detected] = languages.sources
        check_not_foreign(detected, "source")
        is_translated = detected.language != languages.target
        name = translated_name(parsed.name, languages.target) if is_translated else parsed.name
        file_id = jobs.files.new_link(shortened(name))
        link = LibreFile(translatedFileUrl=str(request.url_for("download_file", name=quoted(file_id))))
        if not is_translated:
            jobs.files.keep(reservation, FinishedFile(data, parsed.name, parsed.media_type), file_id)
            return written(link)
        route = await admitted.choose(None, detected.language, languages.target, parsed.num_chars)
        memory = await of_file(admitted, route, translation_memory_id)
        options = requested_options(route.models, state.settings)

        async def translated(on_progress: OnProgress) -> FinishedFile:
            reader = state.documents.reader
            done = await translated_file(route.models, parsed, reader, options, on_progress=on_progress, memory=memory)
            return FinishedFile.of(done)

        if prefers_async(request):
            jobs.files.link(reservation, file_id)
            jobs.start(reservation, lambda: translated(reservation.progress.update), admitted.hand_over(reservation))
            headers = {"Location": STATUS.format(file_id=reservation.id), **APPLIED}
            return written_as_set(link, 202, headers)
        async with jobs.turn(reservation):
            finished = await translated(within(admitted.deadline, reservation.progress))
        jobs.files.keep(reservation, finished, file_id)
    link.notes = finished.remarks or None
    return written(link)


@downloads.get(
    "/download_file/{name}",
    summary="A translated file",
    response_class=Response,
    responses={
        **documented(*ADMISSION, "not_found", dialect=LIBRE),
        200: {"content": {format_.media_type: {"schema": {"type": "string"}} for format_ in FORMATS.values()}},
    },
)
async def download_file(name: str, request: Request) -> Response:
    """The route needs no key: a link has a random part, and only the client that got it knows it."""
    state: ServerState = request.app.state.server
    file = state.file_jobs.files.get(name)
    headers = {"Content-Disposition": attachment_for_old_clients(file.name)}
    return Response(file.data, media_type=file.media_type, headers=headers)
