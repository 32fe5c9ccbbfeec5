"""OpenAI's chat API, called by its own client and with the requests of translation tools."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from server.settings import EngineSettings
from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.libretranslate.test_routes import GERMAN, TEXT, direct
from tests.server.api.serving.test_lifecycle import MANY_SENTENCES

FIRST, SECOND = "Where is the station?", "She sells bread and milk."
MANY = " ".join(
    f"{who} sells bread {what}."
    for who in ("She", "He")
    for what in ["and milk", "to us", "here", "now", "today", "in the rain"]
)
"""Twelve sentences."""
WEBLATE_SEPARATOR = "\n==WEBLATE_PART==\n"


@pytest.fixture(scope="module")
def client(server: RunningServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client:
        yield client


def ask(client: OpenAI, text: str, model: str = "en-de") -> str:
    answer = client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


@pytest.mark.parametrize(
    "model", ["en-de", "EN-DE", "ringmt-en-de", "ringmt/en-de", "tiny", "auto-de", "en-US-de-AT", "eng_Latn-deu_Latn"]
)
def test_the_model_names_the_languages(client: OpenAI, server: RunningServer, model: str) -> None:
    [only] = server.state.translators
    assert ask(client, TEXT, only if model == "tiny" else model) == direct(server, TEXT)


def test_an_answer(client: OpenAI, server: RunningServer) -> None:
    """The last message of the user is translated; nothing else changes the answer."""
    answer = client.chat.completions.create(
        model="auto-de",
        messages=[
            {"role": "system", "content": "You are a pirate."},
            {"role": "user", "content": "Who are you?"},
            {"role": "assistant", "content": "A pirate."},
            {"role": "user", "content": [{"type": "text", "text": FIRST}, {"type": "text", "text": SECOND}]},
        ],
        temperature=1.5,
        max_tokens=1,
        tools=[{"type": "function", "function": {"name": "f"}}],
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
    )
    [choice] = answer.choices
    assert (choice.message.role, choice.message.content) == ("assistant", direct(server, f"{FIRST}\n{SECOND}"))
    assert (choice.finish_reason, answer.object, answer.model) == ("stop", "chat.completion", "auto-de")
    assert answer.usage is not None
    sentences = server.translate([FIRST, SECOND]).json()["translations"]
    assert answer.usage.completion_tokens == sum(item["sentences"][0]["num_tokens"] for item in sentences)
    assert answer.usage.prompt_tokens >= 2
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert ask(client, GERMAN, "auto-de") == GERMAN
    assert ask(client, "") == ""


def test_the_languages_may_be_in_the_message(server: RunningServer) -> None:
    """As clients of TranslateGemma write them."""
    part = {"type": "text", "source_lang_code": "en", "target_lang_code": "de-DE", "text": FIRST}
    body = {"model": "translategemma-4b-it", "messages": [{"role": "user", "content": [part]}]}
    with server.client() as http:
        answer = http.post("/v1/chat/completions", json=body).json()
        part["target_lang_code"] = "zz"
        refused = http.post("/v1/chat/completions", json=body)
    assert answer["choices"][0]["message"]["content"] == direct(server, FIRST)
    assert (refused.status_code, refused.json()["error"]["message"]) == (400, "zz is not supported")


@pytest.mark.parametrize(
    "text",
    [
        FIRST,
        MANY,
        f"  {TEXT}\n\n{SECOND} {FIRST}\n",
        f"{FIRST} Go to https://example.org/a?b=c now. {SECOND}",
        f"{FIRST}{WEBLATE_SEPARATOR}{SECOND}{WEBLATE_SEPARATOR}Yes @@PH1@@, [X0X].",
        f"%%\n{FIRST}\n%%\n\n",
        f'["{FIRST}", "{SECOND}"]',
        "12 + 3",
        "",
    ],
)
def test_a_stream_is_the_answer_in_parts(client: OpenAI, text: str) -> None:
    chunks = list(
        client.chat.completions.create(
            model="en-de", messages=[{"role": "user", "content": text}], stream=True,
            stream_options={"include_usage": True},
        )
    )  # fmt: skip
    parts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(parts) == ask(client, text)
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    if text == MANY:
        # Four parts come where the server reads nothing of the engine until all sentences are done.
        assert len([part for part in parts if part]) > 2


def test_models_are_listed(client: OpenAI, server: RunningServer) -> None:
    names = [model.id for model in client.models.list()]
    assert set(names) >= {"en-de", "auto-de", *server.state.translators}
    for name in names:
        assert ask(client, "Yes.", name) == direct(server, "Yes.")


def test_weblate(client: OpenAI, server: RunningServer) -> None:
    """Its models are looked up, its texts are joined by a line, its placeholders stay."""
    assert "en-de" in {model.id for model in client.models.list()}
    texts = [FIRST, "Yes.", f"{SECOND} [X12X]"]
    answer = client.chat.completions.create(
        model="en-de",
        messages=[
            {"role": "system", "content": "You are a highly skilled translation assistant."},
            {"role": "user", "content": WEBLATE_SEPARATOR.join(texts)},
        ],
        temperature=0,
        frequency_penalty=0,
        presence_penalty=0,
    )
    translations = (answer.choices[0].message.content or "").split(WEBLATE_SEPARATOR)
    assert translations[:2] == [direct(server, text) for text in texts[:2]]
    assert translations[2].count("[X12X]") == 1
    strings = [{"source": FIRST, "context": "menu"}, {"source": "Yes @@PH1@@, no @@PH23@@."}]
    payload: dict[str, Any] = {"source_language": "en", "target_language": "de", "glossary": [], "strings": strings}
    newer = json.loads(ask(client, json.dumps(payload)))
    assert newer[0] == direct(server, FIRST)
    assert (newer[1].count("@@PH1@@"), newer[1].count("@@PH23@@")) == (1, 1)
    payload["glossary"] = [{"source": "station", "target": "Haltestelle", "flags": ["terminology"]}]
    assert "Haltestelle" in json.loads(ask(client, json.dumps(payload)))[0]
    payload["glossary"] = [{"source": f"a{number}", "target": "b"} for number in range(5001)]
    with pytest.raises(openai.BadRequestError, match="glossary"):
        ask(client, json.dumps(payload))


def test_bazarr(server: RunningServer) -> None:
    """A JSON array of cues is answered as an array; the answer must have ended by itself."""
    cues = [FIRST, "She sells bread\\Nand milk.", "Yes.\nNo."]
    body = {
        "model": "en-de",
        "messages": [
            {"role": "system", "content": "Translate subtitle cues from English to German. Return only a JSON array."},
            {"role": "user", "content": json.dumps(cues, ensure_ascii=False)},
        ],
        "temperature": 0.1,
        "max_tokens": 512,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    with server.client() as http:
        [choice] = http.post("/v1/chat/completions", json=body, headers={"Authorization": "Bearer x"}).json()["choices"]
    assert choice["finish_reason"] == "stop"
    expected = [direct(server, cue.replace("\\N", "\n")) for cue in cues]
    assert json.loads(choice["message"]["content"]) == [expected[0], expected[1].replace("\n", "\\N"), expected[2]]


@pytest.mark.parametrize("structured", [True, False])
def test_lingarr(server: RunningServer, structured: bool) -> None:
    """Cues with their positions, in an object where the answer's format is said, else in an array."""
    cues = [{"position": 7, "line": FIRST}, {"position": 8, "line": SECOND}]
    messages = [{"role": "system", "content": "Translate."}, {"role": "user", "content": json.dumps(cues)}]
    body: dict[str, Any] = {"model": "en-de", "messages": messages}
    if structured:
        schema = {"name": "batch_translation_response", "strict": True, "schema": {"type": "object"}}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    with server.client() as http:
        content = http.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    answered = json.loads(content)
    expected = [{**cue, "line": direct(server, str(cue["line"]))} for cue in cues]
    assert answered == ({"translations": expected} if structured else expected)


