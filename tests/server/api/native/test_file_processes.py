"""The routes that take files open them in processes of their own, which end with their request and their server."""

import io
import os
import signal
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.files.formats import registry as table
from tests.server.api.conftest import PATIENCE, ready, settings_for, until
from tests.server.files.processes import BUSY_TICKS, cpu_ticks, is_running, parsers_of
from tests.server.files.some import BUSY, small_docx, small_files
from tests.server.processes import Served, serving

FIELDS = {"source": "en", "target": "de"}
MOST_GROWTH = 64 * 2**20
"""How many bytes a server may grow while it answers any file."""
LIMITS = ("--file-cpu-seconds", "100", "--file-memory-bytes", str(4 * 2**30), "--max-total-chars", "100000000")
"""Of a server that works on BUSY until somebody ends it."""

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


def send(address: str, data: bytes, name: str, within: float = PATIENCE, **fields: str) -> httpx.Response:
    headers = {"X-Request-Timeout": str(within)}
    files = {"file": (name, data)}
    return httpx.post(f"{address}/v1/files", files=files, data=FIELDS | fields, headers=headers, timeout=2 * PATIENCE)


def busy_parser(server: int) -> int:
    """The parser process of a server that computes now; one that has read files before may still be idle."""
    results: list[int] = []
    before = {pid: cpu_ticks(pid) for pid in parsers_of(server)}

    def look() -> bool:
        results[:] = [pid for pid in parsers_of(server) if cpu_ticks(pid) >= before.get(pid, 0) + BUSY_TICKS]
        return bool(results)

    until(look, "a file is being read")
    return results[0]


@pytest.fixture(scope="module")
def patient(tiny_artifact: Path) -> Iterator[Served]:
    """A server process that reads BUSY for as long as it takes."""
    with serving(tiny_artifact, *LIMITS, "--log-level", "error") as served:
        yield served


def test_no_route_opens_a_file_in_the_server(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("a client's file was opened in the server")

    monkeypatch.setattr("server.files.parsing.open_file", opened)
    monkeypatch.setattr(table, "open_file", opened)
    others = set(parsers_of())  # of servers that other tests share
    with ready(settings_for(tiny_artifact)) as server, server.client() as client:
        for name, data in small_files().items():
            assert send(server.url, data, name).status_code == 200, name
        form: Any = {"file": ("a.docx", small_docx())}
        libre = client.post("/translate_file", data=FIELDS, files=form)
        assert client.get(libre.json()["translatedFileUrl"]).content.startswith(b"PK")
        kept = client.post("/v2/document", data={"source_lang": "EN", "target_lang": "DE"}, files=form).json()
        place, key = f"/v2/document/{kept['document_id']}", {"document_key": kept["document_key"]}
        until(lambda: client.post(place, json=key).json()["status"] == "done", "the document is translated")
        assert client.post(f"{place}/result", json=key).content.startswith(b"PK")
        assert 1 <= len(set(parsers_of()) - others) <= server.state.settings.file_processes
    assert not set(parsers_of()) - others, "processes are left behind"


@pytest.mark.parametrize("route", ["/v1/files", "/translate_file", "/v2/document"])
def test_a_deadline_ends_the_process(patient: Served, route: str) -> None:
    fields = FIELDS | {"source_lang": "EN", "target_lang": "DE"} if "v2" in route else FIELDS
    with patient.client() as client:
        files: Any = {"file": ("a.md", BUSY)}
        answer = client.post(route, data=fields, files=files, headers={"X-Request-Timeout": "1"})
    assert answer.status_code == 504, answer.text
    until(lambda: not any(map(is_running, parsers_of(patient.process.pid))), "its process is gone")


def test_probes_and_texts_are_answered_while_a_file_is_read(patient: Served) -> None:
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send, patient.url, BUSY, "a.md", 20)
        pid = busy_parser(patient.process.pid)
        for _ in range(5):
            assert patient.status("/livez") == 200
        assert patient.translate("Yes.", max_length=4).status_code == 200
        assert is_running(pid), "the file was over before: nothing was shown"
        assert not sent.done()
        os.kill(pid, signal.SIGKILL)
        assert sent.result(PATIENCE).status_code == 413


def test_a_client_that_hangs_up_ends_the_process(patient: Served) -> None:
    body = httpx.Request("POST", patient.url, data=FIELDS, files={"file": ("a.md", BUSY)})
    head = f"POST /v1/files HTTP/1.1\r\nHost: a\r\nContent-Type: {body.headers['content-type']}\r\n"
    with socket.create_connection(("127.0.0.1", patient.port), timeout=PATIENCE) as client:
        content = body.read()
        client.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        pid = busy_parser(patient.process.pid)
    until(lambda: not is_running(pid), "the process is gone")
    assert send(patient.url, b"Yes.", "a.txt", max_length="4").status_code in (200, 422)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL])
