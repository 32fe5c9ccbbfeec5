"""`POST /kiss`: the custom API of kiss-translator, with one text or, where it fetches in batches, with many."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, BeforeValidator, Field

from server.api.adapters.client_route import ClientRoute, MessageError, responses_of, translated
from server.api.adapters.fields import Language, Texts
from server.api.admission.admitted_request import Admitted
from server.api.requests.errors import ApiError
from server.api.requests.fields import check_optional_text
from server.api.requests.json_response import written_whole


class KissRequest(BaseModel):
    text: Annotated[str | None, BeforeValidator(check_optional_text)] = Field(default=None, examples=["Hello world."])
    texts: Texts | None = Field(default=None, description="Instead of `text`.")
    source: Language = Field(default="auto", alias="from", description='With "auto" it is detected.')
    target: Language = Field(alias="to")


class KissTranslation(BaseModel):
    text: str
    src: str = Field(description="The language of the text.")


class KissTranslations(BaseModel):
    translations: list[KissTranslation]


router = APIRouter(tags=["other clients"], route_class=ClientRoute.of(MessageError, key_field="token"))


@router.post(
    "/kiss",
    summary="Translate a text or a list of texts, for kiss-translator",
    response_model=KissTranslation | KissTranslations,
    responses=responses_of(MessageError),
)
async def translate(body: KissRequest, admitted: Admitted) -> Response:
    if (body.text is None) == (body.texts is None):
        raise ApiError("invalid_value", "either text or texts must be given", "text")
    texts = [body.text] if body.text is not None else body.texts or []
    done = await translated(admitted, texts, body.source, body.target)
    pairs = zip(done.texts, done.sources, strict=True)
    translations = [KissTranslation(text=text, src=source) for text, source in pairs]
    return written_whole(translations[0] if body.text is not None else KissTranslations(translations=translations))
