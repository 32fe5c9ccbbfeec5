"""`target_prefix` of `POST /v1/translate`."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.native.test_stream import stream
from tests.server.api.native.test_translate import error_of

TEXT = "She sells bread and milk."


def translated(server: RunningServer, text: object = TEXT, **fields: Any) -> list[dict[str, Any]]:
    response = server.translate(text, **fields)
    assert response.status_code == 200, response.text
    translations: list[dict[str, Any]] = response.json()["translations"]
    return translations


@pytest.mark.parametrize("prefix", ["Sie verkauft", "Sie verk", "Sie ", "\u4e16\u754c, ja:", "  x", "a\tb"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_text_begins_with_it(server: RunningServer, prefix: str, beam_size: int) -> None:
    fields = {"beam_size": beam_size, "num_hypotheses": beam_size}
    [translation] = translated(server, target_prefix=prefix, **fields)
    assert translation["text"].startswith(prefix)
    assert translation["sentences"][0]["target"] == translation["text"]
    assert all(hypothese["text"].startswith(prefix) for hypothese in translation["hypotheses"])


def test_every_text_has_its_prefix_and_only_the_first_sentence_begins_with_it(server: RunningServer) -> None:
    texts = ["  Yes. Where is the station?", TEXT, TEXT]
    whole = translated(server, texts, target_prefix=["Ja", "", "Sie"])
    assert whole[0]["text"].startswith("  Ja")
    [free] = translated(server, texts[0])
    assert whole[0]["sentences"][1]["target"] == free["sentences"][1]["target"]
    assert whole[1]["text"] == translated(server)[0]["text"]
    assert whole[2]["text"] == translated(server, target_prefix="Sie")[0]["text"]


def test_a_stream_shows_it_at_once_and_ends_in_the_plain_answer(server: RunningServer) -> None:
    prefix = "Sie verkauft {name"
    events = stream(server, text=TEXT, target_prefix=prefix)
    beginnings = [data["target"] for name, data in events if name == "beginning"]
    assert beginnings
    assert all(target.startswith(prefix) for target in beginnings)
    assert events[-1][1]["translations"][0]["text"] == translated(server, target_prefix=prefix)[0]["text"]


def test_the_cache_keeps_prefixes_apart(tiny_artifact: Path) -> None:
    settings = settings_for(tiny_artifact)
    engine = dataclasses.replace(settings.engine, translation_cache_bytes=10**6)
    with ready(dataclasses.replace(settings, engine=engine)) as server:
        prefixes = ["", "Sie", "Sie verkauft", "Der"]
        first = [translated(server, target_prefix=prefix)[0]["text"] for prefix in prefixes]
        again = [translated(server, target_prefix=prefix)[0]["text"] for prefix in prefixes]
        assert first == again
        assert [text.startswith(prefix) for text, prefix in zip(first, prefixes, strict=True)] == [True] * 4
        assert server.metric("translation_cache_lookups_total", model="tiny", result="hit") == len(prefixes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target_prefix": "ja " * 80}, "target_prefix: that of text 0 has"),
        ({"target_prefix": "ja ja", "max_length": 2}, "at most 1 leave room for what follows"),
        ({"target_prefix": ["a", "b"]}, "target_prefix: must be one for every text: 2 for 1"),
        ({"text": [TEXT, TEXT], "target_prefix": "a"}, "target_prefix: must be one for every text: 1 for 2"),
        ({"text": ["Yes.", "---"], "target_prefix": ["", "a"]}, "target_prefix: text 1 has no sentence"),
        ({"target_prefix": 5}, "string or a list of strings"),
    ],
)
def test_what_cannot_be_is_refused(server: RunningServer, fields: dict[str, Any], message: str) -> None:
    error = error_of(server.translate(**{"text": TEXT, **fields}), 422)
    assert message in error["message"]
    assert message in error_of(server.translate(**{"text": TEXT, "stream": True, **fields}), 422)["message"]


def test_a_prefix_has_the_size_of_a_text_at_most(server: RunningServer) -> None:
    error = error_of(server.translate(TEXT, target_prefix="a" * 20_001), 413)
    assert error["param"] == "target_prefix"
