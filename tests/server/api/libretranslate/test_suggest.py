"""`POST /suggest`: kept in a translation memory of the key that suggests, and shown to it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for

MEMORIES = "/v1/translation_memories"
FIELDS = {"q": "Good morning.", "s": "Moin!", "source": "en", "target": "de"}
MADE = {name: new_key(name, ("translate",)) for name in ("shop", "desk")}


@pytest.fixture(scope="module")
def guarded(tiny_artifact: Path) -> Iterator[RunningServer]:
    with ready(settings_for(tiny_artifact, api_keys=";".join(line for _, line in MADE.values()))) as server:
        yield server


@contextlib.contextmanager
def client_of(server: RunningServer, name: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {MADE[name][0]}"}) as client:
        yield client


def memories(client: httpx.Client) -> Any:
    return client.get(MEMORIES).json()["translation_memories"]


def test_a_suggestion_is_kept_for_its_owner(guarded: RunningServer) -> None:
    for how in ({"json": FIELDS}, {"data": FIELDS}, {"params": FIELDS}):
        fields = {**FIELDS, "api_key": MADE["shop"][0]}
        [name] = how
        answer = httpx.post(f"{guarded.url}/suggest", **{name: fields})  # type: ignore[arg-type]
        assert answer.json() == {"success": True, "translation_memory_id": answer.json()["translation_memory_id"]}
    with client_of(guarded, "shop") as shop, client_of(guarded, "desk") as desk:
        [memory] = memories(shop)
        assert (memory["name"], memory["source"], memory["target"], memory["entries"]) == ("Suggestions", "en", "de", 1)
        [entry] = shop.get(f"{MEMORIES}/{memory['id']}/entries").json()["entries"]
        assert (entry["source"], entry["target"], entry["origin"]) == ("Good morning.", "Moin!", "suggestion")
        assert memories(desk) == []
        plain = {"q": ["Good morning.", "Yes."], "source": "en", "target": "de"}
        assert shop.post("/translate", json=plain).json()["translatedText"][0] != "Moin!", "nothing is used unasked"
        named = {**plain, "translation_memory_id": memory["id"]}
        texts = shop.post("/translate", json=named).json()["translatedText"]
        assert texts == ["Moin!", shop.post("/translate", json=plain).json()["translatedText"][1]]
        assert desk.post("/translate", json=named).status_code == 404
        assert desk.post("/suggest", json={**FIELDS, "s": "Tach!", "source": "EN-us"}).json()["success"]
        assert shop.post("/translate", json=named).json()["translatedText"] == texts
        assert shop.get("/frontend/settings").json()["suggestions"] is True


@pytest.mark.parametrize(
    ("changes", "expected_message"),
    [
        ({"s": None}, "Invalid request: s: must be a string or a list of strings"),
        ({"s": " "}, "its target is empty"),
        ({"q": ""}, "its source is empty"),
        ({"source": "xx"}, "xx is not supported"),
        ({"target": "xx"}, "xx is not supported"),
        ({"s": "x" * 4001}, "at most 4000 are kept"),
    ],
)
def test_what_cannot_be_kept(guarded: RunningServer, changes: dict[str, Any], expected_message: str) -> None:
    with client_of(guarded, "desk") as desk:
        answer = desk.post("/suggest", json={**FIELDS, **changes})
    assert (answer.status_code, expected_message in answer.json()["error"]) == (400, True), answer.text


def test_without_a_key_nothing_is_kept(guarded: RunningServer) -> None:
    assert httpx.post(f"{guarded.url}/suggest", json=FIELDS).status_code == 403


def test_a_server_without_suggestions_says_so(tiny_artifact: Path) -> None:
    with ready(settings_for(tiny_artifact, suggestions="off")) as server, server.client() as client:
        answer = client.post("/suggest", json=FIELDS)
        assert (answer.status_code, answer.json()) == (403, {"error": "Suggestions are disabled on this server."})
        assert client.get("/frontend/settings").json()["suggestions"] is False
        assert memories(client) == []
