"""The health check of the images, over IPv4 and IPv6."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.server.api.conftest import PATIENCE, until
from tests.server.processes import starting

DOCKERFILE = Path(__file__).parents[2] / "docker/Dockerfile"
needs_ipv6 = pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")


def is_healthy(port: int) -> bool:
    """What the image's health check says of a server at this port."""
    [command] = re.findall(r"HEALTHCHECK .*\\\n\s+CMD (\[.*\])", DOCKERFILE.read_text(encoding="utf-8"))
    program, *arguments = json.loads(command)
    assert program == "python3"
    environment = {**os.environ, "RINGMT_PORT": str(port)}
    return subprocess.run([sys.executable, *arguments], env=environment, timeout=PATIENCE, check=False).returncode == 0


def is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://[::1]:{port}/readyz", timeout=PATIENCE).status_code == 200
    except httpx.TransportError:
        return False


@needs_ipv6
@pytest.mark.parametrize("host", ["::", "::1"])
def test_a_server_that_listens_over_ipv6_is_healthy(tiny_artifact: Path, host: str) -> None:
    with starting(tiny_artifact, "--host", host) as served:
        assert not is_healthy(1)
        until(lambda: is_ready(served.port), "the server is ready")
        assert is_healthy(served.port)
        assert served.answers() == (host == "::")  # IPv4 as well
