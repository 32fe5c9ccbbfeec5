"""`GET /translate?langpair=` and `GET /listPairs`: Apertium APy's routes, for OmegaT and Wikimedia's tools."""

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from server.api.adapters.client_route import ClientRoute, ErrorBody, responses_of, translated
from server.api.admission.admitted_request import Admitted
from server.api.requests.errors import ApiError
from server.api.requests.json_response import written_whole


class ApertiumText(BaseModel):
    translatedText: str


class ApertiumError(ErrorBody):
    responseData: ApertiumText | None = None
    responseDetails: str
    responseStatus: int

    @classmethod
    def of(cls, status: int, message: str) -> Self:
        return cls(responseDetails=message, responseStatus=status)


class ApertiumAnswer(BaseModel):
    responseData: ApertiumText
    responseDetails: None = None
    responseStatus: int = 200


class ApertiumPair(BaseModel):
    sourceLanguage: str
    targetLanguage: str


class ApertiumPairs(BaseModel):
    responseData: list[ApertiumPair]
    responseDetails: None = None
    responseStatus: int = 200


router = APIRouter(tags=["other clients"], route_class=ClientRoute.of(ApertiumError, key_field="key"))


@router.get(
    "/translate",
    summary="Translate a text, for clients of Apertium APy",
    response_model=ApertiumAnswer,
    responses=responses_of(ApertiumError),
)
async def translate(
    admitted: Admitted,
    q: Annotated[str, Query(description="The text.")],
    langpair: Annotated[str, Query(description="Source and target: en|de. Without a source it is detected.")],
    format: Annotated[Literal["txt", "html"], Query()] = "txt",
) -> Response:
    source, _, target = langpair.rpartition("|")
    if not target:
        raise ApiError("invalid_value", "langpair must be two languages, such as en|de", "langpair")
    done = await translated(admitted, [q], source, target, "html" if format == "html" else None)
    return written_whole(ApertiumAnswer(responseData=ApertiumText(translatedText=done.texts[0])))


@router.get(
    "/listPairs",
    summary="Pairs of languages, for clients of Apertium APy",
    response_model=ApertiumPairs,
    responses=responses_of(ApertiumError),
)
async def pairs(admitted: Admitted) -> Response:
    listed = [
        ApertiumPair(sourceLanguage=source, targetLanguage=target)
        for source, target in admitted.state.routes.listed_pairs
    ]
    return written_whole(ApertiumPairs(responseData=listed))
