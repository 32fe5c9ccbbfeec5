"""`POST /v1/files`: real files to a real server."""

import io
import json
import re
from collections import Counter
from collections.abc import Hashable
from typing import Any

import docx
import httpx
import pytest

from server.api.admission.api_route import ApiRoute
from server.api.admission.authentication import TIMEOUT_HEADER
from server.api.native.files import MAX_CHECK_BYTES, router
from server.documents.state_cache import Place
from server.text.checks.flags import find_flags
from tests.server.api.conftest import PATIENCE, RunningServer

TEXT = "Where is the station?"


def send(server: RunningServer, data: bytes, name: str, timeout: str | None = None, **fields: str) -> httpx.Response:
    given = {"source": "en", "target": "de"} | fields
    headers = {} if timeout is None else {TIMEOUT_HEADER: timeout}
    files = {"file": (name, data)}
    return httpx.post(f"{server.url}/v1/files", files=files, data=given, headers=headers, timeout=PATIENCE)


def test_a_file_has_the_translation_of_its_text(server: RunningServer) -> None:
    translated = server.translate(TEXT, beam_size=server.state.settings.default_beam_size).json()["translations"][0][
        "text"
    ]
    plain = send(server, TEXT.encode(), "a b.txt")
    assert (plain.status_code, plain.text) == (200, translated)
    assert plain.headers["content-type"].startswith("text/plain")
    assert plain.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20b.de.txt"
    document, packed = docx.Document(), io.BytesIO()
    document.add_paragraph(TEXT)
    document.save(packed)
    answer = send(server, packed.getvalue(), "file")  # no ending: its content says what it is
    assert docx.Document(io.BytesIO(answer.content)).paragraphs[0].text == translated


def test_what_looks_wrong_is_counted_in_a_header(server: RunningServer) -> None:
    lines = ["We walk home in the rain.", "Yes.", "Where is the station?", "It is cold today.", "She sells bread."] * 2
    answer = send(server, "\n".join(lines).encode(), "a.txt")
    translations = answer.text.split("\n")
    expected = Counter(flag for pair in zip(lines, translations, strict=True) for flag in find_flags(*pair))
    given = dict(re.findall(r"(\w+)=(\d+)(?:, |$)", answer.headers.get("X-Flags", "")))
    assert {flag: int(count) for flag, count in given.items()} == dict(expected)
    assert expected, "a model of random weights says nothing that looks wrong: take other lines"
    check = json.loads(answer.headers["X-Check"])
    doubtful = [pair for pair in zip(lines, translations, strict=True) if find_flags(*pair)]
    assert [(each["source"], each["translation"]) for each in check] == doubtful[: len(check)]
    assert all(each["flags"] == list(find_flags(each["source"], each["translation"])) for each in check)
    assert 0 < len(answer.headers["X-Check"]) <= MAX_CHECK_BYTES
    assert {"X-Flags", "X-Check"}.isdisjoint(map(str.title, send(server, b"Yes.", "a.txt").headers))


@pytest.mark.parametrize(
    ("data", "name", "fields", "status", "message"),
    [
        (b"x", "a.exe", {}, 415, "files that end in .exe are not translated"),
        (b"nothing", "a.docx", {}, 422, "no Word file, or broken off"),
        (b"a " * 30_000, "a.txt", {}, 413, "60000 characters to translate, at most 40000"),
        (b"12:30", "a.txt", {}, 422, "no text was found in a.txt"),
        (b"[1]", "a.json", {}, 422, "no text was found in a.json"),
        (b'{"a": "b"}', "a.json", {"keys": "x"}, 422, "among what keys 'x' choose"),
        (b"Yes.", "a.txt", {"columns": "1"}, 422, "columns: this option is for .csv, .tsv files"),
        (b"a", "a.txt", {"target": "xx"}, 422, "target language 'xx'"),
        (b"a", "a.txt", {"mode": "sideways"}, 422, "mode"),
    ],
)
def test_what_cannot_be_translated_says_why(
    server: RunningServer, data: bytes, name: str, fields: dict[str, str], status: int, message: str
) -> None:
    answer = send(server, data, name, **fields)
    assert answer.status_code == status, answer.text
    assert message in answer.json()["error"]["message"]


def test_nothing_of_a_file_stays_in_the_cache_of_states(document_server: RunningServer) -> None:
    """When it is done, and when it is not: no request finds it again."""
    cache = document_server.state.documents.reader.cache
    before = cache.num_bytes
    peak: list[int] = []
    put = cache.put

    def counted_put(place: Place, content: Hashable, value: Any, num_bytes: int) -> None:
        put(place, content, value, num_bytes)
        peak.append(cache.num_bytes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "put", counted_put)
        for number in range(3):
            answer = send(document_server, f"We walk home in the rain. Where is lamp {number}?".encode(), "a.txt")
            assert answer.status_code == 200
            late = send(document_server, b"We walk home. " * 100, "a.txt", timeout="0.2")
            assert late.status_code in (200, 504)
    assert cache.num_bytes == before
    assert max(peak, default=before) > before, "no state was kept while a file was translated"


def test_a_key_needs_the_scope_of_translations() -> None:
    routes = [route for route in router.routes if isinstance(route, ApiRoute)]
    assert [route.scope for route in routes] == ["translate"]


def test_a_file_is_missing(server: RunningServer) -> None:
    answer = httpx.post(f"{server.url}/v1/files", data={"source": "en", "target": "de"}, timeout=PATIENCE)
    assert answer.status_code in (415, 422)
    assert httpx.post(f"{server.url}/v1/files", json={}, timeout=PATIENCE).status_code in (415, 422)


def test_the_language_of_a_file_is_detected(many: RunningServer) -> None:
    """Its translation is that of a request that names the language; the answer 202 says which it is."""
    text = "Wo ist der Bahnhof? Wir gehen heute zu Fuß nach Hause."
    fields = {"source": "auto", "target": "en"}
    found, named = (
        send(many, text.encode(), "a.txt", **fields),
        send(many, text.encode(), "a.txt", source="de", target="en"),
    )
    assert (found.status_code, found.content) == (200, named.content)
    form = {"data": fields, "files": {"file": ("a.txt", text)}, "headers": {"Prefer": "respond-async"}}
    later = httpx.post(f"{many.url}/v1/files", timeout=PATIENCE, **form)  # type: ignore[arg-type]
    assert (later.status_code, later.json()["source"]) == (202, "de")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Wir gehen heute zu Fuß nach Hause.", "the file is already in German (de); name its language"),
        ("Mi piacerebbe andare al mare con gli amici domani.", "in Italian (it), which is not served"),
    ],
)
def test_a_file_whose_detected_language_needs_or_has_no_translation(
    many: RunningServer, text: str, message: str
) -> None:
    answer = send(many, text.encode(), "a.txt", source="auto", target="de")
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "source")
    assert message in answer.json()["error"]["message"]
