"""What must hold however documents come and whatever else is translated."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.documents import MANY, STORY, Documents, alone, translations
from tests.server.redis_server import flush

OTHER = [*SENTENCES[:6], "", SENTENCES[0]]


@pytest.fixture
def documents(document_server: RunningServer) -> Iterator[Documents]:
    with document_server.client() as client:
        yield Documents(client)


def results_of(document: Any) -> list[tuple[str, Any]]:
    """Translations and where each sentence looked, to the last digit."""
    return [(sentence["translation"], sentence["context_used"]) for sentence in document["sentences"]]


@pytest.mark.parametrize("mode", ["offline", "online"])
@pytest.mark.parametrize("source", ["She has a red umbrella.", "", "we walk home " * 60, "One. Two.", "***"])
def test_a_document_of_one_sentence_is_the_sentence(
    documents: Documents, document_server: RunningServer, mode: str, source: str
) -> None:
    done = documents.post(sentences=[source], mode=mode, explain=True)
    assert translations(done) == alone(document_server, [source])
    assert done["sentences"][0]["context_used"] == []


def test_what_comes_later_changes_nothing_before_it(documents: Documents) -> None:
    longest = results_of(documents.post(sentences=STORY, mode="online", explain=True))
    for count in range(1, len(STORY)):
        for tail in ([], OTHER):
            done = documents.post(sentences=STORY[:count] + tail, mode="online", explain=True)
            assert results_of(done)[:count] == longest[:count]


def test_appending_touches_nothing_that_is_there(documents: Documents) -> None:
    grown = documents.post(sentences=STORY[:4], mode="online", explain=True)
    documents.append(grown["id"], STORY[4:])
    assert documents.get(grown["id"], explain="true")["sentences"][:4] == grown["sentences"]


def test_interleaved_documents_do_not_leak(documents: Documents) -> None:
    single, two = (results_of(documents.post(sentences=text, mode="online", explain=True)) for text in (STORY, OTHER))
    first, second = (documents.post(sentences=[], mode="online")["id"] for _ in range(2))
    for ours, theirs in zip(STORY, OTHER, strict=True):
        documents.append(first, ours)
        documents.append(second, theirs)
    assert results_of(documents.get(first, explain="true")) == single
    assert results_of(documents.get(second, explain="true")) == two


def test_many_documents_at_once_are_each_as_if_alone(documents: Documents, document_server: RunningServer) -> None:
    shuffler = random.Random(7)
    texts = [shuffler.sample([*STORY, *SENTENCES], shuffler.randint(1, 9)) for _ in range(12)]
    modes = ["offline", "online"] * 6
    calm = [
        results_of(documents.post(sentences=text, mode=mode, explain=True))
        for text, mode in zip(texts, modes, strict=True)
    ]

    def translate(text: list[str], mode: str) -> Any:
        with document_server.client() as client:
            return results_of(Documents(client).post(sentences=text, mode=mode, explain=True))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(translate, texts, modes)) == calm


def test_offline_the_order_of_work_is_irrelevant(documents: Documents) -> None:
    """All at once, or one after the other by corrections that change nothing: the store, not the order, decides."""
    done = documents.post(sentences=STORY, explain=True)
    for index in (5, 0, 7, 3):
        documents.put(done["id"], index, source=STORY[index])
    assert results_of(documents.get(done["id"], explain="true")) == results_of(done)


def test_eviction_changes_nothing_but_time(
    documents: Documents, document_server: RunningServer, document_artifact: Path
) -> None:
    expected = scenario(documents)
    for num_bytes in (0, 3_000):
        with ready(settings_for(document_artifact, context_cache_bytes=num_bytes)) as server, server.client() as client:
            assert scenario(Documents(client)) == expected
            reason = "too_large" if num_bytes == 0 else "budget"
            assert server.metric("context_cache_evictions_total", reason=reason, model="") > 0
            assert server.metric("context_cache_bytes", model="") <= num_bytes


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_every_store_gives_the_same_answers(
    documents: Documents, document_artifact: Path, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    expected = scenario(documents)
    settings = settings_for(document_artifact, context_store=url_of(kind, tmp_path, request))
    with ready(settings) as server, server.client() as client:
        assert scenario(Documents(client)) == expected


def scenario(documents: Documents) -> list[Any]:
    """What a client may do with documents; its answers without the ids and versions that differ by chance."""
    offline = documents.post(sentences=STORY, explain=True)
    documents.put(offline["id"], 1, 202, "affected", source=OTHER[0])
    online = documents.post(text=" ".join(STORY[:5]), mode="online", explain=True)
    appended = documents.append(online["id"], STORY[5:])
    documents.put(online["id"], 2, translation="Von Hand.")
    contexts = [documents.context(online["id"], index) for index in (0, 4, 7)]
    answers = [
        results_of(offline), results_of(documents.done(offline["id"])), results_of(online), translations(appended),
        contexts, results_of(documents.get(online["id"], explain="true")),
        documents.client.get(f"/v1/documents/{online['id']}/result").text,
    ]  # fmt: skip
    documents.client.delete(f"/v1/documents/{offline['id']}")
    return answers


def url_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    if kind == "redis":
        port = request.getfixturevalue("redis_port")
        flush(port)
        return f"redis://127.0.0.1:{port}/0"
    return f"sqlite:///{folder}/documents.db"


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_restarted_server_continues_from_the_ids(
    documents: Documents, document_artifact: Path, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """States are not kept across processes: they are made again from the ids, the same to the last digit."""
    whole = results_of(documents.post(sentences=STORY, mode="online", explain=True))
    settings = settings_for(document_artifact, context_store=url_of(kind, tmp_path, request))
    with ready(settings) as server, server.client() as client:
        name = Documents(client).post(sentences=STORY[:4], mode="online")["id"]
    with ready(settings) as server, server.client() as client:
        Documents(client).append(name, STORY[4:], first_index=4)
        assert results_of(Documents(client).get(name, explain="true")) == whole
        assert server.metric("context_cache_lookups_total", result="miss", model="") >= 4


def test_two_servers_share_the_work_of_one_store(document_artifact: Path, redis_port: int) -> None:
    flush(redis_port)
    settings = settings_for(document_artifact, context_store=f"redis://127.0.0.1:{redis_port}/0")
    with ready(settings) as first, ready(settings) as other, first.client() as mine, other.client() as theirs:
        names = [Documents(mine).post(202, sentences=MANY[:80], wait=False)["id"] for _ in range(8)]
        done = [Documents(theirs).done(name) for name in names]
        assert len({tuple(translations(document)) for document in done}) == 1
        finished = [server.metric("document_jobs_total", result="done", model="") for server in (first, other)]
        assert sum(finished) == 8
        grown = Documents(theirs).post(sentences=[], mode="online")["id"]
        turns = [
            Documents(client).append(grown, source) for client, source in zip([mine, theirs] * 4, STORY, strict=True)
        ]
        assert [answer["sentences"][0]["index"] for answer in turns] == list(range(8))
