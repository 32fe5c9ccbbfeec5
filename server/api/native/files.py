"""`POST /v1/files`: a file in, the same file translated out, in the answer or later."""

from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Request, Response, UploadFile
from pydantic import BaseModel, Field

from server.api.admission.admitted_request import Admitted
from server.api.admission.api_route import ApiRoute
from server.api.admission.detection import check_not_foreign
from server.api.admission.requested_memory import UNKNOWN_MEMORY, of_file
from server.api.admission.text_languages import languages_of
from server.api.native.schemas import FLAGGED
from server.api.requests.content_disposition import attachment
from server.api.requests.errors import ADMISSION, BODY, QUOTA, ApiError, ErrorType, documented
from server.api.requests.file_fields import COLUMNS, KEYS, MEMORY
from server.api.requests.json_response import written, written_as_set
from server.api.requests.limits import FORMALITY, FormalityOption, requested_options
from server.api.requests.preferences import APPLIED, prefers_async
from server.api.requests.root_path import published
from server.api.serving.file_jobs import STATUS, FileJobs, within
from server.api.serving.finished_files import FileReservation, FinishedFile
from server.api.serving.language_names import name_of
from server.api.serving.model_names import AUTO
from server.api.serving.routing import Route
from server.api.serving.server_state import ServerState
from server.documents.batches import OnProgress
from server.files.doubtful import LONGEST_SHOWN, MOST_SHOWN
from server.files.file_translation import TranslatedFile, translate_file
from server.keys.key import owner_of
from server.translation.memory_lookup import MemoryUse
from server.translation.translator import RequestedOptions

PATH = "/v1/files"
RESULT = STATUS + "/result"
MAX_CHECK_BYTES = 2000
"""The most bytes of the header X-Check: proxies take 4 KiB of headers by default."""


class PollRoute(ApiRoute):
    """A route that reads the state of earlier work: its requests do not count for the key's concurrency."""

    is_work = False


router = APIRouter(tags=["translation"], route_class=ApiRoute.requiring("translate"))
polls = APIRouter(tags=["translation"], route_class=PollRoute.requiring("translate"))


class FileFailure(BaseModel):
    type: ErrorType
    message: str


class DoubtfulSentence(BaseModel):
    source: str
    translation: str
    flags: list[str] = Field(description=FLAGGED)


class FileStatus(BaseModel):
    """A file that is translated after the request."""

    id: str
    state: Literal["queued", "translating", "done", "failed"]
    progress: int = Field(description="Sentences that are translated; each counts twice if two models translate.")
    sentences: int = Field(description="All sentences, counted alike; 0 until they are known.")
    fraction: float = Field(description="progress / sentences: never less than before, and 1 when the file is done.")
    seconds_left: float | None = Field(default=None, description="At the speed until now.")
    result: str | None = Field(default=None, description="The path of the translated file, when it is done.")
    error: FileFailure | None = None
    flags: dict[str, int] | None = Field(default=None, description="How many sentences have each flag, if any has one.")
    check: list[DoubtfulSentence] | None = Field(
        default=None,
        description=f"The first {MOST_SHOWN} sentences that look wrong, of each at most {LONGEST_SHOWN} characters.",
    )
    notes: list[str] | None = Field(default=None, description="How it was read where that is not certain.")
    source: str | None = Field(default=None, description="Only in the answer 202 to `auto`: the detected language.")

    @classmethod
    def of(cls, reservation: FileReservation, jobs: FileJobs, request: Request) -> "FileStatus":
        progress = reservation.progress
        status = cls(
            id=reservation.id,
            state="queued",
            progress=progress.done,
            sentences=progress.total,
            fraction=progress.fraction,
        )
        changes: dict[str, object] = {}
        match reservation.outcome:
            case None if jobs.has_begun(reservation):
                left = progress.seconds_left
                changes = {"state": "translating", "seconds_left": None if left is None else round(left, 1)}
            case ApiError(kind=kind, message=message):
                changes = {"state": "failed", "error": FileFailure(type=kind, message=message)}
            case FinishedFile(flags=flags, doubtful=doubtful, notes=notes):
                changes = {"state": "done", "result": published(request.scope, RESULT.format(file_id=reservation.id))}
                changes |= {"flags": dict(flags) or None, "notes": list(notes) or None}
                changes["check"] = [
                    DoubtfulSentence(source=each.source, translation=each.target, flags=list(each.flags))
                    for each in doubtful.sentences
                ] or None
        return status.model_copy(update=changes)


FILE = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}


