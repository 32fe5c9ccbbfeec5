"""Two `ringmt serve` processes over a real Redis, and the nginx of docker/nginx before them."""

import contextlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from server.api.app import create_app
from server.settings import Settings
from server.stores.open_store import open_store
from tests.children import child
from tests.server.api.conftest import PATIENCE, until
from tests.server.api.documents import MANY, STORY, Documents, translations
from tests.server.processes import Served, starting
from tests.server.redis_server import free_port, running_redis

DOCKER = Path(__file__).parents[2] / "docker"
FLAGS = ("--document-lease", "1.0", "--log-level", "error", "--drain-timeout", "20")

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx") is None, reason="nginx is not installed (Debian: apt-get install nginx-light)"
)


@dataclass(frozen=True)
class Replicas:
    store_url: str
    both: tuple[Served, Served]

    def working(self) -> tuple[Served, Served]:
        """The replica that works on a document, and the other."""
        a, b = self.both
        return (a, b) if a.metric("document_jobs_running") else (b, a)


@pytest.fixture(scope="module")
def replicas(document_artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    with running_redis(tmp_path_factory.mktemp("redis")) as port:
        url = f"redis://127.0.0.1:{port}/0"
        flags = (*FLAGS, "--context-store", url)
        with starting(document_artifact, *flags) as a, starting(document_artifact, *flags) as b:
            for replica in (a, b):
                until(replica.answers, "the replica is ready")
            yield Replicas(url, (a, b))


@contextlib.contextmanager
def nginx(folder: Path, replicas: Sequence[str]) -> Iterator[str]:
    """The address of an nginx that runs our configuration, with these replicas (HOST:PORT) and this folder in it."""
    text = (DOCKER / "nginx/nginx.conf").read_text(encoding="utf-8")
    port = free_port()
    for name, replica in zip(("replica-a:8000", "replica-b:8000"), replicas, strict=True):
        assert text.count(name) == 1
        text = text.replace(name, replica)
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("/tmp/", f"{folder}/")
    text = re.sub("^worker_processes auto;", "worker_processes 1;", text, flags=re.M)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    # As root, nginx would give its workers to a user who may not enter this test's folder.
    user = " user root;" if os.getuid() == 0 else ""
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-g", f"daemon off;{user}", "-e", str(folder / "error.log")]
    with child(command, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: is_open(f"http://127.0.0.1:{port}"), "nginx answers")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(PATIENCE)  # until it has ended its workers


def is_open(address: str) -> bool:
    try:
        return httpx.get(f"{address}/metrics").status_code == 404
    except httpx.TransportError:
        return False


def test_any_replica_serves_any_document(replicas: Replicas) -> None:
    with replicas.both[0].client() as a, replicas.both[1].client() as b:
        first, second = Documents(a), Documents(b)
        made = first.post(sentences=STORY, mode="online", max_length=8)
        assert second.get(made["id"])["sentences"] == first.get(made["id"])["sentences"] == made["sentences"]
        grown = second.append(made["id"], ["The rain is back."], first_index=len(STORY))
        assert [sentence["index"] for sentence in grown["sentences"]] == [len(STORY)]
        first.put(made["id"], 0, source="The boy walks home in the rain.")
        assert second.get(made["id"])["sentences"][0]["source"] == "The boy walks home in the rain."
        assert second.context(made["id"], 3) == first.context(made["id"], 3)
        assert b.delete(f"/v1/documents/{made['id']}").status_code == 204
        first.get(made["id"], 404)


def test_another_replica_finishes_the_document_of_a_killed_one(replicas: Replicas) -> None:
    with replicas.both[0].client() as client:
        name = Documents(client).post(202, sentences=MANY, wait=False, max_length=12, beam_size=1)["id"]
        until(lambda: Documents(client).get(name, limit="0")["progress"] > 0, "a part is translated")
        victim, other = replicas.working()
        victim.kill()
    store = open_store(replicas.store_url)
    try:
        before = store.sentences(name)
        finished = [sentence.index for sentence in before if not sentence.is_pending]
        assert 0 < len(finished) < len(MANY)
        with other.client() as client:
            done = Documents(client).done(name)
            assert [(sentence["index"], sentence["source"]) for sentence in done["sentences"]] == list(enumerate(MANY))
            whole = Documents(client).post(sentences=MANY, max_length=12, beam_size=1)
            assert translations(done) == translations(whole)
        after = store.sentences(name)
        assert [after[index] for index in finished] == [before[index] for index in finished], "made twice"
    finally:
        store.close()
    victim.restart()
    until(victim.answers, "the killed replica is back")
    with victim.client() as client:
        assert Documents(client).done(name) == done


@needs_nginx
def test_nginx_routes_a_document_to_one_replica_and_loses_no_request(replicas: Replicas, tmp_path: Path) -> None:
    """Documents stay where they are; a replica that drains and one that dies cost no translation and no reading."""
    addresses = [replica.url.removeprefix("http://") for replica in replicas.both]
    with nginx(tmp_path, addresses) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        places = places_of_documents(client, replicas)
        names = [*places]
        assert {name: place_of(name, client, replicas) for name in names} == places
        traced = client.get(f"/v1/documents/{names[0]}", headers={"X-Request-ID": "mine-1"})
        assert traced.headers["X-Request-ID"] == "mine-1"
        clients = Clients(address, names)
        with ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(clients.run) for _ in range(3)]
            victim, other = replicas.both
            for end in (victim.process.terminate, other.process.kill):
                clients.wait_for_more()
                end()
                stopped = victim if end == victim.process.terminate else other
                stopped.process.wait(PATIENCE)
                clients.wait_for_more()
                stopped.process.communicate()
                stopped.restart()
                until(stopped.answers, "it is back")
            clients.must_stop.set()
            for future in futures:
                future.result(PATIENCE)
        assert clients.failed == []


