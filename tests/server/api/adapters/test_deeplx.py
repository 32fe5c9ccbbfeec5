"""DeepLX's clients: Zotero, kiss-translator, pot, PDFMathTranslate."""

import pytest

from tests.server.api.adapters.conftest import Locked
from tests.server.api.conftest import RunningServer
from tests.server.api.libretranslate.test_routes import TEXT, direct

URL = "/deeplx/translate"


@pytest.mark.parametrize(
    "languages",
    [
        {"source_lang": "EN", "target_lang": "DE"},  # Zotero
        {"source_lang": "auto", "target_lang": "de"},  # kiss-translator
        {"source_lang": "en", "target_lang": "de"},  # PDFMathTranslate
        {"source_lang": "", "target_lang": "DE", "tag_handling": "html"},
    ],
)
def test_a_text(server: RunningServer, languages: dict[str, str]) -> None:
    with server.client() as http:
        answer = http.post(URL, json={"text": TEXT, **languages}).json()
    assert (answer["code"], answer["data"]) == (200, direct(server, TEXT))
    assert (answer["source_lang"], answer["target_lang"], answer["alternatives"]) == ("EN", "DE", [])


def test_subtitle_edit_sends_a_form_to_deepls_path(server: RunningServer) -> None:
    with server.client() as http:
        answer = http.post("/v2/translate", data={"text": TEXT, "target_lang": "DE", "source_lang": "en"})
    assert [item["text"] for item in answer.json()["translations"]] == [direct(server, TEXT)]


def test_errors_and_keys(locked: Locked) -> None:
    body = {"text": "Yes.", "source_lang": "EN", "target_lang": "DE"}
    with locked.server.client() as http:
        assert http.post(URL, json=body).json()["code"] == 401
        assert http.post(URL, params={"token": locked.secret}, json=body).status_code == 200
        bearer = {"Authorization": f"Bearer {locked.secret}"}
        assert http.post(URL, json=body, headers=bearer).status_code == 200
        refused = http.post(URL, json={**body, "target_lang": "ZZ"}, headers=bearer)
        assert (refused.status_code, refused.json()) == (400, {"code": 400, "message": "ZZ is not supported"})
        page = {"Origin": "http://page.example", "Access-Control-Request-Method": "POST"}
        assert http.options(URL, headers=page).headers["Access-Control-Allow-Origin"] == "*"
