"""API keys that change while servers run, and their quotas: two servers on one SQLite file, two on one Redis."""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import deepl
import httpx
import openai
import pytest
from libretranslatepy import LibreTranslateAPI

from server.cli.main import main
from server.keys import key_thread
from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.redis_server import running_redis

TEXT = "We walk home."
BODY = {"text": TEXT, "source": "en", "target": "de"}
INTERVAL = 0.1
STALE_SECONDS = INTERVAL + 2.0
"""A change is seen within the interval and the time of a look, on a busy machine."""
both = pytest.mark.parametrize("replicas", ["sqlite", "redis"], indirect=True)
redis = pytest.mark.parametrize("replicas", ["redis"], indirect=True)


@dataclass(frozen=True)
class Replicas:
    """Two servers of one store; `boss` is the secret of the key in their settings."""

    url: str
    servers: tuple[RunningServer, RunningServer]
    boss: str
    clients: tuple[httpx.Client, httpx.Client]

    def send(self, method: str, path: str, secret: str, server: int = 0, **content: Any) -> httpx.Response:
        return self.clients[server].request(method, path, headers={"X-API-Key": secret}, **content)

    def admin(self, method: str, path: str, json: object = None) -> httpx.Response:
        return self.send(method, path, self.boss, json=json)

    def make(self, name: str, **fields: Any) -> str:
        """A new key's secret, which both servers accept."""
        answer = self.admin("POST", "/v1/keys", {"name": name, **fields})
        assert answer.status_code == 201, answer.text
        secret: str = answer.json()["secret"]
        until(lambda: self.accepts(1, secret), "the key is accepted everywhere")
        return secret

    def accepts(self, server: int, secret: str) -> bool:
        return self.send("GET", "/v1/usage", secret, server).status_code == 200

    def translate(self, server: int, secret: str, text: str = TEXT) -> httpx.Response:
        return self.send("POST", "/v1/translate", secret, server, json={**BODY, "text": text})

    def used(self, server: int, secret: str) -> int:
        """Characters of the day."""
        [usage] = self.send("GET", "/v1/usage", secret, server).json()["keys"]
        assert usage["day"]["characters"] <= usage["month"]["characters"]
        return int(usage["day"]["characters"])


@pytest.fixture(scope="module")
def replicas(
    request: pytest.FixtureRequest, tiny_artifact: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replicas]:
    folder = tmp_path_factory.mktemp("keys")
    boss, line = new_key("boss", ("admin",))
    with contextlib.ExitStack() as stack:
        url = f"sqlite:///{folder}/store.db"
        if request.param == "redis":
            url = f"redis://127.0.0.1:{stack.enter_context(running_redis(folder))}/0"
        settings = settings_for(tiny_artifact, api_keys=line, context_store=url, metrics_by_key="on")
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(key_thread, "INTERVAL_SECONDS", INTERVAL)
        first, second = (stack.enter_context(ready(settings)) for _ in range(2))
        clients = (stack.enter_context(first.client()), stack.enter_context(second.client()))
        yield Replicas(url, (first, second), boss, clients)


def seconds_until(condition: Callable[[], bool]) -> float:
    began = time.monotonic()
    until(condition, "the change is seen")
    return time.monotonic() - began


