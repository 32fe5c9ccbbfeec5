"""The program of a parser process."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from server.files.formats.base import FileTooLarge
from tests.server.files.pools import AMPLE, SMALL, pool_of, run

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")

IMPORTS = """
import sys
from server.files.parser_process import import_formats
import_formats()
unneeded = {"urllib.request", "http.client", "torch", "onnxruntime", "numpy", "server.text.spans.table"}
print(*sorted(unneeded & {*sys.modules}))
"""


def test_it_imports_nothing_that_it_does_not_need() -> None:
    """A process starts for every few files."""
    imported = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    assert imported.stdout == "\n"


def test_a_process_without_memory_for_its_answer_says_so_by_its_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its program is replaced: one whose answers take more memory than there is."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\nfrom server.files import parser_process\n"
        "send = parser_process.send\n"
        "def fail(stream, fields, data=b''):\n"
        "    if 'texts' in fields or 'error' in fields: raise MemoryError\n"
        "    send(stream, fields, data)\n"
        "parser_process.send = fail\nparser_process.main(int(sys.argv[2]), float(sys.argv[3]))"
    )
    monkeypatch.setattr("server.files.parser_worker._PROGRAM", program)

    async def scenario() -> None:
        async with pool_of(replace(AMPLE, memory_bytes=16 * 2**20), failures=["memory"]) as pool:
            with pytest.raises(FileTooLarge, match="more than 16 MB of memory"):
                await pool.texts(SMALL)

    run(scenario())
