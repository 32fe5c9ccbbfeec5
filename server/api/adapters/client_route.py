"""What the adapters have in common: how they read requests, translate texts and write errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, cast

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from server.api.admission.admitted_request import AdmittedRequest
from server.api.admission.api_route import ApiRoute
from server.api.admission.plain_translation import translate_texts
from server.api.admission.text_languages import languages_of
from server.api.requests.errors import (
    ADMISSION,
    BODY,
    QUOTA,
    TABLE,
    ApiError,
    Dialect,
    ErrorType,
    documented,
    printable,
)
from server.api.requests.limits import check_sizes
from server.text.markup.tokens import Kind

AUTO = ("", "auto", "detect")
"""Sources that are to be detected, in lower case."""
BAD_REQUEST: tuple[ErrorType, ...] = ("malformed", "unsupported_media_type", "invalid_value", "conflict")
"""Errors that are answered with 400."""


class ErrorBody(BaseModel):
    """The body of a client's errors."""

    @classmethod
    def of(cls, status: int, message: str) -> Self:
        """The body for a status."""
        raise NotImplementedError


class MessageError(ErrorBody):
    """The form of errors that most clients read."""

    error: str

    @classmethod
    def of(cls, status: int, message: str) -> Self:
        return cls(error=message)


class ClientErrors:
    """Errors whose body is a `model`."""

    id_headers: tuple[str, ...] = ()

    def __init__(self, model: type[ErrorBody]) -> None:
        self.model = model

    def status(self, kind: ErrorType) -> int:
        return 400 if kind in BAD_REQUEST else TABLE[kind].status

    def answer(self, error: ApiError, request_id: str) -> Response:
        status = self.status(error.kind)
        body = self.model.of(status, printable(error.message))
        return JSONResponse(body.model_dump(mode="json"), status, error.headers)


class ClientRoute(ApiRoute):
    """Unknown fields and parameters are ignored. The header Authorization may be the key alone, without a scheme, as
    some clients send it."""

    @classmethod
    def of(cls, errors: type[ErrorBody], key_field: str | None = None) -> type[Self]:
        """The class of an adapter's routes, which need a key of the scope `translate`."""
        details = {"dialect": ClientErrors(errors), "key_field": key_field, "access": "translate"}
        return cast(type[Self], type(cls.__name__, (cls,), details))

    dialect: ClassVar[Dialect]

    def check_query(self, request: Request) -> None:
        """Unknown parameters are ignored: clients send more than is needed."""

    def body_may_have_key(self, request: Request) -> bool:
        """The `key_field` is a parameter of the query."""
        return False

    def presented(self, request: Request) -> str | None:
        presented = super().presented(request)
        authorization = request.headers.get("authorization", "").strip()
        return authorization if presented is None and authorization and " " not in authorization else presented


def responses_of(errors: type[ErrorBody], *more: ErrorType) -> dict[int | str, dict[str, object]]:
    """The error statuses of a route of an adapter, for its OpenAPI entry."""
    return documented(*ADMISSION, *BODY, *QUOTA, *more, dialect=ClientErrors(errors))


@dataclass(frozen=True)
class Translated:
    """`sources` are the served codes of the texts' languages."""

    texts: list[str]
    sources: list[str]


async def translated(
    admitted: AdmittedRequest, texts: Sequence[str], source: str | None, target: str, kind: Kind | None = None
) -> Translated:
    """The translations of texts whose languages are named as the client names them. Raises ApiError."""
    check_sizes(texts, admitted.state.settings)
    named = None if source is None or source.lower() in AUTO else source
    languages = await languages_of(admitted.state, texts, named, target)
    translations = await translate_texts(admitted, texts, languages, kind)
    return Translated(
        [translation.text for translation in translations], [detected.language for detected in languages.sources]
    )
