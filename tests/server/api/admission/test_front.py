"""Who may use a route, what stands in paths and headers, and servers that are not open by mistake."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote
from urllib.request import urlopen

import pytest
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

from server.api import app as application
from server.api.admission.api_route import ApiRoute
from server.api.app import ROUTERS, create_app
from server.api.libretranslate.route import LibreRoute
from server.api.requests.content_disposition import MAX_NAME, attachment, attachment_for_old_clients
from server.cli.serve import allow_open_files, is_loopback
from server.keys.ring import KeyRing
from server.runtime.setting_fields import SettingsError
from server.settings import Settings
from tests.server.api.conftest import RunningServer
from tests.server.processes import serving

SCOPES = {
    "public": """/livez /readyz /metrics /health /spec / /page/{name} /docs /docs/swagger-ui-bundle.js
        /docs/swagger-ui.css /download_file/{name}""",
    "any key": "/v1/models /v1/languages /v1/usage",
    "admin": "/v1/models/{name} /v1/keys /v1/keys/{name} /v1/keys/{name}/rotate",
    "documents": """/v1/documents /v1/documents/{document_id} /v1/documents/{document_id}/events
        /v1/documents/{document_id}/result /v1/documents/{document_id}/sentences
        /v1/documents/{document_id}/sentences/{index:int} /v1/documents/{document_id}/sentences/{index:int}/context""",
    "translate": """/v1/translate /v1/score /v1/files /v1/files/{file_id} /v1/files/{file_id}/result
        /v1/chat/completions /v1/glossaries /v1/glossaries/{glossary_id}
        /v1/translation_memories /v1/translation_memories/{memory_id} /v1/translation_memories/{memory_id}/entries
        /v1/translation_memories/{memory_id}/entries/{entry_id} /v1/translation_memories/{memory_id}/import
        /v1/translation_memories/{memory_id}/export /v3/translation_memories /v3/translation_memories/{memory_id}
        /v3/translation_memories/{memory_id}/segments /suggest
        /translate /detect /languages /translate_file
        /frontend/settings /v2/translate /v2/languages /v2/usage /v2/document
        /v2/document/{upload_id} /v2/document/{upload_id}/result /v2/glossary-language-pairs /v2/glossaries
        /v2/glossaries/{glossary_id} /v2/glossaries/{glossary_id}/entries /v3/glossaries /v3/glossaries/{glossary_id}
        /v3/glossaries/{glossary_id}/entries /v3/glossaries/{glossary_id}/dictionaries
        /deeplx/translate /imme /kiss /mtran/translate /mtran/translate/batch /nllb/translate /nllb/translator
        /nllb/api/v4/translator /listPairs /api/translate/content /api/generate /api/chat /api/tags
        /mcp""",
}
"""Every route, by who may use it: a route that is new or that changes must be written here, too."""


def test_scopes() -> None:
    results: dict[str, set[str]] = {}
    for router in ROUTERS:
        for route in router.routes:
            assert isinstance(route, APIRoute)
            results.setdefault(getattr(route, "access", "nobody said"), set()).add(route.path)
    assert results == {access: set(paths.split()) for access, paths in SCOPES.items()}


async def nothing() -> None:
    """An endpoint."""


@pytest.mark.parametrize("kind", [ApiRoute, LibreRoute])
def test_a_route_without_a_scope_is_none(kind: type[ApiRoute]) -> None:
    router = APIRouter(tags=["translation"], route_class=kind)
    with pytest.raises(TypeError, match=r"/new: a route says who may use it"):
        router.get("/new")(nothing)
    APIRouter(route_class=kind.requiring("admin")).get("/new")(nothing)


def test_a_server_with_a_route_without_a_scope_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = APIRouter(tags=["translation"])
    plain.get("/new")(nothing)
    monkeypatch.setattr(application, "ROUTERS", (*ROUTERS, plain))
    with pytest.raises(TypeError, match=r"/new does not say who may use it"):
        create_app(Settings())


ODD_VALUES = {
    "digits": "9" * 5000,
    "18 digits": "9" * 18,
    "unicode digits": "%D9%A3%D9%A4",
    "superscript": "%C2%B2",
    "sign": "-1",
    "nul": "%00",
    "line break": "%0a",
    "return": "a%0d%0aX-A:%20b",
    "surrogate": "%ed%a0%80",
    "no utf-8": "%ff%fe",
    "long": "a" * 50_000,
    "percent": "%25%25",
    "braces": "%7Bindex%7D",
    "dots": "%2e%2e",
    "slash": "..%2f..%2fetc",
}


@pytest.mark.parametrize("name", ODD_VALUES)
def test_odd_values_in_every_path(server: RunningServer, name: str) -> None:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    with server.client() as client:
        for route in routes:
            parameters = re.findall(r"{[^}]+}", route.path)
            for odd in parameters:
                path = route.path.replace(odd, ODD_VALUES[name])
                for other in parameters:
                    path = path.replace(other, "0")
                for method in route.methods or ():
                    content = None if method in ("GET", "DELETE") else b'{"first_index": ' + b"9" * 40 + b"}"
                    answer = client.request(
                        method, server.url + path, content=content, headers={"Content-Type": "application/json"}
                    )
                    assert 400 <= answer.status_code < 500, (method, path[:100], answer.text)
                    assert len(answer.content) < 2000


def test_odd_numbers_in_bodies(document_server: RunningServer) -> None:
    huge = "9" * 40
    with document_server.client() as client:
        body = {"sentences": ["Yes."], "source": "en", "target": "de", "mode": "online", "wait": True}
        place = f"/v1/documents/{client.post('/v1/documents', json=body).json()['id']}/sentences"
        for method, path, fields in (
            ("POST", place, '"sentences": ["Yes."], "first_index": {}'),
            ("POST", place, '"sentences": ["Yes."], "timeout": {}'),
            ("PUT", place + "/" + "9" * 18, '"source": "Yes.", "timeout": {}'),
            ("POST", "/v1/translate", '"text": "a", "source": "en", "target": "de", "beam_size": {}'),
            ("POST", "/v1/translate", '"text": "a", "source": "en", "target": "de", "num_hypotheses": {}'),
            ("POST", "/v1/translate", '"text": "a", "source": "en", "target": "de", "max_length": {}'),
            ("POST", "/v1/translate", '"text": "a", "source": "en", "target": "de", "length_penalty": {}'),
            ("POST", "/translate", '"q": "a", "source": "en", "target": "de", "alternatives": {}'),
        ):
            for number in (huge, "-" + huge, "1e400", "-1e400", "1e-400", "0." + huge * 200, "-0"):
                content = f"{{{fields.format(number)}}}".encode()
                answer = client.request(method, path, content=content, headers={"Content-Type": "application/json"})
                assert answer.status_code < 500 or "timeout" in fields, (path, number[:10], answer.text)


@pytest.mark.parametrize(
    "path", ["/readyz", "/livez", "/metrics", "/v1/models", "/languages", "/", "/nothing", "/health"]
)
def test_head_is_get_without_a_body(server: RunningServer, path: str) -> None:
    with server.client() as client:
        head_answer, got = client.head(path), client.get(path)
    assert (head_answer.status_code, head_answer.content) == (got.status_code, b"")
    assert head_answer.headers["Content-Type"] == got.headers["Content-Type"]
    if path not in ("/metrics", "/nothing"):  # which say what changes
        assert head_answer.headers["Content-Length"] == str(len(got.content))


def test_head_of_events_does_not_wait_for_any(document_server: RunningServer) -> None:
    with document_server.client() as client:
        body = {"sentences": ["Yes."], "source": "en", "target": "de", "mode": "online", "wait": True}
        name = client.post("/v1/documents", json=body).json()["id"]
        answer = client.head(f"/v1/documents/{name}/events")
    assert (answer.status_code, answer.headers["Content-Type"].split(";")[0]) == (200, "text/event-stream")


NAMES = (
    "report #1.txt", "50%.txt", "what? now!.txt", "a&b=c;d.txt", "\u00fcber \u65e5\u672c.txt", 'quote".txt', "a\\b.txt",
    "\u202etxt.exe.txt", "a\x00b.txt", "..txt", "%2e%2e%2f.txt", "n" * 300 + ".txt", "\U0001f600" * 120 + ".txt",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_any_name_is_translated_and_fetched(server: RunningServer, name: str) -> None:
    fields = {"source": "en", "target": "de"}
    with server.client() as client:
        answer = client.post("/translate_file", data=fields, files={"file": (name, b"Yes.")})
        assert answer.status_code == 200, answer.text
        url = answer.json()["translatedFileUrl"]
        assert re.fullmatch(r"http://[0-9.:]+/download_file/[A-Za-z0-9_.~%-]+", url)
        fetched = client.get(url)
        assert fetched.status_code == 200, fetched.text
        with urlopen(url) as by_another_client:
            assert by_another_client.read() == fetched.content
        plain = client.post("/v1/files", data=fields, files={"file": (name, b"Yes.")})
        assert plain.content == fetched.content
        for response in (fetched, plain):
            shown = re.fullmatch(r".*filename\*=UTF-8''([A-Za-z0-9_.~%-]+)", response.headers["Content-Disposition"])
            assert shown is not None
            assert unquote(shown[1]).endswith(".txt")


@pytest.mark.parametrize("made", [attachment, attachment_for_old_clients])
@pytest.mark.parametrize("name", [*NAMES, "\ud800.txt", "a\r\nX-A: b", "\x7f\x80", "", "." * 500, "a." + "b" * 500])
def test_any_name_is_a_header(made: Callable[[str], str], name: str) -> None:
    value = made(name)
    assert re.fullmatch(r"[ -~]+", value)
    assert value.count('"') in (0, 2)
    assert len(unquote(value.rpartition("''")[2])) <= MAX_NAME


@pytest.mark.parametrize("given", ["", " ", "\n"])
@pytest.mark.parametrize("where", ["variable", "flag"])
def test_keys_that_are_missing_open_nothing(given: str, where: str) -> None:
    environ = {"RINGMT_API_KEYS": given} if where == "variable" else {}
    flags = {"api_keys": given} if where == "flag" else {}
    name = "RINGMT_API_KEYS" if where == "variable" else "--api-keys"
    with pytest.raises(SettingsError, match=rf"{name} is empty: give the keys .* or leave it out"):
        Settings.load(environ, flags)
    assert Settings.load({}, {"api_keys": None}).api_keys == ""
    assert KeyRing.load(Settings.load({}).api_keys).keys == ()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True),
        ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("server.example", False), ("", False),
    ],
)  # fmt: skip
def test_addresses_of_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback


@pytest.mark.parametrize(("host", "warns"), [("0.0.0.0", True), ("127.0.0.1", False)])
def test_a_server_that_all_may_reach_without_keys_says_so(tiny_artifact: Path, host: str, warns: bool) -> None:
    with serving(tiny_artifact, "--host", host) as served:
        served.process.terminate()
        log = served.process.communicate()[1]
    warnings = [line for line in log.splitlines() if "without API keys" in line]
    assert len(warnings) == int(warns)
    if warns:
        assert re.search(r"WARNING.*0\.0\.0\.0.*--api-keys", warnings[0])


def test_the_limit_of_open_files_is_never_lowered() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    allow_open_files(10)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
    allow_open_files(before[0] + 1)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= before[0]


def test_the_openapi_document_is_no_route() -> None:
    app = create_app(Settings())
    assert isinstance(app, FastAPI)
    assert "HEAD" not in str(app.openapi())
