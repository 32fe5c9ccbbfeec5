"""`POST /deeplx/translate`, as DeepLX answers it: for Zotero, kiss-translator, pot and PDFMathTranslate."""

from typing import Literal, Self

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from server.api.adapters.client_route import ClientRoute, ErrorBody, responses_of, translated
from server.api.adapters.fields import Language, Text
from server.api.admission.admitted_request import Admitted
from server.api.requests.json_response import written_whole


class DeepLXError(ErrorBody):
    code: int
    message: str

    @classmethod
    def of(cls, status: int, message: str) -> Self:
        return cls(code=status, message=message)


class DeepLXRequest(BaseModel):
    text: Text = Field(examples=["Hello world."])
    source_lang: Language | None = Field(default=None, description='By default, and with "auto", it is detected.')
    target_lang: Language
    tag_handling: Literal["", "html", "xml"] | None = None


class DeepLXAnswer(BaseModel):
    code: int = 200
    id: int = 0
    data: str
    alternatives: list[str] = []
    source_lang: str
    target_lang: str
    method: str = "Free"


router = APIRouter(tags=["other clients"], route_class=ClientRoute.of(DeepLXError, key_field="token"))


@router.post(
    "/deeplx/translate",
    summary="Translate a text, for clients of DeepLX",
    response_model=DeepLXAnswer,
    responses=responses_of(DeepLXError),
)
async def translate(body: DeepLXRequest, admitted: Admitted) -> Response:
    done = await translated(admitted, [body.text], body.source_lang, body.target_lang, body.tag_handling or None)
    [text], [source] = done.texts, done.sources
    return written_whole(DeepLXAnswer(data=text, source_lang=source.upper(), target_lang=body.target_lang.upper()))