def locations() -> list[tuple[str, str]]:
    """(modifier and pattern, content) of every location of our configuration, in its order."""
    text = re.sub(r"#.*", "", (DOCKER / "nginx/nginx.conf").read_text(encoding="utf-8"))
    return re.findall(r"location ([^{]+?) \{(.*?)\}", text, flags=re.S)


def location_of(path: str) -> str:
    """What nginx does with a path: an exact location, else the first pattern that fits, else the longest beginning."""
    plain = [(name.removeprefix("= "), content) for name, content in locations() if not name.startswith("~")]
    patterns = [(name.removeprefix("~ "), content) for name, content in locations() if name.startswith("~")]
    exact = [content for name, content in locations() if name == f"= {path}"]
    matching = [content for pattern, content in patterns if re.search(pattern, path)]
    starts = [
        content for name, content in sorted(plain, key=lambda location: -len(location[0])) if path.startswith(name)
    ]
    return next(iter([*exact, *matching, *starts]))


def test_file_routes_are_tried_once() -> None:
    """Whatever route the server gets that takes a file: it could end every replica, one after the other."""
    takes_files = [
        path
        for path, methods in create_app(Settings()).openapi()["paths"].items()
        if [*methods.get("post", {}).get("requestBody", {}).get("content", {})] == ["multipart/form-data"]
    ]
    imports = "/v1/translation_memories/{memory_id}/import"
    assert {"/v1/files", "/translate_file", "/v2/document", imports} == set(takes_files)
    for path in takes_files:
        assert re.findall(r"proxy_next_upstream [^;]*;", location_of(path)) == ["proxy_next_upstream off;"], path
    assert "non_idempotent" in location_of("/v1/translate")


@needs_nginx
def test_a_file_that_ends_a_replica_is_not_sent_to_another(tmp_path: Path) -> None:
    """Both replicas are places that count requests and hang up in the midst of them."""
    paths_received: list[str] = []

    class HangsUp(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths_received.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.connection.close()

    with contextlib.ExitStack() as stack:
        dying = [ThreadingHTTPServer(("127.0.0.1", 0), HangsUp) for _ in range(2)]
        for server in dying:
            stack.callback(server.server_close)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        ports = tuple(server.server_address[1] for server in dying)
        address = stack.enter_context(nginx(tmp_path, [f"127.0.0.1:{port}" for port in ports]))
        for path in ("/v1/files", "/translate_file", "/v2/document"):
            paths_received.clear()
            answer = httpx.post(f"{address}{path}", files={"file": ("a.txt", b"Yes.")}, timeout=PATIENCE)
            assert answer.status_code == 502
            assert paths_received == [path]
        paths_received.clear()
        httpx.post(f"{address}/v1/translate", json={}, timeout=PATIENCE)
        assert paths_received == ["/v1/translate"] * 2, "other routes are tried twice"


class Clients:
    """Clients that translate and read documents, and note every answer that is not 200."""

    def __init__(self, address: str, names: list[str]) -> None:
        self.address, self.names = address, names
        self.must_stop = threading.Event()
        self.failed: list[str] = []
        self.answered = 0

    def run(self) -> None:
        body = {"text": "We walk home in the rain. " * 3, "source": "en", "target": "de", "max_length": 8}
        with httpx.Client(base_url=self.address, timeout=PATIENCE) as client:
            while not self.must_stop.is_set():
                for name in self.names:
                    document = client.get(f"/v1/documents/{name}")
                    translation = client.post("/v1/translate", json=body)
                    self.failed += [
                        response.text for response in (document, translation) if response.status_code != 200
                    ]
                    self.answered += 1

    def wait_for_more(self) -> None:
        enough = self.answered + 10
        until(lambda: self.answered >= enough, "more was paths_received")


def places_of_documents(client: httpx.Client, replicas: Replicas) -> dict[str, int]:
    """New documents, and which replica answers for each. There are eight, or as many as it takes until both replicas
    have one: their ids are random, and one in 128 times eight documents belong to one replica."""
    places: dict[str, int] = {}
    while len(places) < 8 or set(places.values()) != {0, 1}:
        assert len(places) < 64, "one replica gets everything"
        name = Documents(client).post(sentences=STORY[:2], max_length=4)["id"]
        places[name] = place_of(name, client, replicas)
    return places


def place_of(name: str, client: httpx.Client, replicas: Replicas) -> int:
    """Which replica answers for a document."""
    labels = {"endpoint": "/v1/documents/{document_id}", "code": "200"}
    before = [replica.metric("requests_total", **labels) for replica in replicas.both]
    assert client.get(f"/v1/documents/{name}").status_code == 200
    after = [replica.metric("requests_total", **labels) for replica in replicas.both]
    [place] = [index for index, (old, new) in enumerate(zip(before, after, strict=True)) if new > old]
    return place
