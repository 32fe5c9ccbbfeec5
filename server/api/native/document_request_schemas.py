"""The JSON of requests for documents."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from server.api.requests.fields import Timeout, check_optional_text, check_text
from server.api.requests.limits import FORMALITY, FormalityOption

OneOrMany = Annotated[str | list[str], BeforeValidator(check_text)]


class DocumentRequest(BaseModel):
    """`POST /v1/documents`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    sentences: Annotated[list[str] | None, BeforeValidator(check_optional_text)] = Field(
        None, description="The document, sentence by sentence. Or `text`.", examples=[["It rains.", "I like it."]]
    )
    text: Annotated[str | None, BeforeValidator(check_optional_text)] = Field(
        None, description="The document as a text, which is cut into sentences; what is between them is kept."
    )
    source: str = Field(description="Language of the document, as /v1/languages lists it.", examples=["en"])
    target: str = Field(description="Language to translate into.", examples=["de"])
    model: str | None = Field(None, description="A model of /v1/models; by default the first for the two languages.")
    mode: Literal["offline", "online"] = Field(
        "offline",
        description="offline: each sentence is translated with all others as context. online: with those before "
        "it as context; sentences may be added.",
    )
    wait: bool = Field(False, description="Answer when the document is done, or after the server's request_timeout.")
    timeout: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="With `wait`: answer after so many seconds at the latest."
    )
    explain: bool = Field(False, description="Say in the answer which sentences each sentence attended to.")
    formality: FormalityOption | None = Field(None, description=FORMALITY)
    translation_memory_id: str | None = Field(
        None,
        description="One of /v1/translation_memories. Sentences whose source is equal to that of an entry get its "
        "translation, as `edited` ones; translations that people write in corrections become entries.",
    )
    beam_size: int | None = Field(None, ge=1, description="Hypotheses kept at every step; more is slower.")
    length_penalty: float | None = Field(
        None, ge=0, le=10, allow_inf_nan=False, description="Hypotheses are ranked by score / tokens**length_penalty."
    )
    max_length: int | None = Field(
        None, ge=1, description="Tokens of one translated sentence at most; by default 20 + 3 * its source's."
    )

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if (self.sentences is None) == (self.text is None):
            raise PydanticCustomError("one_source", "the document is either `sentences` or `text`")
        return self

    @property
    def sources(self) -> list[str] | str:
        return (self.sentences or []) if self.text is None else self.text


class AppendRequest(BaseModel):
    """`POST /v1/documents/{id}/sentences`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    sentences: OneOrMany = Field(description="The next sentence, or several.", examples=["I like it."])
    first_index: int | None = Field(
        None, ge=0, description="The index that the first of them must get: if it would get another, 409."
    )
    timeout: Timeout = None

    @property
    def sources(self) -> list[str]:
        return [self.sentences] if isinstance(self.sentences, str) else self.sentences


class CorrectionRequest(BaseModel):
    """`PUT /v1/documents/{id}/sentences/{index}`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    source: Annotated[str | None, BeforeValidator(check_optional_text)] = Field(
        None, description="The corrected source; it is translated at once."
    )
    translation: Annotated[str | None, BeforeValidator(check_optional_text)] = Field(
        None, description="A person's translation; it is kept as it is and never translated again."
    )
    timeout: Timeout = None

    @model_validator(mode="after")
    def _has_something(self) -> Self:
        if self.source is None and self.translation is None:
            raise PydanticCustomError("no_correction", "a correction has `source`, `translation` or both")
        return self
