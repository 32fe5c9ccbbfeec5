"""kill -9 in the middle of a document, and a server that goes on."""

from pathlib import Path

import pytest

from server.stores.open_store import open_store
from tests.server.api.conftest import PATIENCE, until
from tests.server.api.documents import MANY, Documents, translations
from tests.server.processes import serving
from tests.server.redis_server import flush

SLOWLY = ("--slots", "1", "--document-lease", "1.0", "--log-level", "error")


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_killed_in_the_middle_it_is_finished_by_the_next(
    document_artifact: Path, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    if kind == "redis":
        port = request.getfixturevalue("redis_port")
        flush(port)
        url = f"redis://127.0.0.1:{port}/0"
    with serving(document_artifact, *SLOWLY, "--context-store", url) as served, served.client() as client:
        name = Documents(client).post(202, sentences=MANY, wait=False, max_length=16)["id"]
        until(lambda: Documents(client).get(name, limit="0")["progress"] > 0, "a part is translated")
        served.kill()
    store = open_store(url)
    try:
        assert store.document(name).state == "running"
        before = store.sentences(name)
        finished = [item.index for item in before if not item.is_pending]
        assert 0 < len(finished) < len(MANY)
        quickly = (*SLOWLY, "--slots", "8", "--context-store", url)
        with serving(document_artifact, *quickly) as served, served.client() as client:
            done = Documents(client).done(name, explain="false")
            assert [sentence["index"] for sentence in done["sentences"]] == list(range(len(MANY)))
            assert [item["source"] for item in done["sentences"]] == MANY
            whole = Documents(client).post(sentences=MANY, max_length=16)
            assert translations(whole) == translations(done)
            text = client.get(f"/v1/documents/{name}/result").text
            assert text.split("\n") == translations(whole)
        after = store.sentences(name)
        assert [after[index] for index in finished] == [before[index] for index in finished]  # not made twice
    finally:
        store.close()


def test_stopped_in_the_middle_it_is_given_back_at_once(document_artifact: Path, tmp_path: Path) -> None:
    """After SIGTERM no process waits for the lease to expire."""
    url = f"sqlite:///{tmp_path}/documents.db"
    with serving(document_artifact, *SLOWLY, "--context-store", url) as served, served.client() as client:
        name = Documents(client).post(202, sentences=MANY, wait=False, max_length=16)["id"]
        until(lambda: Documents(client).get(name, limit="0")["state"] == "running", "it is being translated")
        served.process.terminate()
        served.process.wait(PATIENCE)
    store = open_store(url)
    try:
        assert store.document(name).state == "queued"
        assert store.claim("next", 1.0, ["documents"]) is not None
    finally:
        store.close()
