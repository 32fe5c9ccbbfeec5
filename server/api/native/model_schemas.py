"""The JSON of models and languages."""

from typing import Literal

from pydantic import BaseModel, Field

from server.telemetry.labels import ModelState


class Model(BaseModel):
    """A model that is served. Lengths are pieces of one sentence, its end included."""

    name: str
    source: str = Field(
        description='"mul" for a model of several languages, which /v1/languages lists; so is the target.'
    )
    target: str
    variant: str
    licence: str
    precisions: list[str]
    max_source_length: int
    max_target_length: int
    fingerprint: str = Field(
        description="Hash of weights and vocabulary: servers with equal fingerprints translate alike."
    )
    context: bool = Field(description="Whether sentences of a document are translated with each other as context.")
    state: ModelState = Field(
        "ready",
        description="unloaded: it is loaded for its next request, which waits for it. restarting: its engine hung or "
        "ended, and is being restarted. failed: it could not be loaded or restarted; requests for it get 503 until it "
        "is loaded again.",
    )
    reason: str | None = Field(None, description="Why the model is not ready.")


class ListedModel(BaseModel):
    """A name that clients of OpenAI's API may send for a model."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="When the server started, in seconds since 1970.")
    owned_by: str = "ringmt"


class Models(BaseModel):
    """The models. `object` and `data` are for clients of OpenAI's API: names of models, of pairs of languages, and of
    targets whose source is detected."""

    models: list[Model]
    object: Literal["list"] = "list"
    data: list[ListedModel]


class Language(BaseModel):
    """A source language and what it can be translated into."""

    source: str
    targets: list[str]
    through: dict[str, str] | None = Field(
        None, description="Targets that need two models, with the language between them."
    )
    formality: list[str] | None = Field(
        None, description="Targets for which requests can say how formally the reader is addressed."
    )


class Languages(BaseModel):
    languages: list[Language]
