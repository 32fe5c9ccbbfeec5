"""kiss-translator's custom API: one text, or many where it fetches in batches."""

import pytest

from tests.server.api.conftest import RunningServer
from tests.server.api.libretranslate.test_routes import TEXT, direct

HEADERS = {"Authorization": "Bearer any"}


def test_one_text_and_many(server: RunningServer) -> None:
    with server.client() as http:
        answer = http.post("/kiss", json={"text": TEXT, "from": "auto", "to": "de"}, headers=HEADERS).json()
        assert answer == {"text": direct(server, TEXT), "src": "en"}
        body = {"texts": [TEXT, "Yes."], "from": "en", "to": "de-DE"}
        several = http.post("/kiss", json=body, headers=HEADERS).json()
        assert [item["text"] for item in several["translations"]] == [direct(server, TEXT), direct(server, "Yes.")]
        assert {item["src"] for item in several["translations"]} == {"en"}


@pytest.mark.parametrize("body", [{}, {"to": "de"}, {"text": "a"}, {"text": "a", "texts": ["a"], "to": "de"}])
def test_errors(server: RunningServer, body: dict[str, object]) -> None:
    with server.client() as http:
        refused = http.post("/kiss", json=body)
    assert (refused.status_code, set(refused.json())) == (400, {"error"})
