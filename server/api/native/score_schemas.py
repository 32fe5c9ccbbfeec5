"""The JSON of scores."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from server.api.requests.fields import Timeout, TimingsAnswer, check_optional_text, check_text
from server.translation.scoring import TargetScore


def one_or_many(value: Any) -> Any:
    """One item counts as a list of one."""
    return [value] if isinstance(value, dict) else value


def check_targets(value: Any) -> Any:
    """A translation or several; at least one."""
    if value == []:
        raise PydanticCustomError("no_target", "must be a translation or a list of at least one")
    return check_text(value)


class ScoreItem(BaseModel):
    """One sentence with its translations. Texts are read as they are, not cut into sentences."""

    model_config = ConfigDict(strict=True, extra="forbid")

    source: Annotated[str, BeforeValidator(check_text)] = Field(examples=["It is on the table."])
    target: Annotated[str | Annotated[list[str], Field(min_length=1)], BeforeValidator(check_targets)] = Field(
        description="A translation, or several to choose from.",
        examples=[["Er steht auf dem Tisch.", "Es steht auf dem Tisch."]],
    )
    context: Annotated[str | list[str] | None, BeforeValidator(check_optional_text)] = Field(
        None,
        description="The text before the sentence in its document, in the source language. For models that use "
        "context; others ignore it.",
        examples=["Where is the cup?"],
    )

    @property
    def targets(self) -> list[str]:
        return [self.target] if isinstance(self.target, str) else self.target

    @property
    def contexts(self) -> list[str]:
        return [self.context] if isinstance(self.context, str) else self.context or []


class ScoreRequest(BaseModel):
    """`POST /v1/score`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    items: Annotated[list[ScoreItem], BeforeValidator(one_or_many)] = Field(
        description="One item, or a list. An item: `source`, `target` (a translation or a list), maybe `context`."
    )
    source: str = Field(description="Language of the sources, as /v1/languages lists it.", examples=["en"])
    target: str = Field(description="Language of the translations.", examples=["de"])
    model: str | None = Field(None, description="A model of /v1/models; by default the first for the two languages.")
    timeout: Timeout = None
    tokens: bool = Field(False, description="Answer the log-probability of every token as well.")


class ScoredToken(BaseModel):
    text: str = Field(description='A piece as the model reads it: "\u2581" begins a word, "</s>" is the end.')
    score: float


class ScoredTarget(BaseModel):
    target: str
    score: float = Field(description="Log-probability of the translation, its end included, in nats.")
    num_tokens: int = Field(description="Its tokens, its end included.")
    mean_score: float = Field(description="score / num_tokens")
    tokens: list[ScoredToken] | None = Field(None, description="Only when `tokens` was true.")

    @classmethod
    def of(cls, scored: TargetScore, with_tokens: bool) -> Self:
        pairs = zip(scored.pieces, scored.log_probabilities, strict=True)
        return cls(
            target=scored.target,
            score=scored.score,
            num_tokens=len(scored.log_probabilities),
            mean_score=scored.mean,
            tokens=[ScoredToken(text=text, score=score) for text, score in pairs] if with_tokens else None,
        )


class ScoredItem(BaseModel):
    best: int = Field(description="Index of the target with the highest score; of equal ones the first.")
    targets: list[ScoredTarget]


class ScoreResponse(BaseModel):
    """The items in their order. Log-probabilities are over all words that can be decoded, also where the search uses a
    shortlist."""

    items: list[ScoredItem]
    model: str
    timings: TimingsAnswer
    context: bool | None = Field(
        None, description="Only when an item had context: false if the model does not use context and ignored it."
    )
