"""The fields of OpenAI's chat API that mean something here. All others are ignored."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from server.api.requests.fields import check_optional_text, check_text

IGNORED = "All other fields are ignored: a translation depends on no sampling, tools or formats of answers."


class TextPart(BaseModel):
    """A part of a message. The languages, as TranslateGemma's clients write them, come before those of the model's
    name."""

    type: Literal["text", "input_text"] = "text"
    text: Annotated[str, BeforeValidator(check_text)] = ""
    source_lang_code: Annotated[str | None, BeforeValidator(check_optional_text)] = None
    target_lang_code: Annotated[str | None, BeforeValidator(check_optional_text)] = None


class Message(BaseModel):
    role: str = Field(examples=["user"])
    content: Annotated[str, BeforeValidator(check_text)] | list[TextPart] | None = Field(
        default=None, description="Of the last message of the role user: what is translated. Others are ignored."
    )


class StreamOptions(BaseModel):
    include_usage: bool | None = Field(default=None, description="Whether the last chunk has the tokens.")


class ResponseFormat(BaseModel):
    type: str = Field(default="text", description='"json_schema" and "json_object": lists are answered in an object.')


class ChatRequest(BaseModel):
    """`POST /v1/chat/completions`."""

    model: Annotated[str, BeforeValidator(check_text)] = Field(
        description="Which languages: a model of /v1/models, en-de, ringmt-en-de, or auto-de to detect the source.",
        examples=["en-de"],
    )
    messages: list[Message] = Field(examples=[[{"role": "user", "content": "Good morning."}]])
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(default=None, ge=1, le=1, description="Only 1.")
    response_format: ResponseFormat | None = None


class Usage(BaseModel):
    """Tokens of what was translated, as the models read and wrote it."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Reply(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    index: int = 0
    message: Reply
    logprobs: None = None
    finish_reason: Literal["stop", "length"] = Field(
        description='"length": a sentence of a text ended at the maximum length.'
    )


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int = Field(description="Seconds since 1970.")
    model: str
    choices: list[Choice]
    usage: Usage


class Delta(BaseModel):
    role: Literal["assistant"] | None = None
    content: str | None = None


class ChunkChoice(BaseModel):
    index: int = 0
    delta: Delta
    finish_reason: Literal["stop", "length"] | None = None


class Chunk(BaseModel):
    """The data of one event of a stream."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | None = None


class OpenAIErrorDetails(BaseModel):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class OpenAIError(BaseModel):
    """Every error."""

    error: OpenAIErrorDetails


def parts_of(content: Any) -> list[TextPart]:
    """The parts of a message's content."""
    return [TextPart(text=content)] if isinstance(content, str) else list(content or ())
