"""`POST /mtran/translate` and `/mtran/translate/batch`: MTranServer's routes, for Zotero, pot, Bob and others."""

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from server.api.adapters.client_route import ClientRoute, MessageError, responses_of, translated
from server.api.adapters.fields import Language, Text, Texts
from server.api.admission.admitted_request import Admitted
from server.api.requests.json_response import written_whole


class MTranFields(BaseModel):
    source: Language = Field(alias="from", description='With "auto" it is detected.')
    target: Language = Field(alias="to")
    html: bool = False


class MTranRequest(MTranFields):
    text: Text = Field(examples=["Hello world."])


class MTranBatchRequest(MTranFields):
    texts: Texts = Field(examples=[["Hello world."]])


class MTranAnswer(BaseModel):
    result: str


class MTranBatchAnswer(BaseModel):
    results: list[str]


router = APIRouter(tags=["other clients"], route_class=ClientRoute.of(MessageError, key_field="token"))


@router.post(
    "/mtran/translate",
    summary="Translate a text, for clients of MTranServer",
    response_model=MTranAnswer,
    responses=responses_of(MessageError),
)
async def translate(body: MTranRequest, admitted: Admitted) -> Response:
    done = await translated(admitted, [body.text], body.source, body.target, "html" if body.html else None)
    return written_whole(MTranAnswer(result=done.texts[0]))


@router.post(
    "/mtran/translate/batch",
    summary="Translate a list of texts, for clients of MTranServer",
    response_model=MTranBatchAnswer,
    responses=responses_of(MessageError),
)
async def translate_batch(body: MTranBatchRequest, admitted: Admitted) -> Response:
    done = await translated(admitted, body.texts, body.source, body.target, "html" if body.html else None)
    return written_whole(MTranBatchAnswer(results=done.texts))
