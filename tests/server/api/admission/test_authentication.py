"""Keys, their limits and scopes, whose document it is, and deadlines that a request brings, at a real server."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from server.keys.record import Scope
from tests.api_keys import new_key
from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, ready, settings_for, until

MANY_SENTENCES = "We walk home in the rain, and where is the station?\n" * 370
BODY = {"text": "We walk home.", "source": "en", "target": "de"}
DOCUMENT = {"sentences": ["We walk home."], "source": "en", "target": "de", "wait": True}


@dataclass(frozen=True)
class Guarded:
    """A server with keys, and the secrets by name."""

    server: RunningServer
    secrets: dict[str, str]

    def client(self, name: str | None) -> httpx.Client:
        headers = {} if name is None else {"Authorization": f"Bearer {self.secrets[name]}"}
        return httpx.Client(base_url=self.server.url, timeout=60, headers=headers)


@pytest.fixture(scope="module")
def guarded(tiny_artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    scopes: dict[str, tuple[Scope, ...]] = {
        "shop": ("translate", "documents"), "desk": ("translate", "documents"), "reader": ("translate",),
        "boss": ("admin",), "slow": ("translate",), "single": ("translate",),
    }  # fmt: skip
    limits = {"slow": " rate=0.01", "single": " concurrency=1"}
    made = {name: new_key(name, own) for name, own in scopes.items()}
    file = tmp_path_factory.mktemp("keys") / "keys"
    file.write_text("".join(f"{line}{limits.get(name, '')}\n" for name, (_, line) in made.items()))
    with ready(settings_for(tiny_artifact, api_keys=str(file))) as server:
        yield Guarded(server, {name: secret for name, (secret, _) in made.items()})


def test_requests_without_a_key_are_refused(guarded: Guarded) -> None:
    with guarded.client(None) as client:
        answers = [
            client.post("/v1/translate", json=BODY),
            client.post("/v1/translate", json=BODY, headers={"X-API-Key": "wrong"}),
            client.post("/v1/translate", json=BODY, headers={"Authorization": "Basic abc"}),
            client.post("/v1/translate", content=b"not JSON"),
            client.get("/v1/models"),
            client.get("/v1/documents/unknown"),
        ]
        for answer in answers:
            assert (answer.status_code, answer.json()["error"]["type"]) == (401, "unauthorized")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        for probe in ("/livez", "/readyz", "/metrics"):
            assert client.get(probe).status_code == 200


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "DeepL-Auth-Key {}"])
def test_a_key_lets_in(guarded: Guarded, form: str) -> None:
    with guarded.client(None) as client:
        headers = {"Authorization": form.format(guarded.secrets["shop"])}
        assert client.post("/v1/translate", json=BODY, headers=headers).status_code == 200
        other = {"X-API-Key": guarded.secrets["shop"]}
        assert client.post("/v1/translate", json=BODY, headers=other).status_code == 200


def test_clients_of_libretranslate_bring_their_key_as_a_field(guarded: Guarded) -> None:
    secret, url = guarded.secrets["shop"], guarded.server.url
    own = LibreTranslateAPI(url, secret).translate("We walk home.", "en", "de")
    with guarded.client("shop") as client:
        assert own == client.post("/v1/translate", json=BODY).json()["translations"][0]["text"]
    with pytest.raises(HTTPError, match="403") as refused:
        LibreTranslateAPI(url, "wrong").translate("We walk home.", "en", "de")
    refused.value.close()
    fields = {"q": "We walk home.", "source": "en", "target": "de"}
    file = {"file": ("book.txt", b"We walk home.")}
    with guarded.client(None) as client:
        for held, status in ((secret, 200), ("wrong", 403)):
            key = {"api_key": held}
            assert client.post("/translate", json={**fields, **key}).status_code == status
            assert client.post("/translate", params={**fields, **key}).status_code == status
            assert client.post("/translate_file", data={**fields, **key}, files=file).status_code == status
            assert client.get("/languages", params=key).status_code == status
        assert client.post("/translate", content=b"not JSON").json() == {"error": "Invalid API key"}
    with guarded.client("shop") as client:
        settings = client.get("/frontend/settings").json()
        assert (settings["apiKeys"], settings["keyRequired"]) == (True, True)


def test_scopes_are_kept(guarded: Guarded) -> None:
    with guarded.client("reader") as client:
        assert client.post("/v1/translate", json=BODY).status_code == 200
        refused = client.post("/v1/documents", json=DOCUMENT)
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "forbidden")
        assert "documents" in refused.json()["error"]["message"]
        assert client.get("/v1/models").status_code == 200


def test_a_document_belongs_to_its_key(guarded: Guarded) -> None:
    with guarded.client("shop") as shop, guarded.client("desk") as desk, guarded.client("boss") as boss:
        name = shop.post("/v1/documents", json=DOCUMENT).json()["id"]
        paths = (("GET", ""), ("GET", "/result"), ("GET", "/sentences/0/context"), ("DELETE", ""))
        unknown = desk.get("/v1/documents/unknown").json()["error"]
        for method, path in paths:
            answer = desk.request(method, f"/v1/documents/{name}{path}")
            assert answer.status_code == 404, path
            assert {**answer.json()["error"], "request_id": ""} == {**unknown, "request_id": ""}
        assert desk.post(f"/v1/documents/{name}/sentences", json={"sentences": ["Yes."]}).status_code == 404
        assert desk.put(f"/v1/documents/{name}/sentences/0", json={"source": "Yes."}).status_code == 404
        assert shop.get(f"/v1/documents/{name}").json()["state"] == "done"
        assert boss.get(f"/v1/documents/{name}").status_code == 200
        assert shop.delete(f"/v1/documents/{name}").status_code == 204


def test_a_rate_is_kept(guarded: Guarded) -> None:
    with guarded.client("slow") as client, guarded.client("shop") as other:
        assert client.post("/v1/translate", json=BODY).status_code == 200
        refused = client.post("/v1/translate", json=BODY)
        assert (refused.status_code, refused.json()["error"]["type"]) == (429, "overloaded")
        assert 90 <= int(refused.headers["Retry-After"]) <= 100
        assert other.post("/v1/translate", json=BODY).status_code == 200


def test_concurrency_is_kept_and_given_back(guarded: Guarded) -> None:
    with guarded.client("single") as client, ThreadPoolExecutor(1) as pool:
        long = pool.submit(client.post, "/v1/translate", json={**BODY, "text": MANY_SENTENCES[:2000]})
        until(lambda: guarded.server.sentences > 0, "the request is being worked on")
        refused = client.post("/v1/translate", json=BODY)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert long.result(60).status_code == 200
        for wrong in ({"text": 1}, {**BODY, "beam_size": 99}, {**BODY, "source": "zz"}):
            assert client.post("/v1/translate", json=wrong).status_code == 422
        with contextlib.suppress(httpx.TimeoutException):
            client.post("/v1/translate", json={**BODY, "text": MANY_SENTENCES}, timeout=0.05)
        until(lambda: client.post("/v1/translate", json=BODY).status_code == 200, "its place is free")


def test_errors_contain_no_secret(guarded: Guarded, capfd: pytest.CaptureFixture[str]) -> None:
    with guarded.client("shop") as client:
        shown = client.get("/metrics").text + client.post("/v1/documents", json={}).text
        shown += httpx.post(f"{guarded.server.url}/v1/translate", json=BODY, headers={"X-API-Key": "hunter2"}).text
    shown += "".join(capfd.readouterr())
    for secret in (*guarded.secrets.values(), "hunter2"):
        assert secret not in shown


@pytest.mark.parametrize("where", ["header", "field"])
def test_a_request_may_wait_for_less(guarded: Guarded, where: str) -> None:
    body = {**BODY, "text": MANY_SENTENCES} | ({"timeout": 0.2} if where == "field" else {})
    headers = {"X-Request-Timeout": "0.2"} if where == "header" else {}
    with guarded.client("shop") as client:
        answer = client.post("/v1/translate", json=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["type"]) == (504, "deadline_exceeded")
        until(lambda: guarded.server.sentences == 0, "every slot is free")


def test_work_on_scores_and_documents_may_wait_for_less(document_server: RunningServer) -> None:
    pair, long = {"source": "en", "target": "de"}, [f"{SENTENCES[index % 7]} {index}" for index in range(40)]
    with document_server.client() as client:
        document = {"sentences": ["Yes."], "mode": "online", "wait": True, **pair}
        name = client.post("/v1/documents", json=document).json()["id"]
        place = f"/v1/documents/{name}/sentences"
        score = {"items": [{"source": item, "target": [item] * 20} for item in long[:2]], **pair}
        expected = (
            ("POST", "/v1/score", score),
            ("POST", place, {"sentences": long}),
            ("PUT", f"{place}/0", {"source": "We walk home."}),
        )
        for method, path, body in expected:
            late = client.request(method, path, json={**body, "timeout": 0.0001})
            assert (late.status_code, late.json()["error"]["type"]) == (504, "deadline_exceeded"), path
        begun = client.post("/v1/documents", json={"sentences": long, "wait": True, "timeout": 0.0001, **pair})
        assert (begun.status_code, begun.json()["state"]) in ((202, "queued"), (202, "running"))
        for method, path, body in expected:
            assert client.request(method, path, json={**body, "timeout": 50}).is_success, path
        assert client.get(f"/v1/documents/{name}").json()["sentences"][1]["source"] == long[0]
    until(lambda: document_server.sentences == 0, "every slot is free")


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "1e3", ""])
def test_a_deadline_must_be_a_time(guarded: Guarded, value: str) -> None:
    with guarded.client("shop") as client:
        answer = client.post("/v1/translate", json=BODY, headers={"X-Request-Timeout": value})
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, "X-Request-Timeout")
