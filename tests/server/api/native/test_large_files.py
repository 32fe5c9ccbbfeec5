"""Files larger than any other body, in all three APIs: what a picture weighs is not counted as text."""

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import docx
import httpx
import pytest

from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for

MAX_BODY, MAX_FILE = 100_000, 1_000_000
ROUTES = ("/v1/files", "/translate_file", "/v2/document")
FIELDS = {"source": "en", "target": "de", "source_lang": "en", "target_lang": "de"}


@pytest.fixture(scope="module")
def small(tiny_artifact: Path) -> Iterator[RunningServer]:
    with ready(settings_for(tiny_artifact, max_body_bytes=MAX_BODY, max_file_bytes=MAX_FILE)) as server:
        yield server


def flyer(picture_bytes: int) -> bytes:
    """A Word file of one sentence, with a picture that does not become smaller when it is packed."""
    document, packed = docx.Document(), io.BytesIO()
    document.add_paragraph("Where is the station?")
    document.save(packed)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("word/media/photo.jpg", os.urandom(picture_bytes))
    return packed.getvalue()


def send(server: RunningServer, route: str, data: bytes, name: str = "a.docx", **more: str) -> httpx.Response:
    known = ("source_lang", "target_lang") if route == "/v2/document" else ("source", "target")
    fields = {field: FIELDS[field] for field in known} | more
    return httpx.post(f"{server.url}{route}", files={"file": (name, data)}, data=fields, timeout=PATIENCE)


@pytest.mark.parametrize("route", ROUTES)
def test_a_picture_is_no_text(small: RunningServer, route: str) -> None:
    assert send(small, route, flyer(MAX_FILE // 2)).status_code == 200
    assert small.state.file_budget.num_bytes == 0


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("size", [MAX_FILE, 3 * MAX_FILE])
def test_a_file_that_is_too_large_is_called_a_file(small: RunningServer, route: str, size: int) -> None:
    """Both when its form is too large and when only the file is."""
    answer = send(small, route, flyer(size))
    assert answer.status_code == (400 if route == "/translate_file" else 413)
    assert f"the file is larger than {MAX_FILE} bytes (--max-file-bytes)" in answer.text
    assert small.state.file_budget.num_bytes == 0


def test_other_bodies_have_their_own_limit(small: RunningServer) -> None:
    with small.client() as http:
        for route, how in (
            ("/v1/translate", {"json": {"text": "a" * MAX_BODY}}),
            ("/v1/files", {"data": {"source": "a" * MAX_BODY}}),
            ("/translate", {"files": {"q": (None, "a" * MAX_BODY)}}),
        ):
            answer = http.post(route, **how)
            assert answer.status_code in (400, 413)
            assert f"larger than {MAX_BODY} bytes (--max-body-bytes)" in answer.text
    long_field = send(small, "/v1/files", b"Yes.", "a.txt", model="a" * MAX_BODY)
    assert (long_field.status_code, long_field.json()["error"]["param"]) == (413, "model")


def test_the_text_of_a_large_file_is_limited_as_before(small: RunningServer) -> None:
    answer = send(small, "/v1/files", b"We walk home. " * 20_000, "a.txt")
    assert (answer.status_code, "characters to translate" in answer.text) == (413, True)


def test_a_file_of_thirty_megabytes_at_the_default_limits(tiny_artifact: Path) -> None:
    """Its parser has enough memory for it."""
    with ready(settings_for(tiny_artifact)) as server:
        data = flyer(30_000_000)
        answer = send(server, "/v1/files", data)
        assert answer.status_code == 200, answer.text
        before, after = (
            zipfile.ZipFile(io.BytesIO(file)).read("word/media/photo.jpg") for file in (data, answer.content)
        )
        assert before == after
