"""What the tools return, and that a language model can tell from their schemas how to call them."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.client.client import Client

from server.text.checks.flags import find_flags
from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer
from tests.server.api.mcp.conftest import CALL, ERAS, call, post, text_of, with_client

TOOLS = {"translate", "translate_document", "score", "list_languages"}


@pytest.fixture(scope="module")
def schemas(server: RunningServer) -> dict[str, dict[str, Any]]:
    """Tool -> the schema of its arguments."""
    listed = with_client(server, Client.list_tools)
    return {tool.name: tool.input_schema for tool in listed.tools}


@pytest.mark.parametrize("era", ERAS)
def test_each_tool_does_what_its_route_does(server: RunningServer, era: str) -> None:
    async def use(client: Client) -> list[Any]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("translate", {"text": list(SENTENCES[:3]), "target": "de", "source": "en", "alternatives": 2}),
            ("translate_document", {"text": " ".join(SENTENCES[:3]), "target": "de", "source": "en"}),
            ("score", {"text": "Yes.", "translation": ["Ja.", "Nein."], "source": "en", "target": "de"}),
            ("list_languages", {}),
        ]
        results = [await client.call_tool(name, arguments) for name, arguments in calls]
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        assert [result.is_error for result in results] == [False] * 4
        assert [json.loads(text_of(result)) for result in results] == [result.structured_content for result in results]
        return [result.structured_content for result in results]

    texts, document, scores, languages = with_client(server, use, era)
    native = server.translate(list(SENTENCES[:3]), num_hypotheses=3, beam_size=4).json()["translations"]
    assert [item["text"] for item in texts["translations"]] == [item["text"] for item in native]
    assert [item["flags"] for item in texts["translations"]] == [item["flags"] for item in native]
    for item, answered in zip(texts["translations"], native, strict=True):
        others = dict.fromkeys(hypothesis["text"] for hypothesis in answered["hypotheses"])
        assert item["alternatives"] == [text for text in others if text != item["text"]]
    assert len(document["translations"]) == 1
    assert document["sentences"] == 3
    body = {"items": {"source": "Yes.", "target": ["Ja.", "Nein."]}, "source": "en", "target": "de"}
    with server.client() as http:
        [scored] = http.post("/v1/score", json=body).json()["items"]
    assert scores["best"] == scored["best"]
    assert [item["score"] for item in scores["scores"]] == pytest.approx([item["score"] for item in scored["targets"]])
    assert languages == {"languages": [{"code": "en", "name": "English", "targets": ["de"]}]}


def test_a_document_is_translated_in_context_and_says_what_looks_wrong(document_server: RunningServer) -> None:
    texts = [SENTENCES[0], "It is broken, all 12 of it.\n", "", SENTENCES[1]]
    result = call(document_server, "translate_document", text=texts, target="de", source="en").structured_content
    with document_server.client() as http:
        document = {"text": "\x1e".join(texts), "source": "en", "target": "de", "wait": True}
        whole = http.post("/v1/documents", json=document).json()
        assert result["translations"] == http.get(f"/v1/documents/{whole['id']}/result").text.split("\x1e")
    flagged = {item["source"]: set(item["flags"]) for item in result["check"]}
    assert flagged, "translations of a random model look wrong"
    for sentence in whole["sentences"]:
        seen = find_flags(sentence["source"], sentence["translation"], ("en", "de"))
        assert flagged.get(sentence["source"], set()) - {"cut", "truncated"} == set(seen)
    assert result["sentences"] == len(whole["sentences"])


def test_terms_markup_and_a_detected_language(server: RunningServer) -> None:
    text = "<p>We walk home in the <b>rain</b>.</p>"
    arguments = {"text": text, "target": "de", "format": "html", "glossary": {"rain": "Schauer"}, "keep": ["home"]}
    [item] = call(server, "translate", **arguments).structured_content["translations"]
    assert item["source"] == "en"
    assert item["text"].startswith("<p>")
    assert "Schauer" in item["text"]
    assert "home" in item["text"]
    document = call(server, "translate_document", text=text, target="de", source="en", glossary={"rain": "Schauer"})
    assert "Schauer" in document.structured_content["translations"][0]
    [same] = call(server, "translate", text="Das ist ein Haus.", target="de").structured_content["translations"]
    assert (same["text"], same["source"]) == ("Das ist ein Haus.", "de")


@pytest.mark.parametrize(
    ("name", "arguments", "advice"),
    [
        ("translate", {"text": "Yes."}, "target: Field required"),
        ("translate", {"text": "Yes.", "target": "xx"}, "xx is not supported; this server translates en to de"),
        ("translate", {"text": "Yes.", "target": "de", "source": "zz"}, "this server translates en to de"),
        ("translate", {"text": "Yes.", "target": "de", "sorce": "en"}, "did you mean 'source'?"),
        ("translate", {"text": "a" * 20_001, "target": "de"}, "text 0 has 20001 characters, at most 20000"),
        ("translate", {"text": ["a"] * 51, "target": "de"}, "51 texts, at most 50"),
        ("translate", {"text": "Yes.", "target": "de", "alternatives": 4}, "alternatives: at most 3"),
        ("translate", {"text": "Yes.", "target": "de", "alternatives": "2"}, "alternatives: should be a valid integer"),
        ("translate", {"text": "Yes.", "target": "de", "keep": ["a"], "glossary": {"a": "b"}}, "in the glossary, too"),
        ("translate_document", {"text": [""] * 4000, "target": "de"}, "4000 texts, at most 3500"),
        ("score", {"text": "Yes.", "translation": [], "source": "en", "target": "de"}, "at least"),
        (
            "score",
            {"text": "Yes.", "translation": "Ja.", "source": "auto", "target": "de"},
            "needs the language's code",
        ),
        ("list_languages", {"all": True}, "unknown field 'all'"),
    ],
)
def test_errors_are_results_that_say_what_to_do(
    server: RunningServer, name: str, arguments: dict[str, Any], advice: str
) -> None:
    result = post(server, CALL | {"params": {"name": name, "arguments": arguments}}).json()["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert advice in result["content"][0]["text"]


def test_null_stands_for_the_default(server: RunningServer) -> None:
    nulls = {"source": None, "alternatives": None, "glossary": None, "keep": None, "format": None}
    assert not call(server, "translate", text="Yes.", target="de", **nulls).is_error


def test_schemas_are_tight_and_explained(schemas: dict[str, dict[str, Any]]) -> None:
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        for field in schema["properties"].values():
            assert len(field["description"]) > 20
            assert "null" not in json.dumps(field)
            for example in field.get("examples", []):
                jsonschema.validate(example, field)
            for part in (field, *field.get("anyOf", [])):
                text = part.get("items", part)
                assert text.get("type") != "string" or "maxLength" in text or "enum" in text
                assert part.get("type") != "array" or "maxItems" in part
    assert "Served: de." in schemas["translate"]["properties"]["target"]["description"]
    assert "Served: en." in schemas["score"]["properties"]["source"]["description"]


WORDS = st.sampled_from(["Yes.", "", "a" * 20_001])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.one_of(WORDS, st.lists(WORDS, max_size=2), st.integers()),
    "target": st.sampled_from(["de", "", "d" * 40, 3]),
    "source": st.sampled_from(["en", "auto", True]),
    "alternatives": st.sampled_from([0, 3, 4, -1, "1", 1.5]),
    "format": st.sampled_from(["text", "html", "pdf"]),
    "glossary": st.sampled_from([{}, {"Yes": "Ja"}, {"a": 1}, []]),
    "other": st.just(1),
}
REQUIRED = ("text", "target")


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.data())
def test_the_schema_says_which_arguments_are_refused(
    server: RunningServer, schemas: dict[str, dict[str, Any]], data: st.DataObject
) -> None:
    """One argument at a time is drawn, so that both outcomes are frequent."""
    name = data.draw(st.sampled_from(sorted(VALUES)))
    arguments = {"text": "Yes.", "target": "de", "source": "en"} | {name: data.draw(VALUES[name])}
    is_valid = jsonschema.Draft202012Validator(schemas["translate"]).is_valid(arguments)
    answer = post(server, CALL | {"params": {"name": "translate", "arguments": arguments}}).json()
    assert answer["result"]["isError"] is not is_valid, arguments
