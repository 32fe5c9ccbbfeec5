"""kill -9 while a process writes: the store opens again, and every write is there whole or not at all."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server.stores.open_store import open_store
from tests.children import child
from tests.server.redis_server import flush

ROOT = Path(__file__).parents[3]
WRITER = """
import dataclasses, sys
from server.stores.open_store import open_store
from server.stores.records import Document, Sentence
store = open_store(sys.argv[1])
long = "x" * 3000
document = Document("a", "tiny", "f00d", "en", "de", "online", "done")
store.create(document, [])
while True:
    at, mark = document.num_sentences, str(document.version)
    longer = dataclasses.replace(document, version=document.version + 1, num_sentences=at + 2, end=mark)
    changed = [Sentence(index, mark + long, ()) for index in ([0] if at else []) + [at, at + 1]]
    store.update(longer, document.version, changed)
    document = longer
    print(document.version, flush=True)
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
@pytest.mark.parametrize("writes", [1, 17])
def test_every_write_is_whole_or_absent(kind: str, writes: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    if kind == "redis":
        port = request.getfixturevalue("redis_port")
        flush(port)
        url = f"redis://127.0.0.1:{port}/0"
    with child([sys.executable, "-c", WRITER, url], cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(writes):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout.read().split("\n") if line)])
    store = open_store(url)
    try:
        document, sentences = store.document("a"), store.sentences("a")
        # Its last write may have happened without being told.
        assert document.version in (acknowledged, acknowledged + 1)
        assert document.num_sentences == len(sentences) == 2 * (document.version - 1)
        assert document.end == str(document.version - 1)
        written = [sentence.source.rstrip("x") for sentence in sentences]
        assert written[0] == document.end
        assert written[1:] == [str(index // 2 + 1) for index in range(1, len(sentences))]
    finally:
        store.close()
