"""What is kept belongs to the name of a key, is listed for it, and is bounded for it."""

import contextlib
import dataclasses
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.keys.record import Scope
from server.stores.open_store import open_store
from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.documents import checked
from tests.server.documents.some import keep
from tests.server.redis_server import flush

PAIR = {"source": "en", "target": "de"}
GLOSSARY = {
    "name": "ours", "source_lang": "en", "target_lang": "de", "entries": "station\tBahnhof", "entries_format": "tsv",
}  # fmt: skip
SCOPES: dict[str, tuple[Scope, ...]] = {
    "shop": ("translate", "documents"),
    "desk": ("translate", "documents"),
    "boss": ("admin",),
}
MADE = {name: new_key(name, scopes) for name, scopes in SCOPES.items()}
LINES = ";".join(line for _, line in MADE.values())


def client_of(server: RunningServer, name: str) -> httpx.Client:
    return client_with(server, MADE[name][0])


def client_with(server: RunningServer, secret: str) -> httpx.Client:
    return httpx.Client(base_url=server.url, timeout=60, headers={"Authorization": f"Bearer {secret}"})


def create(client: httpx.Client, status: int | None = None, **fields: Any) -> Any:
    return checked(client.post("/v1/documents", json={"sentences": ["Yes."], **PAIR, **fields}), status)


def listed(client: httpx.Client, what: str = "documents", **query: Any) -> list[dict[str, Any]]:
    """All pages."""
    results: list[dict[str, Any]] = []
    while True:
        page = checked(client.get(f"/v1/{what}", params=query), 200)
        results += page[what]
        if page["next"] is None:
            return results
        query["after"] = page["next"]


@pytest.fixture(scope="module")
def guarded(tiny_artifact: Path) -> Iterator[RunningServer]:
    with ready(settings_for(tiny_artifact, api_keys=LINES)) as server:
        yield server


@pytest.fixture(autouse=True)
def _nothing_is_left(guarded: RunningServer) -> Iterator[None]:
    yield
    with client_of(guarded, "boss") as boss:
        for what in ("documents", "glossaries"):
            for item in listed(boss, what):
                assert boss.delete(f"/v1/{what}/{item['id']}").status_code == 204
            assert listed(boss, what) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_a_key_lists_its_own_documents_and_admin_those_of_all(guarded: RunningServer, limit: int) -> None:
    with client_of(guarded, "shop") as shop, client_of(guarded, "desk") as desk, client_of(guarded, "boss") as boss:
        mine = [create(shop, wait=True, sentences=["Yes."] * count)["id"] for count in range(4)]
        theirs = [create(desk, wait=True)["id"]]
        own = create(boss, wait=True)["id"]
        result = listed(shop, limit=limit)
        assert [item["id"] for item in result] == mine[::-1]
        assert [item["num_sentences"] for item in result] == [3, 2, 1, 0]
        for sentence in result:
            assert (sentence["state"], sentence["progress"], sentence["source"], sentence["target"]) == (
                "done",
                1,
                "en",
                "de",
            )
            assert abs(sentence["created"] - time.time()) < 600
            assert "owner" not in sentence
        assert [item["id"] for item in listed(shop, limit=limit, owner="shop")] == mine[::-1]
        assert checked(shop.get("/v1/documents", params={"owner": "desk"}), 403)["error"]["type"] == "forbidden"
        everybody = listed(boss, limit=limit)
        assert [item["id"] for item in everybody] == [own, *theirs, *mine[::-1]]
        assert [item["owner"] for item in everybody] == ["boss", "desk", *["shop"] * 4]
        assert [item["id"] for item in listed(boss, limit=limit, owner="desk")] == theirs
        assert listed(boss, owner="nobody") == []
        assert boss.delete(f"/v1/documents/{theirs[0]}").status_code == 204
        assert listed(desk) == []


def test_a_document_that_is_deleted_between_pages_loses_no_other(guarded: RunningServer) -> None:
    with client_of(guarded, "shop") as shop:
        names = [create(shop, wait=True)["id"] for _ in range(4)][::-1]
        first = checked(shop.get("/v1/documents", params={"limit": 2}), 200)
        assert shop.delete(f"/v1/documents/{names[1]}").status_code == 204
        second = checked(shop.get("/v1/documents", params={"limit": 2, "after": first["next"]}), 200)
        assert [document["id"] for document in first["documents"] + second["documents"]] == names
        assert second["next"] is None