@both
def test_a_key_is_made_rotated_and_revoked_at_one_server_and_all_follow(replicas: Replicas) -> None:
    answer = replicas.admin("POST", "/v1/keys", {"name": "shop", "scopes": ["translate"], "limits": {"rate": 100.0}})
    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    secret = answer.json()["secret"]
    assert replicas.translate(0, secret).status_code == 200
    assert seconds_until(lambda: replicas.accepts(1, secret)) < STALE_SECONDS
    newer = replicas.admin("POST", "/v1/keys/shop/rotate", {}).json()["secret"]
    assert [replicas.translate(0, key).status_code for key in (secret, newer)] == [200, 200]
    newest = replicas.admin("POST", "/v1/keys/shop/rotate", {"keep_seconds": 0}).json()["secret"]
    assert [replicas.translate(0, key).status_code for key in (secret, newer, newest)] == [401, 401, 200]
    assert seconds_until(lambda: not replicas.accepts(1, secret)) < STALE_SECONDS
    assert replicas.translate(1, newest).status_code == 200
    shown = {key["name"]: key for key in replicas.admin("GET", "/v1/keys").json()["keys"]}
    assert shown["boss"]["origin"] == "settings"
    assert shown["shop"] == {
        "name": "shop", "scopes": ["translate"], "origin": "store", "secrets": 1, "expires": None,
        "created": answer.json()["created"],
        "limits": {"concurrency": None, "rate": 100.0, "chars_per_day": None, "chars_per_month": None},
    }  # fmt: skip
    assert replicas.admin("DELETE", "/v1/keys/shop").status_code == 204
    assert replicas.translate(0, newest).status_code == 401
    assert seconds_until(lambda: not replicas.accepts(1, newest)) < STALE_SECONDS
    assert replicas.translate(1, newest).status_code == 401


@redis
def test_an_expired_key_is_unknown(replicas: Replicas) -> None:
    ends = time.time() + 0.5
    secret = replicas.admin("POST", "/v1/keys", {"name": "brief", "expires": ends}).json()["secret"]
    assert replicas.translate(0, secret).status_code == 200
    until(lambda: not replicas.accepts(0, secret), "it has expired")
    assert time.time() >= ends


