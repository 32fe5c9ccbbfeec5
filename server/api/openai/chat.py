"""`POST /v1/chat/completions`."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Request, Response

from server.api.admission.admitted_request import Admitted, AdmittedRequest
from server.api.admission.plain_translation import translate_texts
from server.api.admission.server_sent_events import EventStream, error_data
from server.api.admission.text_languages import TextLanguages, languages_of
from server.api.openai.content import Content, content_of
from server.api.openai.route import OPENAI, OpenAIRoute
from server.api.openai.schemas import IGNORED, ChatCompletion, ChatRequest, Choice, Reply, TextPart, Usage, parts_of
from server.api.openai.streaming import ChunkWriter, streamed, whole
from server.api.requests.errors import ADMISSION, BODY, QUOTA, ApiError, documented
from server.api.requests.json_response import written_whole
from server.api.requests.limits import check_sizes, requested_options
from server.api.serving.model_names import NamedPair, pair_named
from server.api.serving.routing import OneModel
from server.runtime.offload import offload_above
from server.translation.assembly import TextTranslation
from server.translation.planning import TextRequest
from server.translation.streaming import TranslationStream

PATH = "/v1/chat/completions"
EVENTS = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "With `stream`: events whose data is a chunk as JSON; the last is [DONE].",
            "properties": {"data": {"type": "string"}},
            "required": ["data"],
        }
    }
}

router = APIRouter(tags=["OpenAI"], route_class=OpenAIRoute.requiring("translate"))


@dataclass(frozen=True)
class Conversation:
    """What a request says is to be translated."""

    content: Content
    languages: TextLanguages
    pair: NamedPair


@router.post(
    PATH,
    summary="Translate the last message of a conversation",
    description=IGNORED,
    response_model=ChatCompletion,
    responses={200: {"content": EVENTS}, **documented(*ADMISSION, *BODY, *QUOTA, "not_found", dialect=OPENAI)},
)
async def chat(body: ChatRequest, admitted: Admitted, request: Request) -> Response:
    conversation = await _conversation(body, admitted)
    content, answer_id = conversation.content, f"chatcmpl-{request.state.request_id}"
    if body.stream:
        usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        return await _stream(conversation, ChunkWriter(answer_id, int(time.time()), body.model, usage), admitted)
    translations = await translate_texts(
        admitted,
        content.texts,
        conversation.languages,
        model=conversation.pair.model,
        terms=await content.read_terms(),
    )
    num_chars = sum(map(len, content.texts))
    return await offload_above(num_chars, _completion, content, translations, answer_id, body.model)


async def _conversation(body: ChatRequest, admitted: AdmittedRequest) -> Conversation:
    """Raises ApiError."""
    state = admitted.state
    part = _last_part(body)
    pair = _pair(part, body.model, admitted)
    in_object = body.response_format is not None and body.response_format.type != "text"
    content = await offload_above(len(part.text), content_of, part.text, in_object)
    check_sizes(content.texts, state.settings, "messages")
    return Conversation(content, await languages_of(state, content.texts, pair.source, pair.target), pair)


def _last_part(body: ChatRequest) -> TextPart:
    """The last message of the user, as one text. Raises ApiError."""
    message = next((message for message in reversed(body.messages) if message.role == "user"), None)
    parts = [] if message is None else parts_of(message.content)
    if not parts:
        raise ApiError("invalid_value", "messages: no message of the role 'user' has a text", "messages")
    named = next((part for part in parts if part.target_lang_code is not None), parts[0])
    return named.model_copy(update={"text": "\n".join(part.text for part in parts)})


def _pair(part: TextPart, model: str, admitted: AdmittedRequest) -> NamedPair:
    """The languages of the message itself, else those of the model's name. Raises ApiError."""
    if part.target_lang_code is not None:
        return NamedPair(part.source_lang_code, part.target_lang_code)
    return pair_named(model, admitted.state.translators, admitted.state.routes)


def _completion(content: Content, translations: list[TextTranslation], answer_id: str, model: str) -> Response:
    text = content.write([translation.text for translation in translations])
    choice = Choice(message=Reply(content=text), finish_reason=finish_reason_of(content, translations))
    answer = ChatCompletion(
        id=answer_id, created=int(time.time()), model=model, choices=[choice], usage=usage_of(translations)
    )
    return written_whole(answer)


def finish_reason_of(content: Content, translations: Iterable[TextTranslation]) -> Literal["stop", "length"]:
    """The reason "length" says that a sentence ended at the maximum length. A list in JSON never has it: it is whole,
    and clients would throw all of it away."""
    if content.literals is None:
        return "stop"
    sentences = (sentence for translation in translations for sentence in translation.sentences)
    return "length" if any(sentence.finish_reason == "length" for sentence in sentences) else "stop"


def usage_of(translations: Iterable[TextTranslation]) -> Usage:
    """The tokens of all sentences, as the models read and wrote them."""
    sentences = [sentence for translation in translations for sentence in translation.sentences]
    read = sum(sentence.num_source_tokens for sentence in sentences)
    wrote = sum(sentence.num_tokens for sentence in sentences)
    return Usage(prompt_tokens=read, completion_tokens=wrote, total_tokens=read + wrote)


async def _stream(conversation: Conversation, writer: ChunkWriter, admitted: AdmittedRequest) -> Response:
    """A stream of what one model translates; where two do, or a list in JSON is answered, all of it in one chunk."""
    content, languages, model = conversation.content, conversation.languages, conversation.pair.model
    sources = {detected.language for detected in languages.sources}
    if content.literals is not None and len(sources) == 1 and languages.target not in sources:
        [source] = sources
        route = await admitted.choose(model, source, languages.target, sum(map(len, content.texts)))
        if isinstance(route, OneModel):
            options = route.model.options(
                **requested_options(route.models, admitted.state.settings), deadline=admitted.deadline
            )
            stream = await TranslationStream.begin(route.model, TextRequest(content.texts, options))
            admitted.on_release(stream.close)
            events = streamed(stream, content, writer, lambda done: (finish_reason_of(content, done), usage_of(done)))
            return EventStream(events, admitted.deadline, _error)
    terms = await content.read_terms()
    translations = await translate_texts(admitted, content.texts, languages, model=model, terms=terms)
    text = content.write([translation.text for translation in translations])
    events = whole(text, writer, finish_reason_of(content, translations), usage_of(translations))
    return EventStream(events, admitted.deadline, _error)


def _error(error: ApiError, request_id: str) -> bytes:
    return error_data(OPENAI, error, request_id)
