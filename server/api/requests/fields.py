"""Fields of requests and answers that several APIs share."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from server.translation.assembly import TranslationOutcome
from server.translation.scoring import ScoringOutcome


def check_text(value: Any) -> Any:
    """A text, or a list of texts, of valid Unicode; JSON can also express half a character ("\\ud800")."""
    for index, text in enumerate(value if isinstance(value, list) else [value]):
        where = f"text {index}" if isinstance(value, list) else "it"
        if not isinstance(text, str):
            raise PydanticCustomError("text_type", "must be a string or a list of strings")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            message = "must be valid Unicode: {where} has a lone surrogate at character {position}"
            raise PydanticCustomError("lone_surrogate", message, {"where": where, "position": error.start}) from None
    return value


def check_optional_text(value: Any) -> Any:
    """`check_text`, where null means no text."""
    return None if value is None else check_text(value)


def check_term(value: Any) -> Any:
    """A text of at least one word or sign, in valid Unicode."""
    if isinstance(value, str) and not value.strip():
        raise PydanticCustomError("term_empty", "must have at least one letter, digit or sign")
    return check_text(value)


MOST_TERMS = 5000
"""Terms of one request."""
Term = Annotated[str, Field(max_length=500), BeforeValidator(check_term)]

Timeout = Annotated[
    float | None,
    Field(gt=0, allow_inf_nan=False, description="Seconds after which the request is given up with 504."),
]


class TimingsAnswer(BaseModel):
    """Seconds. queue, encode and decode are each the largest among the request's sentences, which run concurrently."""

    queue: float
    encode: float
    decode: float
    total: float

    @classmethod
    def of(cls, outcome: TranslationOutcome | ScoringOutcome) -> Self:
        timings = outcome.timings
        return cls(queue=timings.queue, encode=timings.encode, decode=timings.decode, total=outcome.total)


class Status(BaseModel):
    """The answer of a probe that succeeds."""

    status: Literal["ok"] = "ok"