@both
def test_the_command_line_changes_the_keys_of_running_servers(
    replicas: Replicas, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ("--store", replicas.url)
    assert main(["key", "add", "desk", "--chars-per-day", "26", *store]) == 0
    secret = capsys.readouterr().err.split()[-1]
    until(lambda: replicas.accepts(1, secret), "the key is accepted")
    assert main(["key", "rotate", "desk", "--keep-seconds", "0", *store]) == 0
    newer = capsys.readouterr().err.split()[-1]
    until(lambda: not replicas.accepts(1, secret), "the old secret is refused")
    assert replicas.translate(1, newer).status_code == 200
    assert main(["key", "list", *store]) == 0
    assert "desk\ttranslate,documents\t1 secret\tchars_per_day=26" in capsys.readouterr().out.splitlines()
    assert main(["key", "revoke", "desk", *store]) == 0
    until(lambda: not replicas.accepts(1, newer), "the key is refused")
    assert main(["key", "revoke", "desk", *store]) == 1
    assert "there is no key 'desk'" in capsys.readouterr().err


@redis
def test_keys_of_the_settings_are_not_changed_here_and_a_name_is_taken_once(replicas: Replicas) -> None:
    replicas.make("once")
    for method, path, body, status, message in (
        ("DELETE", "/v1/keys/boss", None, 409, "listed in its settings"),
        ("POST", "/v1/keys/boss/rotate", {}, 409, "listed in its settings"),
        ("PATCH", "/v1/keys/boss", {"limits": {}}, 409, "listed in its settings"),
        ("POST", "/v1/keys", {"name": "boss"}, 409, "there is a key 'boss'"),
        ("POST", "/v1/keys", {"name": "once"}, 409, "there is a key 'once'"),
        ("DELETE", "/v1/keys/nobody", None, 404, "no key 'nobody'"),
        ("POST", "/v1/keys/nobody/rotate", {}, 404, "no key 'nobody'"),
        ("PATCH", "/v1/keys/nobody", {"limits": {}}, 404, "no key 'nobody'"),
        ("PATCH", "/v1/keys/once", {"limits": {"chars_per_day": 0}}, 422, "chars_per_day"),
        ("PATCH", "/v1/keys/once", {"scopes": ["admin"], "limits": {}}, 422, "scopes"),
        ("PATCH", "/v1/keys/once", {}, 422, "limits"),
        ("POST", "/v1/keys", {"name": "a b"}, 422, "name"),
        ("POST", "/v1/keys", {"name": "c", "expires": 5}, 422, "has passed"),
        ("POST", "/v1/keys", {"name": "c", "scopes": ["translat"]}, 422, "scopes"),
        ("POST", "/v1/keys", {"name": "c", "limits": {"chars": 5}}, 422, "chars"),
        ("POST", "/v1/keys", {"name": "c", "limits": {"chars_per_day": 0}}, 422, "chars_per_day"),
        ("POST", "/v1/keys/once/rotate", {"keep_seconds": -1}, 422, "keep_seconds"),
    ):
        answer = replicas.admin(method, path, body)
        assert answer.status_code == status, (path, body, answer.text)
        assert message in answer.json()["error"]["message"]


@redis
def test_only_admins_see_keys_and_what_others_use(replicas: Replicas) -> None:
    secret = replicas.make("curious", scopes=["translate", "documents"])
    for method, path in (
        ("GET", "/v1/keys"),
        ("DELETE", "/v1/keys/once"),
        ("POST", "/v1/keys/once/rotate"),
        ("PATCH", "/v1/keys/once"),
    ):
        assert replicas.send(method, path, secret).status_code == 403
    replicas.translate(0, secret)
    own = replicas.send("GET", "/v1/usage", secret).json()["keys"]
    assert [usage["name"] for usage in own] == ["curious"]
    names = []
    after = ""
    while True:
        page = replicas.admin("GET", f"/v1/usage?limit=2&after={after}").json()
        names += [usage["name"] for usage in page["keys"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert {"boss", "curious"} <= set(names)
    assert names == sorted(set(names))
    listed = replicas.admin("GET", "/v1/keys?limit=1").json()
    assert listed["next"] == listed["keys"][0]["name"] == "boss"


@both
def test_a_quota_is_counted_over_all_servers(replicas: Replicas) -> None:
    secret = replicas.make("metered", limits={"chars_per_day": 3 * len(TEXT) + 5})
    assert [replicas.translate(server, secret).status_code for server in (0, 1)] == [200, 200]
    for server in (0, 1):
        until(lambda server=server: replicas.used(server, secret) == 2 * len(TEXT), "both know")  # type: ignore[misc]
    assert replicas.translate(1, secret).status_code == 200
    until(lambda: replicas.used(0, secret) == 3 * len(TEXT), "both know")
    refused = replicas.translate(0, secret)
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "quota_exceeded")
    assert 0 < int(refused.headers["Retry-After"]) <= 86400
    assert replicas.translate(0, secret, "Yes.").status_code == 200
    exposed = replicas.clients[0].get("/metrics").text
    counted = re.findall(r'^ringmt_characters_accepted_total{key="metered",model=".+"} (.*)$', exposed, re.MULTILINE)
    assert sum(map(float, counted)) == len(TEXT) + 4


@both
def test_new_limits_hold_at_all_servers_and_what_was_used_counts(
    replicas: Replicas, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = replicas.make("grown", limits={"chars_per_day": len(TEXT), "rate": 100.0})
    assert replicas.translate(0, secret).status_code == 200
    assert replicas.translate(0, secret).status_code == 429
    changed = replicas.admin("PATCH", "/v1/keys/grown", {"limits": {"chars_per_day": 2 * len(TEXT), "rate": None}})
    limits = {"concurrency": None, "rate": None, "chars_per_day": 2 * len(TEXT), "chars_per_month": None}
    assert (changed.status_code, changed.json()["limits"]) == (200, limits)
    assert "secret" not in changed.json()
    assert replicas.translate(0, secret).status_code == 200, "the server that was asked knows at once"

    def limit_at(server: int) -> int | None:
        [usage] = replicas.send("GET", "/v1/usage", secret, server).json()["keys"]
        limit: int | None = usage["day"]["limit"]
        return limit

    assert seconds_until(lambda: limit_at(1) == 2 * len(TEXT)) < STALE_SECONDS
    until(lambda: replicas.used(1, secret) == 2 * len(TEXT), "the other server knows what was used")
    assert replicas.translate(1, secret).status_code == 429
    assert main(["key", "limit", "grown", "--chars-per-day", "none", "--store", replicas.url]) == 0
    assert capsys.readouterr().out == "grown\ttranslate,documents\t1 secret\n"
    until(lambda: limit_at(0) is limit_at(1) is None, "both servers know that there is no limit")
    assert [replicas.translate(server, secret).status_code for server in (0, 1)] == [200, 200]


@redis
def test_clients_understand_that_their_quota_is_used_up(replicas: Replicas) -> None:
    secret, url = replicas.make("client", limits={"chars_per_month": 20}), replicas.servers[0].url
    client = deepl.DeepLClient(secret, server_url=url, send_platform_info=False)
    assert str(client.translate_text(TEXT, source_lang="EN", target_lang="DE"))
    usage = client.get_usage().character
    assert (usage.count, usage.limit, client.get_usage().any_limit_reached) == (len(TEXT), 20, False)
    with pytest.raises(deepl.QuotaExceededException):
        client.translate_text(TEXT, source_lang="EN", target_lang="DE")
    with pytest.raises(deepl.QuotaExceededException):
        client.translate_document_upload(b"We walk home.", source_lang="EN", target_lang="DE", filename="a.txt")
    assert str(client.translate_text("Yes, I", source_lang="EN", target_lang="DE"))
    assert client.get_usage().character.count == len(TEXT) + 6
    with pytest.raises(HTTPError) as libre:
        LibreTranslateAPI(url, secret).translate(TEXT, "en", "de")
    with libre.value as answer:
        assert answer.code == 429
        assert int(answer.headers["Retry-After"]) > 0
    chat = openai.OpenAI(api_key=secret, base_url=f"{url}/v1", max_retries=0)
    with pytest.raises(openai.RateLimitError) as limit:
        chat.chat.completions.create(model="en-de", messages=[{"role": "user", "content": TEXT}])
    assert (limit.value.code, limit.value.type) == ("insufficient_quota", "insufficient_quota")


@redis
def test_a_request_that_fails_costs_nothing(replicas: Replicas) -> None:
    secret = replicas.make("unlucky", limits={"chars_per_day": 1000})
    for change in ({"beam_size": 99}, {"target_prefix": "x" * 500}, {"timeout": 0.0001}):
        answer = replicas.send("POST", "/v1/translate", secret, json={**BODY, **change})
        assert answer.status_code >= 400, change
    fields, file = {"source": "en", "target": "de", "mode": "neither"}, {"file": ("a.txt", TEXT.encode())}
    assert replicas.send("POST", "/v1/files", secret, data=fields, files=file).status_code == 422
    assert replicas.used(0, secret) == 0


@redis
def test_every_way_to_translate_is_counted(replicas: Replicas) -> None:
    """Texts, scores, files, documents, what is appended and corrected, and all compatible APIs."""
    secret = replicas.make("busy")
    size, file = len(TEXT), {"file": ("a.txt", TEXT.encode())}
    pair = {"source": "en", "target": "de"}
    body = {"sentences": [TEXT], "mode": "online", "wait": True, **pair}
    document = replicas.send("POST", "/v1/documents", secret, json=body).json()
    chat = {"model": "en-de", "messages": [{"role": "user", "content": TEXT}]}
    film = {"sourceLanguage": "en", "targetLanguage": "de", "lines": [{"position": 0, "line": TEXT}]}
    expected = size
    assert replicas.used(0, secret) == expected
    for cost, path, fields in (
        (size, "/v1/translate", {"json": BODY}),
        (size, "/v1/translate", {"json": {**BODY, "stream": True}}),
        (size + 9, "/v1/score", {"json": {"items": [{"source": TEXT, "target": ["Yes.", "No..."]}], **pair}}),
        (size, "/v1/files", {"data": pair, "files": file}),
        (size, "/v1/documents", {"json": {"text": TEXT, **pair}}),
        (size, f"/v1/documents/{document['id']}/sentences", {"json": {"sentences": TEXT}}),
        (size, "/translate", {"json": {"q": TEXT, **pair}}),
        (size, "/translate_file", {"data": pair, "files": file}),
        (size, "/v2/translate", {"json": {"text": [TEXT], "source_lang": "EN", "target_lang": "DE"}}),
        (size, "/v2/document", {"data": {"source_lang": "EN", "target_lang": "DE"}, "files": file}),
        (size, "/v1/chat/completions", {"json": chat}),
        (size, "/v1/chat/completions", {"json": {**chat, "stream": True}}),
        (size, "/deeplx/translate", {"json": {"text": TEXT, "source_lang": "EN", "target_lang": "DE"}}),
        (size, "/api/translate/content", {"json": film}),
        (0, "/detect", {"json": {"q": TEXT}}),
    ):
        answer = replicas.send("POST", path, secret, **fields)
        assert answer.is_success, (path, answer.text)
        expected += cost
        assert replicas.used(0, secret) == expected, path
    place = f"/v1/documents/{document['id']}/sentences/0"
    assert replicas.send("PUT", place, secret, json={"source": "Yes."}).is_success
    assert replicas.used(0, secret) == expected + 4
    until(lambda: replicas.used(1, secret) == expected + 4, "the other server knows")


def test_a_server_that_keeps_no_keys_says_so_and_a_file_that_fails_later_costs_nothing(tiny_artifact: Path) -> None:
    boss, line = new_key("boss", ("admin",))
    settings = settings_for(tiny_artifact, api_keys=line, file_timeout=0.001)
    with ready(settings) as server, server.client() as client:
        client.headers["X-API-Key"] = boss
        for answer in (
            client.post("/v1/keys", json={"name": "shop"}),
            client.patch("/v1/keys/shop", json={"limits": {"rate": 1.0}}),
        ):
            assert (answer.status_code, "memory:// keeps no API keys" in answer.text) == (409, True)
        assert [key["name"] for key in client.get("/v1/keys").json()["keys"]] == ["boss"]
        fields, file = {"source": "en", "target": "de"}, {"file": ("a.txt", TEXT.encode())}
        later = client.post("/v1/files", data=fields, files=file, headers={"Prefer": "respond-async"})
        assert later.status_code == 202
        until(lambda: client.get(later.headers["Location"]).json()["state"] == "failed", "the file has failed")
        [usage] = client.get("/v1/usage").json()["keys"]
        assert usage == {"name": "boss", **{of: {"characters": 0, "limit": None} for of in ("day", "month")}}
        client.post("/v1/translate", json=BODY)
        assert "boss" not in client.get("/metrics").text, "names are shown only where the operator wants it"


@redis
def test_no_request_reads_the_store(replicas: Replicas, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = replicas.make("swift", limits={"chars_per_day": 10**6})
    store, threads = replicas.servers[0].state.documents.store, set()

    def watched(call: Callable[..., object]) -> Callable[..., object]:
        def watching(*args: object) -> object:
            threads.add(threading.current_thread().name)
            return call(*args)

        return watching

    for kind, name in ((type(store.keys), "version"), (type(store.usage), "read"), (type(store.usage), "add")):
        monkeypatch.setattr(kind, name, watched(getattr(kind, name)))
    for server in (0, 1, 0):
        assert replicas.translate(server, secret, "Yes.").status_code == 200
    for server in (0, 1):
        until(lambda server=server: replicas.used(server, secret) == 12, "all is counted")  # type: ignore[misc]
    assert threads == {"ringmt-keys"}
