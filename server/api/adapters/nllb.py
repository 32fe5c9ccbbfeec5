"""Routes of nllb-serve and nllb-api, for Subtitle Edit and Zotero; their languages are called eng_Latn, deu_Latn."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, BeforeValidator, Field

from server.api.adapters.client_route import ClientRoute, MessageError, responses_of, translated
from server.api.adapters.fields import Language, Text
from server.api.admission.admitted_request import Admitted
from server.api.requests.fields import check_text
from server.api.requests.json_response import written_whole


class NllbServeRequest(BaseModel):
    source: Annotated[str | list[str], BeforeValidator(check_text)] = Field(examples=[["Hello world."]])
    src_lang: Language = Field(examples=["eng_Latn"])
    tgt_lang: Language = Field(examples=["deu_Latn"])


class NllbServeAnswer(BaseModel):
    """A list in any case."""

    source: list[str]
    translation: list[str]
    src_lang: str
    tgt_lang: str


class NllbApiRequest(BaseModel):
    text: Text
    source: Language = Field(examples=["eng_Latn"])
    target: Language = Field(examples=["deu_Latn"])


class NllbApiAnswer(BaseModel):
    result: str


router = APIRouter(tags=["other clients"], route_class=ClientRoute.of(MessageError))


@router.post(
    "/nllb/translate",
    summary="Translate texts, for clients of nllb-serve",
    response_model=NllbServeAnswer,
    responses=responses_of(MessageError),
)
async def serve(body: NllbServeRequest, admitted: Admitted) -> Response:
    texts = [body.source] if isinstance(body.source, str) else body.source
    done = await translated(admitted, texts, body.src_lang, body.tgt_lang)
    return written_whole(
        NllbServeAnswer(source=texts, translation=done.texts, src_lang=body.src_lang, tgt_lang=body.tgt_lang)
    )


@router.post(
    "/nllb/translator",
    summary="Translate a text, for clients of nllb-api",
    response_model=NllbApiAnswer,
    responses=responses_of(MessageError),
)
async def api(body: NllbApiRequest, admitted: Admitted) -> Response:
    done = await translated(admitted, [body.text], body.source, body.target)
    return written_whole(NllbApiAnswer(result=done.texts[0]))


@router.get(
    "/nllb/api/v4/translator",
    summary="Translate a text, for newer clients of nllb-api",
    response_model=NllbApiAnswer,
    responses=responses_of(MessageError),
)
async def newer_api(
    admitted: Admitted,
    text: Annotated[str, Query()],
    source: Annotated[str, Query(description="Such as eng_Latn.")],
    target: Annotated[str, Query(description="Such as deu_Latn.")],
) -> Response:
    done = await translated(admitted, [text], source, target)
    return written_whole(NllbApiAnswer(result=done.texts[0]))
