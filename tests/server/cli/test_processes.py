"""`ringmt serve --processes`: starts, stops, and processes that are killed."""

import contextlib
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.api.conftest import PATIENCE, until
from tests.server.api.serving.processes_of_one import is_alive, workers_of
from tests.server.processes import Served, serving, starting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="several processes are one server on Linux only")

LONG = "".join("We walk home in the rain, " * 4 + f"and where is the station {n}?\n" for n in range(40))
TWO = ("--processes", "2", "--slots", "4")


def store(folder: Path) -> tuple[str, str]:
    return "--context-store", f"sqlite:///{folder}/store.db"


def busy(served: Served) -> bool:
    return served.metric("running_sentences") > 0


def log_of(served: Served) -> str:
    return served.process.communicate(timeout=PATIENCE)[1]


def test_a_signal_lets_requests_of_all_processes_finish(tiny_artifact: Path, tmp_path: Path) -> None:
    with (
        serving(tiny_artifact, *TWO, *store(tmp_path), "--drain-timeout", "60") as served,
        ThreadPoolExecutor(8) as pool,
    ):
        until(lambda: served.metric("slots") == 4, "both processes are ready")
        answers = [pool.submit(served.translate, LONG) for _ in range(8)]
        until(lambda: served.metric("requests_in_progress") == 8, "all requests have arrived")
        until(lambda: served.metric("running_sentences") > 2, "both processes work")  # each has two slots
        for pid in (served.process.pid, *workers_of(served.process.pid)):  # as an init system does
            os.kill(pid, signal.SIGTERM)
        until(lambda: served.status("/readyz") == 503, "the server drains")
        assert [answer.result(PATIENCE).status_code for answer in answers] == [200] * 8
        assert served.process.wait(PATIENCE) == 0
        assert log_of(served).count("all that was in flight was answered") == 2


def test_a_server_that_says_it_is_ready_refuses_nobody(tiny_artifact: Path, tmp_path: Path) -> None:
    """While its other processes still load."""
    more = ("--processes", "4", "--slots", "8", *store(tmp_path))
    with serving(tiny_artifact, *more, program="tests.server.slow_ticks") as served:
        assert [served.status("/readyz") for _ in range(12)] == [200] * 12


def test_a_second_signal_stops_all_at_once(tiny_artifact: Path, tmp_path: Path) -> None:
    with (
        serving(tiny_artifact, *TWO, *store(tmp_path), "--drain-timeout", "600") as served,
        ThreadPoolExecutor(1) as pool,
    ):
        answer = pool.submit(served.translate, LONG * 10)
        until(lambda: busy(served), "the request is being worked on")
        workers = workers_of(served.process.pid)
        served.process.terminate()
        until(lambda: served.status("/readyz") == 503, "the server drains")
        served.process.terminate()
        assert served.process.wait(PATIENCE) == 1
        assert not any(map(is_alive, workers))
        assert isinstance(answer.exception(PATIENCE), httpx.TransportError) or answer.result().status_code == 503


def test_no_process_outlives_a_supervisor_that_is_killed(tiny_artifact: Path, tmp_path: Path) -> None:
    with serving(tiny_artifact, *TWO, *store(tmp_path)) as served:
        until(lambda: served.metric("slots") == 4, "both processes are ready")
        workers = workers_of(served.process.pid)
        assert len(workers) == 2
        served.process.kill()
        try:
            until(lambda: not any(map(is_alive, workers)), "its processes have ended")
        finally:
            for pid in filter(is_alive, workers):
                os.kill(pid, signal.SIGKILL)
        served.process.communicate()
        served.restart()  # the port is free
        until(served.answers, "the server is ready")


def test_a_killed_process_loses_only_the_requests_in_its_hands(tiny_artifact: Path, tmp_path: Path) -> None:
    """Eight clients; each has one request at a time, so a killed process had at most eight."""
    with serving(tiny_artifact, *TWO, *store(tmp_path)) as served:
        until(lambda: served.metric("slots") == 4, "both processes are ready")
        lost, statuses, is_over = [0], set(), threading.Event()

        def use() -> None:
            while not is_over.is_set():
                try:
                    statuses.add(served.translate("Where is the station?").status_code)
                except httpx.TransportError:
                    lost[0] += 1

        with ThreadPoolExecutor(8) as pool:
            users = [pool.submit(use) for _ in range(8)]
            try:
                for _ in range(2):
                    first = workers_of(served.process.pid)
                    before = served.metric("requests_total", endpoint="/v1/translate")
                    until(lambda: served.metric("requests_total", endpoint="/v1/translate") > before + 20, "all work")  # noqa: B023
                    os.kill(first[0], signal.SIGKILL)
                    until(lambda: len(set(workers_of(served.process.pid)) - set(first)) == 1, "another one starts")  # noqa: B023
                    until(lambda: served.metric("slots") == 4, "it is ready")
            finally:
                is_over.set()
            for user in users:
                user.result(PATIENCE)
        assert statuses == {200}
        assert lost[0] <= 2 * 8
        served.process.terminate()
        assert served.process.wait(PATIENCE) == 0
        assert log_of(served).count("was killed by signal 9 and is replaced") == 2


