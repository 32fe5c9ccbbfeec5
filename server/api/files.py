"""`POST /v1/files`: translates a file and answers it in the same format."""

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, File, Form, Response, UploadFile

from server.api.errors import ADMISSION, BODY, documented
from server.api.limits import asked_options
from server.api.route import DoorRoute
from server.api.visit import Admitted
from server.file_translation import TranslatedFile, translate_file

PATH = "/v1/files"

router = APIRouter(tags=["translation"], route_class=DoorRoute)


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
    visit: Admitted,
    file: Annotated[UploadFile, File(description="Its name says the format: report.docx.")],
    source: Annotated[str, Form(description="Language of the file.")],
    target: Annotated[str, Form(description="Language to translate into.")],
    model: Annotated[str | None, Form(description="One of /v1/models; else the first for the languages.")] = None,
    mode: Annotated[
        Literal["offline", "online"], Form(description="A sentence sees all others, or those before it.")
    ] = "offline",
) -> Response:
    settings = visit.state.settings
    translator = visit.translator(model, source, target)
    translator.check_room(1)
    options = asked_options(translator, settings)
    reader, limit = visit.state.documents.reader, settings.max_total_chars
    data = await file.read()
    return _answer(await translate_file(translator, data, file.filename or "file", reader, options, mode, limit))


def _answer(done: TranslatedFile) -> Response:
    """The file as a download. The header X-Flags counts what looks wrong: "loop=1, cut=2"."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(done.name, safe='')}"}
    if done.flags:
        headers["X-Flags"] = ", ".join(f"{flag}={count}" for flag, count in sorted(done.flags.items()))
    return Response(done.data, media_type=done.media_type, headers=headers)
