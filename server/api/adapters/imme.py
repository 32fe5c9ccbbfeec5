"""`POST /imme`: the custom API of Immersive Translate."""

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from server.api.adapters.client_route import ClientRoute, MessageError, responses_of, translated
from server.api.adapters.fields import Language, Texts
from server.api.admission.admitted_request import Admitted
from server.api.requests.json_response import written_whole
from server.runtime.offload import offload_above


class ImmeRequest(BaseModel):
    source_lang: Language = Field(default="auto", description='With "auto" each text\'s language is detected.')
    target_lang: Language
    text_list: Texts = Field(examples=[["Hello world."]])


class ImmeTranslation(BaseModel):
    detected_source_lang: str
    text: str


class ImmeAnswer(BaseModel):
    translations: list[ImmeTranslation]


router = APIRouter(tags=["other clients"], route_class=ClientRoute.of(MessageError, key_field="token"))


@router.post(
    "/imme",
    summary="Translate a list of texts, for Immersive Translate",
    response_model=ImmeAnswer,
    responses=responses_of(MessageError),
)
async def translate(body: ImmeRequest, admitted: Admitted) -> Response:
    done = await translated(admitted, body.text_list, body.source_lang, body.target_lang)
    pairs = zip(done.sources, done.texts, strict=True)
    translations = [ImmeTranslation(detected_source_lang=source, text=text) for source, text in pairs]
    size = sum(map(len, body.text_list))
    return await offload_above(size, lambda: written_whole(ImmeAnswer(translations=translations)))