def test_a_process_that_hangs_is_replaced_and_what_it_did_not_take_is_answered(
    tiny_artifact: Path, tmp_path: Path
) -> None:
    with (
        serving(tiny_artifact, *TWO, *store(tmp_path), program="tests.server.impatient") as served,
        ThreadPoolExecutor(6) as pool,
        contextlib.ExitStack() as clients,
    ):
        until(lambda: served.metric("slots") == 4, "both processes are ready")
        stopped = workers_of(served.process.pid)[0]
        until(lambda: sends_file(served) and bool(workers_of(stopped)), "it has a process for files")
        of_files = workers_of(stopped)
        os.kill(stopped, signal.SIGSTOP)
        kept = [clients.enter_context(served.client()) for _ in range(6)]  # the other process keeps its connections
        answers = [pool.submit(client.get, "/v1/models") for client in kept]
        until(lambda: sum(answer.done() for answer in answers) >= 3, "the other process has answered")
        assert not all(answer.done() for answer in answers)
        assert [answer.result(PATIENCE).status_code for answer in answers] == [200] * 6
        assert not is_alive(stopped)
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in of_files), "its processes have ended")
        until(lambda: served.metric("slots") == 4, "the process is replaced")


def sends_file(served: Served) -> bool:
    with served.client() as client:
        answer = client.post("/v1/files", files={"file": ("a.txt", b"Yes.")}, data={"source": "en", "target": "de"})
    return answer.status_code == 200


def test_what_a_killed_server_left_is_removed_by_the_next_one(
    tiny_artifact: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving(tiny_artifact, *TWO, *store(tmp_path)) as served, serving(tiny_artifact, *TWO, *store(tmp_path)):
        [left, other] = sorted(tmp_path.glob("ringmt-*"), key=lambda folder: folder.stat().st_ctime)
        served.kill()
        served.restart()
        until(served.answers, "the server is ready")
        folders = set(tmp_path.glob("ringmt-*"))
        assert len(folders) == 2
        assert other in folders
        assert left not in folders
        served.process.terminate()
        assert served.process.wait(PATIENCE) == 0
        assert set(tmp_path.glob("ringmt-*")) == {other}


def no_store(artifact: Path, folder: Path) -> tuple[str, ...]:
    return ()


def broken(artifact: Path, folder: Path) -> tuple[str, ...]:
    graph = next(artifact.glob("*.onnx"))
    graph.write_bytes(graph.read_bytes()[:-100])
    return store(folder)


def unusable_store(artifact: Path, folder: Path) -> tuple[str, ...]:
    return "--context-store", f"sqlite:///{folder}/nowhere/store.db"


def wrong_key(artifact: Path, folder: Path) -> tuple[str, ...]:
    return (*store(folder), "--api-keys", "shop everything sha256:0")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (no_store, "processes 2: 2 processes cannot share documents in memory://: give --context-store sqlite:///PATH"),
        (broken, "is not the file that was exported"),
        (unusable_store, "store.db"),
        (wrong_key, "api_keys"),
    ],
)
def test_what_cannot_be_served_ends_the_start_with_one_message(
    tiny_artifact: Path, tmp_path: Path, prepare: Callable[[Path, Path], tuple[str, ...]], message: str
) -> None:
    artifact = tmp_path / "tiny"
    shutil.copytree(tiny_artifact, artifact)
    flags = prepare(artifact, tmp_path)
    with starting(artifact, *TWO, *flags) as served:
        log = log_of(served)
    assert served.process.returncode == 1
    [error] = [line for line in log.splitlines() if line.startswith("ringmt: ")]
    assert message in error
    assert "is replaced" not in log
    assert "Traceback" not in log


def test_a_port_that_is_taken_is_an_error(tiny_artifact: Path, tmp_path: Path) -> None:
    with serving(tiny_artifact) as first, starting(tiny_artifact, *TWO, *store(tmp_path)) as second:
        second.kill()
        command = [*second.command[:-1], second.command[-1], "--port", str(first.port)]
        second.command = command
        second.restart()
        log = log_of(second)
        assert second.process.returncode == 1
        assert f"ringmt: [Errno 98] cannot listen on 127.0.0.1 port {first.port}" in log


def test_the_start_says_what_each_process_gets(tiny_artifact: Path, tmp_path: Path) -> None:
    with serving(tiny_artifact, *TWO, *store(tmp_path), "--log-format", "json") as served:
        assert len(workers_of(served.process.pid)) == 2
        served.process.terminate()
        log = [json.loads(line)["message"] for line in log_of(served).splitlines()]
    [line] = [line for line in log if "processes on" in line]
    assert "each: 1 decoding threads and 2 slots a model" in line
    assert f"listening on {served.url}" in log
