"""Memory of a server whose model is loaded again and again."""

import re
import sys
from pathlib import Path

import pytest

from server.settings import BUNDLED_MODELS
from tests.server.api.conftest import until
from tests.server.processes import serving

RELOADS = 10
BOUND_MIB = 40
"""Little more than one model takes. Ten that were replaced left 110 behind, before their memory was given back."""


def resident_mib(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    [kib] = re.findall(r"^VmRSS:\s+(\d+) kB$", status, flags=re.M)
    return int(kib) / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_reloads_leave_no_memory_behind() -> None:
    text = "Where is the station? " * 20
    usual = ["--open-admin", "on", "--precision", "int8", "--num-workers", "2", "--translation-cache-bytes", "1000000"]
    with serving(BUNDLED_MODELS, *usual) as server, server.client() as client:

        def reload() -> None:
            assert client.put("/v1/models/en-de").status_code == 200
            assert server.translate(text).status_code == 200

        reload()
        reload()
        bound = resident_mib(server.process.pid) + BOUND_MIB
        for _ in range(RELOADS):
            reload()
        until(lambda: resident_mib(server.process.pid) < bound, "the memory of models that were replaced is given back")
