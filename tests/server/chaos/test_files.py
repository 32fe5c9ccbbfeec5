"""Files whose clients disconnect at any stage, and parser processes that stop."""

import contextlib
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.models import SENTENCES
from tests.server.api.conftest import PATIENCE, until
from tests.server.chaos.sample_files import files_of, word_file
from tests.server.chaos.test_clients import connected, reset
from tests.server.chaos.wellbeing import assert_well, nothing_left_behind, processes_below
from tests.server.processes import Served
from tests.server.scale import SCALE

PAIR = {"source": "en", "target": "de"}
DEEPL_PAIR = {"source_lang": "EN", "target_lang": "DE"}
ROUTES: Mapping[str, Mapping[str, str]] = {"/v1/files": PAIR, "/translate_file": PAIR, "/v2/document": DEEPL_PAIR}
FILES = files_of(SENTENCES[:7])
READER = "parser_process"
"""Part of the command line of a parser process."""


def upload_of(path: str, name: str, data: bytes) -> bytes:
    """The whole request, as a client sends it."""
    request = httpx.Request("POST", f"http://x{path}", files={"file": (name, data)}, data=dict(ROUTES[path]))
    body = request.read()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {request.headers['content-type']}\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


def sent(served: Served, name: str, data: bytes, path: str = "/v1/files", **headers: str) -> httpx.Response:
    with served.client() as client:
        return client.post(path, files={"file": (name, data)}, data=dict(ROUTES[path]), headers=headers)


def leave(connection: socket.socket, how: int) -> None:
    """Close the connection by a reset, after closing one half, or normally."""
    with contextlib.suppress(OSError):
        match how % 3:
            case 0:
                reset(connection)
            case 1:
                connection.shutdown(socket.SHUT_WR)
                connection.close()
            case _:
                connection.close()


@pytest.mark.parametrize("path", list(ROUTES))
def test_a_client_that_disconnects_at_any_stage_releases_everything(counted: Served, path: str) -> None:
    """Clients disconnect while they send, while the file is parsed, translated and written, and while they receive."""
    whole: dict[str, tuple[int, float]] = {}
    for name, data in FILES.items():
        began = time.monotonic()
        answer = sent(counted, name, data, path)
        assert answer.status_code == 200, answer.text
        whole[name] = (len(answer.content), time.monotonic() - began)

    def admitted(seed: int) -> str:
        chance = random.Random(seed)
        name = chance.choice(list(FILES))
        request, (size, seconds) = upload_of(path, name, FILES[name]), whole[name]
        stage = ("sending", "working", "answered")[seed % 3]
        with connected(counted) as connection:
            connection.sendall(request[: chance.randrange(len(request))] if stage == "sending" else request)
            if stage == "working":
                time.sleep(chance.random() * seconds)
            if stage == "answered":
                connection.recv(chance.randint(1, size))
            leave(connection, chance.randrange(3))
        return stage

    with nothing_left_behind(counted), ThreadPoolExecutor(4) as pool:
        stages = Counter(pool.map(admitted, range(24 * SCALE)))
        for name, data in FILES.items():
            assert sent(counted, name, data, path).status_code == 200
    print(f"{path}: clients left {dict(stages)}; nothing of them is left")


def test_a_file_is_kept_for_a_client_that_disconnected(counted: Served) -> None:
    """DeepL's API keeps files until they are downloaded."""
    expected = sent(counted, "a.docx", FILES["a.docx"])
    assert expected.status_code == 200
    with nothing_left_behind(counted):
        for seed in range(3 * SCALE):
            with connected(counted) as connection:
                connection.sendall(upload_of("/v2/document", "a.docx", FILES["a.docx"]))
                response = connection.recv(65_536)
                while not response.rstrip().endswith(b"}"):
                    more = connection.recv(65_536)
                    assert more, response
                    response += more
                leave(connection, seed)
            created = httpx.Response(200, content=response.partition(b"\r\n\r\n")[2]).json()
            result = fetched(
                counted, f"/v2/document/{created['document_id']}", {"document_key": created["document_key"]}
            )
            assert result.status_code == 200
            assert len(result.content) == pytest.approx(len(expected.content), rel=0.1)


def fetched(served: Served, where: str, key: Mapping[str, str]) -> httpx.Response:
    """The translated file at `where`, as soon as it is done."""
    with served.client() as client:
        until(lambda: client.post(where, json=key).json()["status"] == "done", "the file is done")
        return client.post(f"{where}/result", json=key)


def readers(served: Served) -> list[int]:
    """The ids of the server's parser processes."""
    results = []
    for pid in processes_below(served.process.pid):
        with contextlib.suppress(OSError):
            if READER.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                results.append(pid)
    return results


@contextlib.contextmanager
def signalled(pids: list[int], number: signal.Signals) -> Iterator[None]:
    """Send a signal to the processes; continue the living processes at the end."""
    for pid in pids:
        os.kill(pid, number)
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_process_that_reads_files_and_stops_costs_at_most_its_own_file(
    counted: Served, number: signal.Signals
) -> None:
    """Its file is refused in time, or parsed by another process; texts are translated meanwhile, and the next file is
    parsed. A stopped process is replaced."""
    file = word_file(SENTENCES[:3])
    assert sent(counted, "a.docx", file).status_code == 200
    assert readers(counted)
    with nothing_left_behind(counted):
        for _ in range(min(SCALE, 20)):
            stopped = readers(counted)
            with signalled(stopped, number), ThreadPoolExecutor(4) as pool:
                waiting = [pool.submit(sent, counted, "a.docx", file, **{"X-Request-Timeout": "2"}) for _ in range(4)]
                assert counted.translate("Yes.").status_code == 200
                assert counted.status("/livez") == 200
                statuses = {future.result(PATIENCE).status_code for future in waiting}
                assert statuses <= {200, 413, 422, 503, 504}, statuses
                if number == signal.SIGSTOP:  # it would have read it at once
                    assert statuses & {200, 504, 503, 413}, statuses
                until(lambda: sent(counted, "a.docx", file).status_code == 200, "a file is read again")
            if number == signal.SIGSTOP:
                until(lambda stopped=stopped: not set(stopped) & set(readers(counted)), "none of the stopped is left")  # type: ignore[misc]
    assert_well(counted)
    print(f"{min(SCALE, 20)} times {number.name} to every process that reads files: the next file was read")
