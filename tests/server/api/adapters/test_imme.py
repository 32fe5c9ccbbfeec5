"""Immersive Translate's custom API."""

from tests.server.api.adapters.conftest import Locked
from tests.server.api.conftest import RunningServer
from tests.server.api.libretranslate.test_routes import GERMAN, TEXT, direct


def test_texts(server: RunningServer) -> None:
    body = {"source_lang": "auto", "target_lang": "de", "text_list": [TEXT, GERMAN, ""]}
    with server.client() as http:
        answer = http.post("/imme", json=body).json()
        named = http.post("/imme", json={**body, "source_lang": "en", "text_list": ["Yes."]}).json()
    assert [item["text"] for item in answer["translations"]] == [direct(server, TEXT), GERMAN, ""]
    assert [item["detected_source_lang"] for item in answer["translations"]][:2] == ["en", "de"]
    assert named == {"translations": [{"detected_source_lang": "en", "text": direct(server, "Yes.")}]}


def test_placeholders_stay(server: RunningServer) -> None:
    body = {"source_lang": "en", "target_lang": "de", "text_list": ["{0} Hello {1} world", "<b0></b0> Hello <b1></b1>"]}
    with server.client() as http:
        first, second = (item["text"] for item in http.post("/imme", json=body).json()["translations"])
    assert all(first.count(part) == 1 for part in ("{0}", "{1}"))
    assert all(second.count(part) == 1 for part in ("<b0></b0>", "<b1></b1>"))


def test_errors_and_keys(locked: Locked) -> None:
    body = {"source_lang": "en", "target_lang": "zh-CN", "text_list": ["Yes."]}
    with locked.server.client() as http:
        assert set(http.post("/imme", json=body).json()) == {"error"}
        refused = http.post("/imme", params={"token": locked.secret}, json=body)
        assert (refused.status_code, refused.json()) == (400, {"error": "zh-CN is not supported"})