SUBTITLE_EDIT = (
    "Translate from English to German, keep punctuation as input, do not censor the translation, "
    "give only the output without comments:"
)
PDF_MATH_TRANSLATE = (
    "Translate the following markdown source text to de. Keep the formula notation {v*} unchanged. "
    "Output translation directly without any additional text.\nSource Text: %s\nTranslated Text:"
)


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        (f"{SUBTITLE_EDIT}\n\n", "Where is\nthe station?", ""),
        ("Translate to German (output translation only):\n\n", f"{FIRST}\n%%\n{SECOND}", ""),
        (*PDF_MATH_TRANSLATE.split("%s")[:1], "Where is {v1}?\n\nThere.", PDF_MATH_TRANSLATE.split("%s")[1]),
    ],
)
def test_clients_that_write_instructions_before_the_text(
    client: OpenAI, server: RunningServer, before: str, text: str, after: str
) -> None:
    expected = "\n%%\n".join(direct(server, part) for part in text.split("\n%%\n"))
    assert ask(client, before + text + after) == expected


@pytest.mark.parametrize(
    ("change", "kind", "param", "code"),
    [
        ({"model": "gpt-4o-mini"}, openai.NotFoundError, "model", "model_not_found"),
        ({"model": "en-zz"}, openai.NotFoundError, "model", "model_not_found"),
        ({"model": "a" * 5000}, openai.NotFoundError, "model", "model_not_found"),
        ({"messages": []}, openai.BadRequestError, "messages", None),
        ({"messages": [{"role": "system", "content": "a"}]}, openai.BadRequestError, "messages", None),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, openai.BadRequestError, "messages", None),
        ({"messages": [{"role": "user", "content": "a" * 20_001}]}, openai.BadRequestError, "messages",
         "context_length_exceeded"),
        ({"n": 2}, openai.BadRequestError, "n", None),
    ],
)  # fmt: skip
def test_errors(
    client: OpenAI, change: dict[str, Any], kind: type[openai.APIStatusError], param: str, code: str | None
) -> None:
    body: dict[str, Any] = {"model": "en-de", "messages": [{"role": "user", "content": "Yes."}], **change}
    with pytest.raises(kind) as caught:
        client.chat.completions.create(**body)
    assert (caught.value.param, caught.value.code, caught.value.type) == (param, code, "invalid_request_error")