def test_a_process_that_breaks_down_is_answered(patient: Served, number: signal.Signals) -> None:
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send, patient.url, BUSY, "a.md")
        os.kill(busy_parser(patient.process.pid), number)
        answer = sent.result(PATIENCE)
    assert answer.status_code == (422 if number == signal.SIGSEGV else 413)
    assert answer.json()["error"]["param"] == "file"
    assert send(patient.url, small_docx(), "a.docx").status_code == 200


def test_a_server_that_is_killed_leaves_no_process(tiny_artifact: Path) -> None:
    """Neither one that computes nor one that stands still."""
    with serving(tiny_artifact, *LIMITS) as served, ThreadPoolExecutor(2) as pool:
        first = pool.submit(send, served.url, BUSY, "a.md")
        stopped = busy_parser(served.process.pid)
        os.kill(stopped, signal.SIGSTOP)
        other = pool.submit(send, served.url, BUSY, "a.md")
        until(lambda: len(parsers_of(served.process.pid)) == 2, "there are two")
        parsers = parsers_of(served.process.pid)
        served.kill()
        until(lambda: not any(map(is_running, parsers)), "they are gone")
        for sent in (first, other):
            assert isinstance(sent.exception(PATIENCE), httpx.TransportError)


def test_a_server_that_is_stopped_twice_leaves_no_process(tiny_artifact: Path) -> None:
    with serving(tiny_artifact, *LIMITS, "--request-timeout", "600") as served, ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send, served.url, BUSY, "a.md", 600)
        pid = busy_parser(served.process.pid)
        os.kill(pid, signal.SIGSTOP)
        served.process.terminate()
        until(lambda: served.status("/readyz") == 503, "it drains")
        served.process.terminate()
        served.process.wait(PATIENCE)
        until(lambda: not is_running(pid), "the process is gone")
        assert sent.exception(PATIENCE) is not None or sent.result().status_code == 503


def packed(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


WORD = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
RUN, END = b"<w:p><w:r><w:t>a</w:t></w:r></w:p>", b"</w:body></w:document>"
SLIDE = b'<p:sld xmlns:p="p" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
SHAPE = b"<p:sp><p:txBody><a:p><a:r><a:t>Yes</a:t></a:r></a:p></p:txBody></p:sp>"
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12)).encode()
UNIT = b'<xliff version="1.2"><file><body><trans-unit><source>a &e11;</source></trans-unit></body></file></xliff>'


def zips() -> bytes:
    inner = packed({"word/document.xml": bytes(50 * 2**20)})
    return packed({f"{n}.zip": inner for n in range(20)} | {"word/document.xml": inner})


BOMBS: dict[str, Callable[[], bytes]] = {
    "unpacks.docx": lambda: packed({"word/document.xml": WORD + RUN * (190 * 2**20 // len(RUN)) + END}),
    "picture.docx": lambda: packed({"word/document.xml": WORD + RUN + END, "a.png": bytes(190 * 2**20)}),
    "shapes.pptx": lambda: packed({
        "ppt/presentation.xml": b"<a/>", "ppt/slides/slide1.xml": SLIDE + SHAPE * 100_000 + b"</p:sld>"
    }),
    "zips.docx": zips,
    "entities.xliff": lambda: b'<!DOCTYPE a [<!ENTITY e0 "ha">' + ENTITIES + b"]>" + UNIT,
    "marks.txt": lambda: "\U000f0000\U000f4000\U000f8000".encode() * 300_000,
    "marks.html": lambda: b"<p>" + b"<b></b><i></i>" * 150_000,
    "cells.csv": lambda: b"a,b,c,d\n" * 250_000,
    "cells.json": lambda: b"[" + b'"ab",' * 250_000 + b'"ab"]',
    "lines.txt": lambda: b"A.\n" * 166_000,
    "deep.json": lambda: b"[" * 2_000_000,
    "cues.srt": lambda: b"-->" * 100_000,
}  # fmt: skip
"""Small files that are large inside."""


@pytest.fixture(scope="module")
def small_server(tiny_artifact: Path) -> Iterator[Served]:
    """A server with the limits that every server has."""
    with serving(tiny_artifact, "--log-level", "error", "--file-cpu-seconds", "5") as served:
        yield served


def resident(served: Served) -> int:
    text = Path(f"/proc/{served.process.pid}/status").read_text(encoding="ascii")
    return 1024 * int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS")))


class Growth:
    """The most bytes that a server grows by while it is watched, and that its probe is answered."""

    def __init__(self, served: Served) -> None:
        self.served, self.before, self.most = served, resident(served), 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Growth":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.01):
            self.most = max(self.most, resident(self.served) - self.before)


@pytest.mark.parametrize("name", BOMBS)
def test_no_file_fills_the_server(small_server: Served, name: str) -> None:
    data = BOMBS[name]()
    assert len(data) < 4 * 2**20
    send(small_server.url, small_docx(), "a.docx")
    with Growth(small_server) as growth:
        answer = send(small_server.url, data, name, within=8)
    assert answer.status_code in (200, 413, 422, 504), answer.text
    assert growth.most <= MOST_GROWTH, f"{growth.most / 2**20:.0f} MB"
    assert small_server.status("/livez") == 200
    assert send(small_server.url, small_docx(), "a.docx").status_code == 200