@pytest.mark.parametrize(
    "after", ["", "x", "1~", "~a", "nan~a", "inf~a", "1e999~a", "1~a b", "1~" + "a" * 200, "\0", "9" * 5000]
)
def test_a_place_that_is_none(guarded: RunningServer, after: str) -> None:
    with client_of(guarded, "shop") as shop:
        error = checked(shop.get("/v1/documents", params={"after": after}), 422)["error"]
    assert error["param"] == "after"


@pytest.mark.parametrize("limit", ["0", "101", "-1", "x", "1e3", "9" * 5000])
def test_a_page_has_a_size(guarded: RunningServer, limit: str) -> None:
    with client_of(guarded, "shop") as shop:
        for what in ("documents", "glossaries"):
            assert checked(shop.get(f"/v1/{what}", params={"limit": limit}), 422)["error"]["param"] == "limit"


def test_glossaries_are_listed_and_removed(guarded: RunningServer) -> None:
    with client_of(guarded, "shop") as shop, client_of(guarded, "desk") as desk, client_of(guarded, "boss") as boss:
        made = sorted(checked(shop.post("/v2/glossaries", json=GLOSSARY), 201)["glossary_id"] for _ in range(3))
        [theirs] = [checked(desk.post("/v2/glossaries", json=GLOSSARY), 201)["glossary_id"]]
        for limit in (1, 2, 3, 100):
            assert [item["id"] for item in listed(shop, "glossaries", limit=limit)] == made
            everybody = listed(boss, "glossaries", limit=limit)
            assert [item["id"] for item in everybody] == sorted([*made, theirs])
            assert {item["id"] for item in everybody if item["owner"] == "desk"} == {theirs}
        [entry] = listed(boss, "glossaries", owner="desk")
        assert (entry["name"], entry["dictionaries"]) == ("ours", [{"source": "en", "target": "de", "entries": 1}])
        assert entry["size"] > 20
        assert "owner" not in listed(shop, "glossaries")[0]
        assert checked(shop.get("/v1/glossaries", params={"owner": "desk"}), 403)["error"]["type"] == "forbidden"
        for name in (theirs, "00000000-0000-4000-8000-000000000000", "x"):
            assert shop.delete(f"/v1/glossaries/{name}").status_code == 404
        assert boss.delete("/v1/glossaries/x").status_code == 404
        assert boss.delete(f"/v1/glossaries/{theirs}").status_code == 204
        assert shop.delete(f"/v1/glossaries/{made[0]}").status_code == 204
        assert listed(desk, "glossaries") == []


def test_without_keys_everything_is_listed(server: RunningServer) -> None:
    with server.client() as client:
        name = create(client, wait=True)["id"]
        assert name in [item["id"] for item in listed(client)]
        assert all("owner" not in item for item in listed(client))
        assert client.delete(f"/v1/documents/{name}").status_code == 204


@pytest.mark.parametrize("body", [{"sentences": "a"}, {}, {"sentences": 1}, {"unknown": 1}])
def test_a_foreign_document_answers_as_an_unknown_one(guarded: RunningServer, body: dict[str, Any]) -> None:
    """Whatever else is wrong with the request."""
    with client_of(guarded, "shop") as shop, client_of(guarded, "desk") as desk:
        name = create(shop, wait=True, mode="online")["id"]
        for suffix, method in (
            ("", "GET"), ("?explain=maybe", "GET"), ("", "DELETE"), ("/events", "GET"), ("/result", "GET"),
            ("/sentences", "POST"), ("/sentences/0", "PUT"), ("/sentences/7/context", "GET"),
        ):  # fmt: skip
            answers = [
                desk.request(method, f"/v1/documents/{item}{suffix}", json=body if method in ("POST", "PUT") else None)
                for item in (name, "a" * len(name))
            ]
            assert [answer.status_code for answer in answers] == [404, 404]
            messages = [{**answer.json()["error"], "request_id": ""} for answer in answers]
            assert messages[0] == messages[1]
        assert "shop" not in name


def test_what_is_full_says_when_there_is_room(tiny_artifact: Path) -> None:
    settings = settings_for(tiny_artifact, api_keys=LINES, max_documents=6, document_ttl=3600.0)
    with ready(settings) as server, client_of(server, "shop") as shop, client_of(server, "desk") as desk:
        names = [create(shop, wait=True)["id"] for _ in range(2)]  # a third of six
        refused = shop.post("/v1/documents", json={"sentences": ["Yes."], **PAIR})
        error = checked(refused, 429)["error"]
        assert "at most 2 documents are kept for one key" in error["message"]
        assert "DELETE /v1/documents/ID" in error["message"]
        assert 3500 <= int(refused.headers["Retry-After"]) <= 3670
        create(desk, wait=True)
        assert shop.delete(f"/v1/documents/{names[0]}").status_code == 204
        create(shop, wait=True)


