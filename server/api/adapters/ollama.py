"""`POST /api/generate` and `/api/chat`, `GET /api/tags`: Ollama's routes, for tools that know no other local server.

The model's name says the languages, as in OpenAI's API.
"""

import time
from collections.abc import Iterable
from datetime import UTC, datetime

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from server.api.adapters.client_route import ClientRoute, MessageError, responses_of
from server.api.adapters.fields import Text
from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.plain_translation import translate_texts
from server.api.admission.text_languages import languages_of
from server.api.openai.content import content_of
from server.api.requests.errors import ApiError
from server.api.requests.json_response import json_of, written
from server.api.requests.limits import check_sizes
from server.api.serving.model_names import names_of_pairs, pair_named
from server.runtime.offload import offload_above

LINES = "application/x-ndjson"
NANOSECONDS = 10**9


class ModelRequest(BaseModel):
    """Other fields, such as system prompts and options, are ignored."""

    model: Text = Field(description="As in /v1/chat/completions.", examples=["en-de"])
    stream: bool | None = Field(default=None, description="Unless it is false, the answer is lines of JSON.")
    format: str | dict[str, object] | None = Field(default=None, description="If given, lists are answered in objects.")


class GenerateRequest(ModelRequest):
    prompt: Text = ""


class ChatMessage(BaseModel):
    role: str = "user"
    content: Text = ""


class ChatRequest(ModelRequest):
    messages: list[ChatMessage]


class Answer(BaseModel):
    """`response` of /api/generate, `message` of /api/chat. Times are nanoseconds."""

    model: str
    created_at: str
    response: str | None = None
    message: ChatMessage | None = None
    done: bool = True
    done_reason: str | None = None
    total_duration: int | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None


class Tag(BaseModel):
    name: str
    model: str
    modified_at: str
    size: int = 0
    digest: str = ""


class Tags(BaseModel):
    models: list[Tag]


router = APIRouter(tags=["other clients"], route_class=ClientRoute.of(MessageError))
STARTED = datetime.now(UTC).isoformat()


@router.post(
    "/api/generate",
    summary="Translate a text, for clients of Ollama",
    response_model=Answer,
    responses={200: {"content": {LINES: {"schema": {"type": "string"}}}}, **responses_of(MessageError, "not_found")},
)
async def generate(body: GenerateRequest, admitted: Admitted) -> Response:
    answer, text = await _translated(body, body.prompt, admitted)
    return _written(body, [answer.model_copy(update={"response": text})], {"response": ""})


@router.post(
    "/api/chat",
    summary="Translate the last message of a conversation, for clients of Ollama",
    response_model=Answer,
    responses={200: {"content": {LINES: {"schema": {"type": "string"}}}}, **responses_of(MessageError, "not_found")},
)
async def chat(body: ChatRequest, admitted: Admitted) -> Response:
    message = next((message for message in reversed(body.messages) if message.role == "user"), None)
    if message is None:
        raise ApiError("invalid_value", "messages: none has the role 'user'", "messages")
    answer, text = await _translated(body, message.content, admitted)
    reply, empty = ChatMessage(role="assistant", content=text), ChatMessage(role="assistant")
    return _written(body, [answer.model_copy(update={"message": reply})], {"message": empty})


@router.get(
    "/api/tags",
    summary="Names of models, for clients of Ollama",
    response_model=Tags,
    responses=responses_of(MessageError),
)
async def tags(admitted: Admitted) -> Response:
    names = names_of_pairs(admitted.state.translators, admitted.state.routes)
    return written(Tags(models=[Tag(name=name, model=name, modified_at=STARTED) for name in names]))


async def _translated(body: ModelRequest, message: str, admitted: AdmittedRequest) -> tuple[Answer, str]:
    """The answer without its text, and the text. Raises ApiError."""
    state, started = admitted.state, time.monotonic()
    pair = pair_named(body.model.removesuffix(":latest"), state.translators, state.routes)
    content = await offload_above(len(message), content_of, message, bool(body.format))
    check_sizes(content.texts, state.settings, "prompt")
    languages = await languages_of(state, content.texts, pair.source, pair.target)
    terms = await content.read_terms()
    translations = await translate_texts(admitted, content.texts, languages, model=pair.model, terms=terms)
    text = await offload_above(len(message), content.write, [translation.text for translation in translations])
    sentences = [sentence for translation in translations for sentence in translation.sentences]
    answer = Answer(
        model=body.model,
        created_at=datetime.now(UTC).isoformat(),
        done_reason="stop",
        total_duration=round((time.monotonic() - started) * NANOSECONDS),
        prompt_eval_count=sum(sentence.num_source_tokens for sentence in sentences),
        eval_count=sum(sentence.num_tokens for sentence in sentences),
    )
    return answer, text


def _written(body: ModelRequest, answers: Iterable[Answer], empty: dict[str, object]) -> Response:
    """The answer; as a stream its text in one line, and a last line without text that ends it."""
    [answer] = answers
    if body.stream is False:
        return written(answer)
    ends = ("done_reason", "total_duration", "prompt_eval_count", "eval_count")
    first = answer.model_copy(update={"done": False, **dict.fromkeys(ends)})
    lines = (json_of(line, exclude_none=True) for line in (first, answer.model_copy(update=empty)))
    return Response(b"\n".join(lines) + b"\n", media_type=LINES)
