"""Apertium APy's clients: OmegaT."""

import pytest

from tests.server.api.adapters.conftest import Locked
from tests.server.api.conftest import RunningServer
from tests.server.api.libretranslate.test_routes import TEXT, direct


@pytest.mark.parametrize("pair", ["en|de", "eng|deu", "|de"])
def test_omegat(server: RunningServer, pair: str) -> None:
    with server.client() as http:
        url = f"/translate?q={TEXT}&markUnknown=no&langpair={pair}&key="
        answer = http.get(url.replace("?", "%3F").replace("%3F", "?", 1)).json()
    assert answer["responseStatus"] == 200
    assert answer["responseData"]["translatedText"] == direct(server, TEXT)


def test_pairs_html_and_errors(server: RunningServer) -> None:
    with server.client() as http:
        pairs = http.get("/listPairs").json()
        assert pairs["responseData"] == [{"sourceLanguage": "en", "targetLanguage": "de"}]
        page = {"q": f"<p>{TEXT}</p>", "langpair": "en|de", "format": "html"}
        assert http.get("/translate", params=page).json()["responseData"]["translatedText"].startswith("<p>")
        for wrong in ({"q": "a"}, {"q": "a", "langpair": "en|zz"}, {"q": "a", "langpair": "en|"}):
            refused = http.get("/translate", params=wrong)
            assert refused.json()["responseStatus"] == refused.status_code == 400
            assert refused.json()["responseDetails"]


def test_a_key_in_the_query(locked: Locked) -> None:
    with locked.server.client() as http:
        for key, status in ((locked.secret, 200), ("", 401)):
            params = {"q": "Yes.", "langpair": "en|de", "key": key}
            assert http.get("/translate", params=params).status_code == status
