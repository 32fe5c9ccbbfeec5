"""Which columns and keys are translated, and how a file was read, in all three APIs."""

import time
from collections.abc import Mapping

import httpx
import pytest

from tests.server.api.conftest import PATIENCE, RunningServer

TABLE = b"key,en,note\na.b,Where is the station?,We walk home.\n"
VALUES = b'{"title": "Where is the station?", "url": "We walk home."}'
LATIN = "Where is the café? It\u2019s closed.".encode("cp1252")


def by_files(server: RunningServer, name: str, data: bytes, fields: Mapping[str, str]) -> tuple[bytes, str]:
    form = {"source": "en", "target": "de", **fields}
    answer = httpx.post(f"{server.url}/v1/files", files={"file": (name, data)}, data=form, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.content, answer.headers.get("X-Notes", "")


def by_libretranslate(server: RunningServer, name: str, data: bytes, fields: Mapping[str, str]) -> tuple[bytes, str]:
    form = {"source": "en", "target": "de", **fields}
    answer = httpx.post(f"{server.url}/translate_file", files={"file": (name, data)}, data=form, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    assert "notes" not in answer.json() or answer.json()["notes"]
    file = httpx.get(answer.json()["translatedFileUrl"], timeout=PATIENCE)
    return file.content, "; ".join(answer.json().get("notes", ()))


def by_deepl(server: RunningServer, name: str, data: bytes, fields: Mapping[str, str]) -> tuple[bytes, str]:
    form = {"source_lang": "EN", "target_lang": "DE", **fields}
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        uploaded = http.post("/v2/document", files={"file": (name, data)}, data=form)
        assert uploaded.status_code == 200, uploaded.text
        document = uploaded.json()
        key = {"document_key": document["document_key"]}
        address = f"/v2/document/{document['document_id']}"
        deadline = time.monotonic() + PATIENCE
        while (status := http.post(address, data=key).json())["status"] != "done":
            assert status["status"] != "error", status
            assert time.monotonic() < deadline
        return http.post(f"{address}/result", data=key).content, "; ".join(status.get("notes", ()))


ROUTES = (by_files, by_libretranslate, by_deepl)


def translated(server: RunningServer, text: str) -> str:
    beam_size = server.state.settings.default_beam_size
    return str(server.translate(text, beam_size=beam_size).json()["translations"][0]["text"])


def test_columns_and_keys_are_fields_of_every_route(server: RunningServer) -> None:
    station = translated(server, "Where is the station?")
    cell = f'"{station}"' if "," in station else station
    table = TABLE.decode().replace("Where is the station?", cell)
    values = VALUES.decode().replace("Where is the station?", station)
    for route in ROUTES:
        assert route(server, "a.csv", TABLE, {"columns": "en"})[0].decode() == table
        assert route(server, "a.json", VALUES, {"keys": "!url"})[0].decode() == values


def test_every_route_says_how_a_file_was_read(server: RunningServer) -> None:
    for route in ROUTES:
        notes = route(server, "a.txt", LATIN, {})[1]
        assert notes.startswith("read as Windows-1252, which the file does not declare: it is no UTF-8 text (byte 16)")
        assert route(server, "a.txt", b"Yes.", {})[1] == ""


@pytest.mark.parametrize(("path", "status"), [("/v1/files", 422), ("/translate_file", 400), ("/v2/document", 400)])
def test_every_route_refuses_a_column_that_is_not_there(server: RunningServer, path: str, status: int) -> None:
    form = {"source": "en", "target": "de", "source_lang": "EN", "target_lang": "DE", "columns": "fr"}
    form = {name: form[name] for name in form if ("_lang" in name) == (path == "/v2/document") or name == "columns"}
    answer = httpx.post(f"{server.url}{path}", files={"file": ("a.csv", TABLE)}, data=form, timeout=PATIENCE)
    assert answer.status_code == status, answer.text
    assert "there is no column 'fr'; the first row is: key, en, note" in answer.text
