"""docker/ray/serve.yaml for real: two replicas under Ray Serve over a real Redis. `make ray` installs Ray for it."""

import contextlib
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from server.runtime.setting_fields import SettingsError
from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, until
from tests.server.api.documents import STORY, Documents, translations
from tests.server.api.transport.test_protocol import rest_of
from tests.server.processes import ROOT
from tests.server.redis_server import free_port, running_redis

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: make ray"),
    pytest.mark.time_limit(600.0),
]
MANY = [SENTENCES[index % 7] for index in range(200)]
START_SECONDS = 240.0
NEVER_LOGGED = "lighthouse keeper"


@dataclass(frozen=True)
class OnRay:
    """`process` is `serve run`; Ray keeps its files in `folder`."""

    process: "subprocess.Popen[bytes]"
    url: str
    folder: Path
    environment: dict[str, str] = field(repr=False)

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=PATIENCE)

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(httpx.TransportError), httpx.Client(base_url=self.url, timeout=5) as client:
            return client.get("/readyz").status_code == 200
        return False

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """For what Ray does: processes start one after the other, on a busy machine for longer than PATIENCE."""
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain until {what}: {self.log()}"
            threading.Event().wait(0.1)

    def deploy(self, **arguments: object) -> None:
        """As `serve deploy` does, with other arguments."""
        config = yaml.safe_load((self.folder / "serve.yaml").read_text(encoding="utf-8"))
        config["applications"][0]["args"] |= arguments
        (self.folder / "other.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        [address] = re.findall(r"dashboard at \S*?(http://[\d.:]+)", self.log())
        command = [sys.executable, "-m", "ray.serve.scripts", "deploy", str(self.folder / "other.yaml"), "-a", address]
        environment = {**self.environment, "RAY_AUTH_MODE": "token"}
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def replicas(self) -> list[int]:
        """The processes that serve, by what Ray writes into their titles; it starts them below `serve run`."""
        results = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"ServeReplica:ringmt:RingMT" in (path / "cmdline").read_bytes() and self._is_descendant(
                    int(path.name)
                ):
                    results.append(int(path.name))
        return results

    def _is_descendant(self, pid: int) -> bool:
        while pid > 1:
            if pid == self.process.pid:
                return True
            pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
        return False

    def metric(self, name: str) -> float:
        """Of the replica that happens to answer, summed over labels."""
        with self.client() as client:
            lines = client.get("/metrics").text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


@pytest.fixture(scope="module")
def on_ray(document_artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnRay]:
    port = free_port()
    config: dict[str, Any] = yaml.safe_load((ROOT / "docker/ray/serve.yaml").read_text(encoding="utf-8"))
    config["http_options"]["port"] = port
    small = {"models": str(document_artifact), "precision": "fp32", "shortlist": "off", "slots": 2}
    with contextlib.ExitStack() as stack:
        # Ray puts sockets below its folder, whose paths may have 107 bytes: pytest's folders are too deep.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True)))
        redis = stack.enter_context(running_redis(tmp_path_factory.mktemp("redis")))
        config["applications"][0]["args"] |= {
            **small,
            "context_store": f"redis://127.0.0.1:{redis}/0",
            "document_lease": 1.0,
            "request_timeout": START_SECONDS,
            "translation_cache_bytes": 0,
        }
        (folder / "serve.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | {
            "HOME": str(folder),  # where Ray keeps the token of its cluster
            "RAY_TMPDIR": str(folder),
            "RAY_USAGE_STATS_REPORT_INTERVAL_S": "1",
            "RAY_USAGE_STATS_REPORT_URL": "http://127.0.0.1:9",
        }
        log = stack.enter_context((folder / "log").open("wb"))
        process = subprocess.Popen(
            [sys.executable, "-m", "ray.serve.scripts", "run", str(folder / "serve.yaml")],
            env={**environment, "OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
        )
        served = OnRay(process, f"http://127.0.0.1:{port}", folder, environment)
        try:
            served.wait_until(lambda: served.answers() and len(served.replicas()) == 2, "two replicas serve")
            yield served
        finally:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            process.kill()
            process.wait()


def test_any_replica_serves_any_document(on_ray: OnRay) -> None:
    with on_ray.client() as client:
        made = Documents(client).post(sentences=STORY, mode="online", max_length=8)
        begun = set[float]()

        def read() -> bool:
            assert Documents(client).get(made["id"])["sentences"] == made["sentences"]
            begun.add(on_ray.metric("process_start_time_seconds"))
            return len(begun) == 2

        until(read, "both replicas have answered")


def test_replicas_that_are_killed_come_back_and_finish_the_document(on_ray: OnRay) -> None:
    with on_ray.client() as client:
        name = Documents(client).post(202, sentences=MANY, wait=False, max_length=12, beam_size=1)["id"]
        until(lambda: Documents(client).get(name)["progress"] > 0, "a part is translated")
        victims = on_ray.replicas()
        for pid in victims:
            os.kill(pid, signal.SIGKILL)

        def is_done() -> bool:
            with contextlib.suppress(httpx.ReadTimeout):  # Ray's proxy lets requests wait until there is a replica
                result = client.get(f"/v1/documents/{name}")
                return result.status_code == 200 and bool(result.json()["state"] == "done")
            return False

        on_ray.wait_until(is_done, "others have finished it")
        result = Documents(client).get(name)
        assert [(sentence["index"], sentence["source"]) for sentence in result["sentences"]] == list(enumerate(MANY))
        whole = Documents(client).post(sentences=MANY, max_length=12, beam_size=1)
        assert translations(result) == translations(whole)
        assert not set(victims) & set(on_ray.replicas())


def test_a_closed_connection_frees_the_slots(on_ray: OnRay) -> None:
    with on_ray.client() as client:
        body = {"text": " ".join(MANY), "source": "en", "target": "de"}

        seconds = 0.4

        def is_dropped() -> bool:
            nonlocal seconds
            try:
                client.post("/v1/translate", json=body, timeout=httpx.Timeout(PATIENCE, read=seconds))
                seconds /= 2  # a fast machine has answered before anybody hung up
            except httpx.ReadTimeout:
                pass
            return on_ray.metric("ringmt_requests_cancelled_total") > 0

        on_ray.wait_until(is_dropped, "what was begun is dropped")
        until(lambda: on_ray.metric("ringmt_running_sentences") == 0, "every slot is free")
        assert client.post("/v1/translate", json={**body, "text": "Yes."}).status_code == 200


def test_requests_in_flight_are_answered_when_replicas_are_replaced(on_ray: OnRay) -> None:
    """Requests whose bodies have not ended are in flight for as long as the test wants, at both replicas."""
    body = json.dumps({"text": "We walk home in the rain.", "source": "en", "target": "de"}).encode()
    head = b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    before = on_ray.replicas()
    with contextlib.ExitStack() as stack:
        address = ("127.0.0.1", int(on_ray.url.rpartition(":")[2]))
        in_flight = [stack.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(8)]
        for connection in in_flight:
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body[:10])
        on_ray.deploy(slots=3)
        on_ray.wait_until(lambda: "with outdated" in on_ray.log(), "the first is told to stop")
        for connection in in_flight:
            connection.sendall(body[10:])
        answers = [rest_of(connection) for connection in in_flight]
        assert [answer.split()[1] for answer in answers] == [b"200"] * len(in_flight)
    on_ray.wait_until(lambda: len(on_ray.replicas()) == 2 and not {*before} & {*on_ray.replicas()}, "all are new")
    on_ray.wait_until(lambda: on_ray.metric("ringmt_slots") == 3, "they have the new settings")


def test_ray_sends_no_usage_data_and_logs_no_text(on_ray: OnRay) -> None:
    with on_ray.client() as client:
        body = {"text": f"The {NEVER_LOGGED} sleeps.", "source": "en", "target": "de"}
        assert client.post("/v1/translate", json=body).status_code == 200
        assert client.post("/translate", params={**body, "q": body["text"]}).status_code == 200
    logs = [path for path in on_ray.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any("RingMT" in path.name for path in logs)
    assert [path for path in logs if NEVER_LOGGED.encode() in path.read_bytes()] == []
    assert [path for path in logs if path.name == "usage_stats.json"] == []


@pytest.mark.filterwarnings("ignore")  # Ray's own, when it is imported
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_replicas": 0}, "num_replicas must be a whole number from 1, not '0'"),
        ({"num_replicas": 2}, "replicas share their documents over Redis, not over memory://"),
        ({"port": 8001}, "port is set in http_options"),
        ({"contxt_store": "memory://"}, "unknown argument contxt_store: did you mean 'context_store'?"),
        ({"slots": "many"}, "--slots must be a whole number, not 'many'"),
    ],
)
def test_invalid_arguments_are_errors(arguments: dict[str, object], message: str) -> None:
    ray_deployment = importlib.import_module("server.ray_deployment")
    with pytest.raises(SettingsError) as error:
        ray_deployment.application(arguments)
    assert message in str(error.value)
