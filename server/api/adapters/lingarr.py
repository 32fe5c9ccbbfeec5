"""`POST /api/translate/content`: Lingarr's route, to which Bazarr sends all cues of a film at once.

The cues are one document: each is translated in the context of the others.
"""

from collections.abc import Sequence
from typing import Self

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, TypeAdapter

from server.api.adapters.client_route import ClientRoute, ErrorBody, responses_of
from server.api.adapters.fields import Language, Text
from server.api.admission.admitted_request import Admitted
from server.api.admission.text_languages import languages_of
from server.api.requests.json_response import JSON
from server.api.requests.limits import check_document, requested_options
from server.files.file_translation import translate_as_document
from server.keys.key import owner_of
from server.runtime.offload import offload_above
from server.settings import Settings


class LingarrError(ErrorBody):
    """Errors as ASP.NET writes problems."""

    title: str
    status: int
    detail: str

    @classmethod
    def of(cls, status: int, message: str) -> Self:
        return cls(title="The cues were not translated.", status=status, detail=message)


class Cue(BaseModel):
    position: int
    line: Text


CUES = TypeAdapter(list[Cue])


class LingarrRequest(BaseModel):
    sourceLanguage: Language
    targetLanguage: Language
    lines: list[Cue] = Field(examples=[[{"position": 0, "line": "Where is the station?"}]])


class LingarrRoute(ClientRoute):
    """A film takes longer than other requests: it may take as long as a file."""

    def longest(self, settings: Settings) -> float:
        return settings.file_timeout


router = APIRouter(tags=["other clients"], route_class=LingarrRoute.of(LingarrError))


@router.post(
    "/api/translate/content",
    summary="Translate the cues of a film, for Bazarr",
    response_model=list[Cue],
    responses=responses_of(LingarrError),
)
async def translate(body: LingarrRequest, admitted: Admitted) -> Response:
    state, texts = admitted.state, [cue.line for cue in body.lines]
    check_document(texts, state.settings, "lines")
    languages = await languages_of(state, ["\n".join(texts)], body.sourceLanguage, body.targetLanguage)
    [source] = languages.sources
    if source.language == languages.target:
        return _written(body.lines)
    models = (await admitted.choose(None, source.language, languages.target, sum(map(len, texts)))).models
    options = requested_options(models, state.settings)
    with await state.file_jobs.admit(owner_of(admitted.key), sum(map(len, texts))) as reservation:
        async with state.file_jobs.turn(reservation):
            done = await translate_as_document(
                models, texts, state.documents.reader, options, state.settings.max_total_chars
            )
    return await offload_above(sum(map(len, texts)), _answer, body.lines, done.texts)


def _answer(cues: Sequence[Cue], lines: Sequence[str]) -> Response:
    return _written([cue.model_copy(update={"line": line}) for cue, line in zip(cues, lines, strict=True)])


def _written(cues: list[Cue]) -> Response:
    return Response(CUES.dump_json(cues), media_type=JSON)
