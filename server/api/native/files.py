"""`POST /v1/files`: a file in, the same file translated out."""

from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Response, UploadFile

from server.api.admission.admitted_request import Admitted
from server.api.admission.api_route import ApiRoute
from server.api.requests.api_keys import owner_of
from server.api.requests.content_disposition import attachment
from server.api.requests.errors import ADMISSION, BODY, documented
from server.api.requests.limits import requested_options
from server.files.file_translation import TranslatedFile, translate_file

PATH = "/v1/files"

router = APIRouter(tags=["translation"], route_class=ApiRoute.requiring("translate"))


@router.post(
    PATH,
    summary="Translate a file",
    response_class=Response,
    responses={
        200: {
            "description": "The translated file, in the format of the one that was sent.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        **documented(*ADMISSION, *BODY),
    },
)
async def translate(
    admitted: Admitted,
    file: Annotated[UploadFile, File(description="Its name says the format: report.docx.")],
    source: Annotated[str, Form(description="Language of the file.")],
    target: Annotated[str, Form(description="Language to translate into.")],
    model: Annotated[str | None, Form(description="One of /v1/models; else the first for the languages.")] = None,
    mode: Annotated[
        Literal["offline", "online"], Form(description="A sentence sees all others, or those before it.")
    ] = "offline",
) -> Response:
    route = admitted.choose(model, source, target)
    options = requested_options(route.models, admitted.state.settings)
    data = await file.read()
    jobs = admitted.state.file_jobs
    with jobs.files.admit(owner_of(admitted.key), len(data)) as room:
        parsed = await admitted.parse(data, file.filename or "file", target)
        async with jobs.turn(room):
            done = await translate_file(route.models, parsed, admitted.state.documents.reader, options, mode)
    return _answer(done, route.pivot_language)


def _answer(done: TranslatedFile, pivot: str | None) -> Response:
    """The file as a download. X-Flags counts what looks wrong: "loop=1, cut=2"; X-Pivot is the language between, where
    two models translated."""
    headers = {"Content-Disposition": attachment(done.name)}
    if done.flags:
        headers["X-Flags"] = ", ".join(f"{flag}={count}" for flag, count in sorted(done.flags.items()))
    if pivot is not None:
        headers["X-Pivot"] = pivot
    return Response(done.data, media_type=done.media_type, headers=headers)
