"""Bazarr, which sends all cues of a film to Lingarr's route."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.models import SENTENCES
from tests.server.api.adapters.conftest import Locked
from tests.server.api.conftest import RunningServer, ready, settings_for

URL = "/api/translate/content"


def film(texts: list[str], **changes: Any) -> dict[str, Any]:
    cues = [{"position": position, "line": line} for position, line in enumerate(texts)]
    return {
        "arrMediaId": 3, "title": "A film", "sourceLanguage": "en", "targetLanguage": "de", "mediaType": "Movie",
        "lines": cues, **changes,
    }  # fmt: skip


def test_a_film_is_one_document(document_server: RunningServer) -> None:
    """Each cue is translated as in a document of all cues, not as alone."""
    lines = [SENTENCES[0], "", "It is broken.\nYes.", SENTENCES[1]]
    with document_server.client() as http:
        answer = http.post(URL, json=film(lines), headers={"X-Api-Key": "any"})
        assert answer.status_code == 200, answer.text
        document = {"text": "\x1e".join(lines), "source": "en", "target": "de", "wait": True}
        whole = http.post("/v1/documents", json=document).json()
        text = http.get(f"/v1/documents/{whole['id']}/result").text
    assert [cue["position"] for cue in answer.json()] == [0, 1, 2, 3]
    assert [cue["line"] for cue in answer.json()] == text.split("\x1e")


def test_positions_and_languages(server: RunningServer) -> None:
    cues = [{"position": 7, "line": "Yes."}, {"position": 3, "line": "Yes."}]
    with server.client() as http:
        answer = http.post(URL, json=film([], lines=cues, sourceLanguage="en-US", targetLanguage="de")).json()
        assert [cue["position"] for cue in answer] == [7, 3]
        assert answer[0]["line"] == answer[1]["line"]
        assert http.post(URL, json=film([])).json() == []
        same = http.post(URL, json=film(["Ja."], sourceLanguage="de", targetLanguage="de")).json()
        assert same == [{"position": 0, "line": "Ja."}]


@pytest.mark.parametrize(
    "change", [{"targetLanguage": "pt-BR"}, {"lines": None}, {"lines": [{"line": "a"}]}, {"lines": [{"position": 1}]}]
)
def test_errors(server: RunningServer, change: dict[str, Any]) -> None:
    with server.client() as http:
        refused = http.post(URL, json=film(["Yes."], **change))
    assert refused.status_code == refused.json()["status"] == 400
    assert refused.json()["detail"]


def test_limits_and_keys(locked: Locked) -> None:
    with locked.server.client() as http:
        assert http.post(URL, json=film(["Yes."])).status_code == 401
        headers = {"X-Api-Key": locked.secret}
        assert http.post(URL, json=film(["Yes."]), headers=headers).status_code == 200
        assert http.post(URL, json=film([""] * 4000), headers=headers).status_code == 413
        assert http.post(URL, json=film(["a" * 20_001]), headers=headers).status_code == 413
        assert http.post(URL, json=film(["Yes.\n" * 3000]), headers=headers).status_code == 413


def test_a_film_may_take_as_long_as_a_file(tiny_artifact: Path) -> None:
    lines = list(itertools.islice(itertools.cycle(SENTENCES), 40))
    with ready(settings_for(tiny_artifact, request_timeout=0.001, file_timeout=60)) as server, server.client() as http:
        assert http.post(URL, json=film(lines)).status_code == 200
        assert http.post(URL, json=film(lines), headers={"X-Request-Timeout": "0.001"}).status_code == 504
