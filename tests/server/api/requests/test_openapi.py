"""The OpenAPI document: valid, whole, and with the statuses that each operation answers with, no more and no less."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from server.api.requests.errors import TABLE
from tests.server.api.conftest import RunningServer

DOOR = {401, 403, 429, 422, 500, 503, 504}
BODY = {400, 413, 415}
LIBRE = {400, 403, 429, 500, 503, 504}
DEEPL = {400, 403, 429, 500, 503, 504}
CLIENTS = {400, 401, 403, 413, 429, 500, 503, 504}
"""Of the adapters."""
DOCUMENT = "/v1/documents/{document_id}"
OPERATIONS: dict[tuple[str, str], set[int]] = {
    ("/v1/translate", "post"): {200, 404, 429} | DOOR | BODY,
    ("/v1/score", "post"): {200, 429} | DOOR | BODY,
    ("/v1/files", "post"): {200, 202, 404, 429} | DOOR | BODY,
    ("/v1/files/{file_id}", "get"): {200, 404} | DOOR,
    ("/v1/files/{file_id}/result", "get"): {200, 404, 409} | DOOR | BODY,
    ("/v1/documents", "post"): {200, 202, 404, 429} | DOOR | BODY,
    (DOCUMENT, "get"): {200, 404, 409} | DOOR,
    (DOCUMENT, "delete"): {204, 404} | DOOR,
    (DOCUMENT + "/events", "get"): {200, 204, 404, 409} | DOOR,
    (DOCUMENT + "/result", "get"): {200, 404, 409} | DOOR,
    (DOCUMENT + "/sentences", "post"): {200, 404, 409, 429} | DOOR | BODY,
    (DOCUMENT + "/sentences/{index}", "put"): {200, 202, 404, 409, 429} | DOOR | BODY,
    (DOCUMENT + "/sentences/{index}/context", "get"): {200, 404, 409, 429} | DOOR,
    ("/v1/models", "get"): {200} | DOOR,
    ("/v1/models/{name}", "put"): {200, 201, 404} | DOOR,
    ("/v1/models/{name}", "delete"): {204, 404, 409} | DOOR,
    ("/v1/languages", "get"): {200} | DOOR,
    ("/v1/keys", "get"): {200} | DOOR,
    ("/v1/keys", "post"): {201, 409} | DOOR | BODY,
    ("/v1/keys/{name}", "delete"): {204, 404, 409} | DOOR,
    ("/v1/keys/{name}", "patch"): {200, 404, 409} | DOOR | BODY,
    ("/v1/keys/{name}/rotate", "post"): {200, 404, 409} | DOOR | BODY,
    ("/v1/usage", "get"): {200} | DOOR,
    ("/translate", "post"): {200, 404} | LIBRE,
    ("/suggest", "post"): {200} | LIBRE,
    ("/detect", "post"): {200} | LIBRE,
    ("/languages", "get"): {200} | LIBRE,
    ("/languages", "post"): {200} | LIBRE,
    ("/translate_file", "post"): {200, 202, 404} | LIBRE,
    ("/download_file/{name}", "get"): {200, 404} | LIBRE,
    ("/frontend/settings", "get"): {200} | LIBRE,
    ("/health", "get"): {200, 503},
    ("/v1/chat/completions", "post"): {200, 400, 401, 403, 404, 429, 500, 503, 504},
    ("/v2/translate", "post"): {200, 404, 413, 429, 456} | DEEPL,
    ("/v2/languages", "get"): {200, 413} | DEEPL,
    ("/v2/usage", "get"): {200, 413} | DEEPL,
    ("/v2/document", "post"): {200, 404, 413, 429, 456} | DEEPL,
    ("/v2/document/{upload_id}", "post"): {200, 404, 413} | DEEPL,
    ("/v2/document/{upload_id}/result", "post"): {200, 404, 413} | DEEPL,
    ("/v2/glossary-language-pairs", "get"): {200, 413} | DEEPL,
    ("/v2/glossaries", "post"): {201, 413, 456} | DEEPL,
    ("/v2/glossaries", "get"): {200, 413} | DEEPL,
    ("/v2/glossaries/{glossary_id}", "get"): {200, 404, 413} | DEEPL,
    ("/v2/glossaries/{glossary_id}", "delete"): {204, 404, 413} | DEEPL,
    ("/v2/glossaries/{glossary_id}/entries", "get"): {200, 404, 413} | DEEPL,
    ("/v3/glossaries", "post"): {201, 413, 456} | DEEPL,
    ("/v3/glossaries", "get"): {200, 413} | DEEPL,
    ("/v3/glossaries/{glossary_id}", "get"): {200, 404, 413} | DEEPL,
    ("/v3/glossaries/{glossary_id}", "patch"): {200, 404, 413, 456} | DEEPL,
    ("/v3/glossaries/{glossary_id}", "delete"): {204, 404, 413} | DEEPL,
    ("/v3/glossaries/{glossary_id}/entries", "get"): {200, 404, 413} | DEEPL,
    ("/v3/glossaries/{glossary_id}/dictionaries", "put"): {200, 404, 413, 456} | DEEPL,
    ("/v3/glossaries/{glossary_id}/dictionaries", "delete"): {204, 404, 413} | DEEPL,
    ("/deeplx/translate", "post"): {200} | CLIENTS,
    ("/imme", "post"): {200} | CLIENTS,
    ("/kiss", "post"): {200} | CLIENTS,
    ("/mtran/translate", "post"): {200} | CLIENTS,
    ("/mtran/translate/batch", "post"): {200} | CLIENTS,
    ("/nllb/translate", "post"): {200} | CLIENTS,
    ("/nllb/translator", "post"): {200} | CLIENTS,
    ("/nllb/api/v4/translator", "get"): {200} | CLIENTS,
    ("/translate", "get"): {200} | CLIENTS,
    ("/listPairs", "get"): {200} | CLIENTS,
    ("/api/translate/content", "post"): {200} | CLIENTS,
    ("/api/generate", "post"): {200, 404} | CLIENTS,
    ("/api/chat", "post"): {200, 404} | CLIENTS,
    ("/api/tags", "get"): {200} | CLIENTS,
    ("/v1/documents", "get"): {200} | DOOR,
    ("/v1/glossaries", "get"): {200} | DOOR,
    ("/v1/glossaries/{glossary_id}", "delete"): {204, 404} | DOOR,
    ("/v1/translation_memories", "post"): {201, 400, 413, 415} | DOOR,
    ("/v1/translation_memories", "get"): {200} | DOOR,
    ("/v1/translation_memories/{memory_id}", "get"): {200, 404} | DOOR,
    ("/v1/translation_memories/{memory_id}", "delete"): {204, 404} | DOOR,
    ("/v1/translation_memories/{memory_id}/entries", "post"): {200, 400, 404, 413, 415} | DOOR,
    ("/v1/translation_memories/{memory_id}/entries", "get"): {200, 404} | DOOR,
    ("/v1/translation_memories/{memory_id}/entries/{entry_id}", "delete"): {204, 404} | DOOR,
    ("/v1/translation_memories/{memory_id}/import", "post"): {200, 400, 404, 413, 415} | DOOR,
    ("/v1/translation_memories/{memory_id}/export", "get"): {200, 404} | DOOR,
    ("/v3/translation_memories", "get"): {200, 413} | DEEPL,
    ("/v3/translation_memories/{memory_id}", "get"): {200, 404, 413} | DEEPL,
    ("/v3/translation_memories/{memory_id}", "delete"): {204, 404, 413} | DEEPL,
    ("/v3/translation_memories/{memory_id}/segments", "get"): {200, 404, 413} | DEEPL,
    ("/livez", "get"): {200, 503},
    ("/readyz", "get"): {200, 503},
    ("/metrics", "get"): {200},
    ("/", "get"): {200},
}


@pytest.fixture(scope="module")
def document(server: RunningServer) -> dict[str, Any]:
    results: dict[str, Any] = httpx.get(f"{server.url}/openapi.json").json()
    return results


def native(document: dict[str, Any]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield (path, method), operation


def test_it_is_valid_and_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []
    result = set(references(document))
    assert "#/components/schemas/TranslateRequest" in result
    assert [reference for reference in result if not leads_somewhere(document, reference)] == []


def leads_somewhere(document: dict[str, Any], reference: str) -> bool:
    place: Any = document
    for part in reference.removeprefix("#/").split("/"):
        if part not in place:
            return False
        place = place[part]
    return True


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_every_operation_has_the_statuses_that_occur(document: dict[str, Any]) -> None:
    declared = {key: {int(status) for status in item["responses"]} for key, item in native(document)}
    assert declared == OPERATIONS


def test_every_parameter_is_named(document: dict[str, Any]) -> None:
    named = {
        key: {parameter["name"] for parameter in operation.get("parameters", [])} for key, operation in native(document)
    }
    assert named[DOCUMENT, "get"] == {"document_id", "explain", "first", "limit"}
    assert named[DOCUMENT + "/sentences", "post"] == {"document_id", "explain"}
    assert named[DOCUMENT + "/sentences/{index}", "put"] == {"document_id", "index", "retranslate"}
    assert named["/v1/translate", "post"] == set()


def test_a_kind_of_error_is_a_status() -> None:
    """But two are 429: to come back in seconds, and on another day."""
    statuses = Counter(row.status for row in TABLE.values())
    assert {status for status, count in statuses.items() if count > 1} == {429}
    assert {kind for kind, row in TABLE.items() if row.status == 429} == {"overloaded", "quota_exceeded"}


def test_bodies_are_described(document: dict[str, Any]) -> None:
    schema = document["components"]["schemas"]["TranslateRequest"]
    options = "beam_size num_hypotheses length_penalty max_length target_prefix glossary keep context alignment timeout"
    options += " translation_memory_id translation_memory_threshold formality"
    assert set(schema["properties"]) == {"text", "source", "target", "model", "stream", "pieces", *options.split()}
    assert schema["additionalProperties"] is False


def test_the_page_loads_nothing_from_elsewhere(server: RunningServer) -> None:
    with server.client() as client:
        page = client.get("/docs")
        assert page.headers["content-type"].startswith("text/html")
        assert "http://" not in page.text
        assert "https://" not in page.text
        for name, kind in (("swagger-ui-bundle.js", "text/javascript"), ("swagger-ui.css", "text/css")):
            assert f"/docs/{name}" in page.text
            asset = client.get(f"/docs/{name}")
            assert asset.headers["content-type"].startswith(kind)
            assert len(asset.content) > 100_000


def test_allow_names_every_method_of_the_path(server: RunningServer) -> None:
    with server.client() as client:
        response = client.patch("/v1/documents/nothing")
        assert (response.status_code, response.headers["Allow"]) == (405, "DELETE, GET, HEAD")
        assert client.put("/v1/translate").headers["Allow"] == "POST"
        assert client.get("/v1/elsewhere").status_code == 404


@pytest.mark.parametrize(
    ("path", "method", "statuses", "model"),
    [
        ("/v1/translate", "post", [200], "TranslateResponse"),
        ("/v1/score", "post", [200], "ScoreResponse"),
        ("/v1/documents", "post", [200, 202], "DocumentAnswer"),
        ("/v1/documents", "get", [200], "DocumentList"),
        (DOCUMENT, "get", [200], "DocumentAnswer"),
        (DOCUMENT + "/sentences", "post", [200], "AppendAnswer"),
        (DOCUMENT + "/sentences/{index}", "put", [200, 202], "CorrectionAnswer"),
        (DOCUMENT + "/sentences/{index}/context", "get", [200], "ContextAnswer"),
        ("/v1/glossaries", "get", [200], "GlossaryList"),
        ("/v1/translation_memories", "get", [200], "MemoryList"),
        ("/v1/translation_memories/{memory_id}/entries", "get", [200], "EntryList"),
        ("/translate", "post", [200], "LibreTranslation"),
        ("/v2/translate", "post", [200], "DeepLTranslations"),
        ("/v2/glossaries", "get", [200], "DeepLGlossaries"),
        ("/v3/glossaries", "get", [200], "DeepLAllDictionaries"),
        ("/v3/glossaries/{glossary_id}/entries", "get", [200], "DeepLAllEntries"),
        ("/v3/translation_memories/{memory_id}/segments", "get", [200], "DeepLSegments"),
    ],
)
def test_answers_that_routes_write_themselves_have_their_schema(
    server: RunningServer, path: str, method: str, statuses: list[int], model: str
) -> None:
    with server.client() as client:
        responses = client.get("/openapi.json").json()["paths"][path][method]["responses"]
    schema = {"$ref": f"#/components/schemas/{model}"}
    assert [responses[str(statuse)]["content"]["application/json"]["schema"] for statuse in statuses] == [schema] * len(
        statuses
    )