def test_bytes_are_bounded(tiny_artifact: Path) -> None:
    settings = settings_for(tiny_artifact, api_keys=LINES, max_documents_bytes_per_key=8_000)
    with ready(settings) as server, client_of(server, "shop") as shop, client_of(server, "desk") as desk:
        assert "several documents" in create(shop, 413, sentences=["Yes."] * 50)["error"]["message"]
        name = create(shop, wait=True, mode="online")["id"]
        url = f"/v1/documents/{name}/sentences"
        answers = [shop.post(url, json={"sentences": ["We walk home."] * 3}).status_code for _ in range(12)]
        refused = next(index for index, status in enumerate(answers) if status != 200)
        assert 1 < refused < 11
        assert set(answers[refused:]) <= {413, 429}
        checked(shop.put(f"{url}/0", json={"translation": "x" * 9_000}), 413)
        create(desk, wait=True)


def test_another_secret_of_the_same_name_finds_everything(tiny_artifact: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    other, line = new_key("shop", SCOPES["shop"])
    both = settings_for(tiny_artifact, api_keys=f"{LINES};{line}", context_store=url)
    with ready(both) as server, client_of(server, "shop") as old, client_with(server, other) as new:
        name = create(old, wait=True)["id"]
        glossary = checked(old.post("/v2/glossaries", json=GLOSSARY), 201)["glossary_id"]
        assert checked(new.get(f"/v1/documents/{name}"), 200)["state"] == "done"
    with ready(dataclasses.replace(both, api_keys=line)) as server, client_with(server, other) as new:
        assert [item["id"] for item in listed(new)] == [name]
        assert [item["id"] for item in listed(new, "glossaries")] == [glossary]
        assert checked(new.get(f"/v2/glossaries/{glossary}"), 200)["name"] == "ours"


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_what_was_kept_for_the_hash_of_a_secret_is_its_name_s(
    kind: str, tiny_artifact: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    if kind == "redis":
        port = request.getfixturevalue("redis_port")
        flush(port)
        url = f"redis://127.0.0.1:{port}/0"
    secret_hash = hashlib.sha256(MADE["shop"][0].encode()).hexdigest()
    former = hashlib.sha256(f"owner {secret_hash}".encode()).hexdigest()[:12]
    name = f"{'a' * 24}-{former}"
    with contextlib.closing(open_store(url)) as store:
        keep(store, name, 1, state="done", touched=time.time(), owner=f"former:{former}")
        keep(store, "lost", 0, state="done", touched=time.time(), owner="former:0123456789ab")
    settings = settings_for(tiny_artifact, api_keys=LINES, context_store=url)
    with ready(settings) as server, client_of(server, "shop") as shop, client_of(server, "boss") as boss:
        assert [item["id"] for item in listed(shop)] == [name]
        assert shop.get(f"/v1/documents/{name}").status_code == 200
        assert {item["owner"] for item in listed(boss)} == {"shop", "former:0123456789ab"}
        assert [item["id"] for item in listed(boss, owner="former:0123456789ab")] == ["lost"]


def test_progress_counts_what_is_done(document_server: RunningServer) -> None:
    """As the document itself has it, from the first sentence to a correction."""
    with document_server.client() as client:
        name = create(client, sentences=["We walk home."] * 6, mode="online")["id"]

        def agree() -> bool:
            before = checked(client.get(f"/v1/documents/{name}"), 200)
            [results] = [item for item in listed(client) if item["id"] == name]
            after = checked(client.get(f"/v1/documents/{name}"), 200)
            if before["version"] == after["version"]:
                assert (results["state"], results["progress"]) == (after["state"], after["progress"])
            return bool(after["state"] == "done")

        until(agree, "the document is done")
        checked(client.post(f"/v1/documents/{name}/sentences", json={"sentences": ["Yes.", "No."]}), 200)
        assert agree()
        correction = {"source": "She sells bread.", "translation": "Sie verkauft Brot."}
        checked(client.put(f"/v1/documents/{name}/sentences/0?retranslate=affected", json=correction), None)
        until(agree, "the document is done")
        client.delete(f"/v1/documents/{name}")