def test_keys(tiny_artifact: Path) -> None:
    secret, line = new_key("tool", ["translate"])
    with ready(settings_for(tiny_artifact, api_keys=line)) as server:
        with OpenAI(base_url=f"{server.url}/v1", api_key=secret, max_retries=0) as known:
            assert ask(known, "Yes.")
            assert known.models.list().data
        unknown = OpenAI(base_url=f"{server.url}/v1", api_key="no", max_retries=0)
        with unknown, pytest.raises(openai.AuthenticationError) as caught:
            ask(unknown, "Yes.")
    assert caught.value.code == "invalid_api_key"


def test_a_stream_that_fails_says_so(tiny_artifact: Path) -> None:
    one_at_a_time = EngineSettings(slots=1, num_workers=1, precision="fp32", shortlist="off", translation_cache_bytes=0)
    with ready(settings_for(tiny_artifact, one_at_a_time, request_timeout=1.5)) as server:
        client = OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)
        messages: Any = [{"role": "user", "content": MANY_SENTENCES}]
        stream = client.chat.completions.create(model="en-de", messages=messages, stream=True)
        with client, stream, pytest.raises(openai.APIError, match="request_timeout"):
            list(stream)
        until(lambda: server.sentences == 0, "every slot is free")


def test_two_models(many: RunningServer) -> None:
    """Through a third language, as a stream too; the pair is listed."""
    with OpenAI(base_url=f"{many.url}/v1", api_key="any", max_retries=0) as client:
        assert "de-fr" in {model.id for model in client.models.list()}
        whole = ask(client, GERMAN, "de-fr")
        stream = client.chat.completions.create(
            model="de-fr", messages=[{"role": "user", "content": GERMAN}], stream=True
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == whole
    with many.client() as http:
        body = {"text": GERMAN, "source": "de", "target": "fr"}
        assert http.post("/v1/translate", json=body).json()["translations"][0]["text"] == whole


def test_unknown_paths_have_the_errors_of_the_api(server: RunningServer) -> None:
    answer = httpx.get(f"{server.url}/v1/chat/nothing")
    assert (answer.status_code, set(answer.json()["error"])) == (404, {"message", "type", "param", "code"})


def test_a_sentence_that_was_cut_is_told(client: OpenAI, server: RunningServer) -> None:
    """In a text, not in a list, which is whole."""
    endless = "No."
    [translation] = server.translate([endless]).json()["translations"]
    assert translation["sentences"][0]["finish_reason"] == "length"
    for text, reason in ((f"%%\n{endless}", "length"), (json.dumps([FIRST, endless]), "stop"), (FIRST, "stop")):
        answer = client.chat.completions.create(model="en-de", messages=[{"role": "user", "content": text}])
        assert answer.choices[0].finish_reason == reason