@router.post(
    PATH,
    summary="Translate a file",
    response_class=Response,
    responses={
        200: {"description": "The translated file, in the format of the one that was sent.", **FILE},
        202: {
            "description": "With the header `Prefer: respond-async`: it is translated now; Location has its state.",
            "model": FileStatus,
        },
        **documented(*ADMISSION, *BODY, *QUOTA, "not_found", meanings={"not_found": UNKNOWN_MEMORY}),
    },
)
async def translate(
    request: Request,
    admitted: Admitted,
    file: Annotated[UploadFile, File(description="Its name says the format: report.docx.")],
    source: Annotated[str, Form(description='Language of the file, or "auto" to detect it.')],
    target: Annotated[str, Form(description="Language to translate into.")],
    model: Annotated[str | None, Form(description="One of /v1/models; else the first for the languages.")] = None,
    mode: Annotated[
        Literal["offline", "online"], Form(description="A sentence sees all others, or those before it.")
    ] = "offline",
    columns: Annotated[str | None, Form(description=COLUMNS)] = None,
    keys: Annotated[str | None, Form(description=KEYS)] = None,
    formality: Annotated[FormalityOption | None, Form(description=FORMALITY)] = None,
    translation_memory_id: Annotated[str | None, Form(description=MEMORY)] = None,
) -> Response:
    async def chosen(language: str) -> tuple[Route, RequestedOptions, MemoryUse | None]:
        route = await admitted.choose(model, language, target, 0)
        options = requested_options(route.models, state.settings, formality=formality)
        return route, options, await of_file(admitted, route, translation_memory_id)

    state = admitted.state
    is_detected = source.lower() == AUTO
    # What cannot be served is refused before the file is read.
    named = None if is_detected else await chosen(source)
    data = await admitted.read(file)
    jobs = state.file_jobs
    with await jobs.admit(owner_of(admitted.key), len(data)) as reservation:
        parsed = await admitted.parse(data, file.filename or "file", target, columns, keys)
        if named is None:
            source = await _detected(state, parsed.beginning, target)
        route, options, memory = named or await chosen(source)
        admitted.charge(parsed.num_chars, route.models[0].name)

        async def translated(on_progress: OnProgress) -> FinishedFile:
            reader = state.documents.reader
            done = await translate_file(route.models, parsed, reader, options, mode, on_progress, memory=memory)
            return _finished(done, route.pivot_language)

        if prefers_async(request):
            jobs.start(reservation, lambda: translated(reservation.progress.update), admitted.hand_over(reservation))
            status = FileStatus.of(reservation, jobs, request)
            return accepted(status.model_copy(update={"source": source}) if is_detected else status)
        async with jobs.turn(reservation):
            return answered(await translated(within(admitted.deadline, reservation.progress)))


async def _detected(state: ServerState, text: str, target: str) -> str:
    """The language of a file that begins with `text`. Raises ApiError (422) if it is the target language, or none
    that is served."""
    languages = await languages_of(state, [text], None, target)
    [detected] = languages.sources
    check_not_foreign(detected, "source")
    if detected.language == languages.target:
        shown = f"{name_of(detected.language)} ({detected.language})"
        message = f"the file is already in {shown}; name its language if it is another one"
        raise ApiError("invalid_value", message, "source")
    return detected.language


def accepted(status: FileStatus) -> Response:
    """The answer for a file that is translated after the request."""
    return written_as_set(status, 202, {"Location": STATUS.format(file_id=status.id), **APPLIED})


@polls.get(
    STATUS,
    summary="How far a file is",
    response_model=FileStatus,
    response_model_exclude_none=True,
    responses=documented(*ADMISSION, "not_found"),
)
async def status(file_id: str, request: Request, admitted: Admitted) -> Response:
    jobs = admitted.state.file_jobs
    return written(FileStatus.of(jobs.files.of_owner(file_id, owner_of(admitted.key)), jobs, request))


@polls.get(
    RESULT,
    summary="The translated file",
    response_class=Response,
    responses={
        200: {"description": "The translated file, in the format of the one that was sent.", **FILE},
        **documented(*ADMISSION, "not_found", "conflict", *BODY),
    },
)
async def result(file_id: str, admitted: Admitted) -> Response:
    """The error of a file that failed is answered as if the file were sent now."""
    outcome = admitted.state.file_jobs.files.of_owner(file_id, owner_of(admitted.key)).outcome
    if outcome is None:
        raise ApiError(
            "conflict", f"the file is not translated yet: {STATUS.format(file_id=file_id)} says how far it is"
        )
    if isinstance(outcome, ApiError):
        raise outcome
    return answered(outcome)


def _finished(done: TranslatedFile, pivot: str | None) -> FinishedFile:
    """X-Flags counts what looks wrong: "loop=1, cut=2"; X-Check has the first such sentences as JSON; X-Pivot is the
    language between, where two models translated; X-Notes says how the file was read where that is not certain."""
    headers: dict[str, str] = {}
    if done.flags:
        headers["X-Flags"] = ", ".join(f"{flag}={count}" for flag, count in sorted(done.flags.items()))
    if check := done.doubtful.header(MAX_CHECK_BYTES):
        headers["X-Check"] = check
    if done.notes:
        headers["X-Notes"] = "; ".join(done.notes)
    if pivot is not None:
        headers["X-Pivot"] = pivot
    return FinishedFile.of(done, headers)


def answered(file: FinishedFile) -> Response:
    """The file as a download."""
    headers = {"Content-Disposition": attachment(file.name), **file.headers}
    return Response(file.data, media_type=file.media_type, headers=headers)
