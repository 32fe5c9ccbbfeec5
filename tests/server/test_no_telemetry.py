"""A running server makes no connections and writes no files, as observed by strace."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.children import child
from tests.server.api.conftest import PATIENCE, until
from tests.server.processes import serve_command
from tests.server.redis_server import free_port

WRITING = re.compile(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]+)", [^)]*O_(?:WRONLY|RDWR|CREAT)')
CONNECTING = re.compile(r"(?:connect|sendto)\(\d+, .*?sa_family=(AF_INET6?|AF_UNIX)[^)]*")
RESOLVING = re.compile(r'open(?:at)?\((?:AT_FDCWD, )?"(/etc/resolv\.conf)"')


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (Debian: apt-get install strace)")
def test_a_server_makes_no_connections_and_writes_no_files(tiny_artifact: Path, tmp_path: Path) -> None:
    home, log, port = tmp_path / "home", tmp_path / "calls", free_port()
    home.mkdir()
    watched = ["strace", "-f", "-qq", "-e", "trace=open,openat,creat,connect,sendto", "-o", str(log)]
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    with child(
        [*watched, *serve_command(tiny_artifact, port)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            until(lambda: is_ready(port), "the server is ready")
            body = {"text": "We walk home in the rain.", "source": "en", "target": "de"}
            answer = httpx.post(f"http://127.0.0.1:{port}/v1/translate", json=body, timeout=PATIENCE)
            assert answer.status_code == 200
            document = {"sentences": ["Yes."], "source": "en", "target": "de", "wait": True}
            made = httpx.post(f"http://127.0.0.1:{port}/v1/documents", json=document, timeout=PATIENCE)
            assert made.status_code in (200, 201, 202)
            [server] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(server), signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    calls = log.read_text(errors="replace")
    assert "manifest.json" in calls, "the calls were recorded"
    assert {path for path in WRITING.findall(calls) if not path.startswith(("/dev/", "/proc/"))} == set()
    assert [line for line in calls.splitlines() if CONNECTING.search(line)] == []
    assert RESOLVING.findall(calls) == [], "it wanted to resolve a name"
    assert list(home.rglob("*")) == []


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE).status_code == 200
    except httpx.TransportError:
        return False


PLANTED = "import socket, os; socket.socket().connect_ex(('127.0.0.1', 9)); open(os.environ['HOME'] + '/x', 'w')"


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (Debian: apt-get install strace)")
def test_strace_shows_planted_connections_and_writes(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    watched = ["strace", "-f", "-qq", "-e", "trace=open,openat,creat,connect,sendto", "-o", str(log)]
    environment = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([*watched, sys.executable, "-c", PLANTED], env=environment, check=True)
    calls = log.read_text()
    assert any(path == f"{tmp_path}/x" for path in WRITING.findall(calls))
    assert CONNECTING.search(calls)
