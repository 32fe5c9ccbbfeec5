"""DeepL's translation memories through its own client."""

from collections.abc import Iterator
from typing import Any

import deepl
import deepl.http_client
import httpx
import pytest
from deepl import DeepLClient

from server.api.deepl.translation_memories import same_details
from tests.server.api.conftest import RunningServer
from tests.server.api.deepl.test_glossaries import client_of
from tests.server.api.libretranslate.test_routes import direct

ENTRIES = {"Good morning.": "Moin!", "The house is red.": "Rot ist das Haus.", "Bring 500 apples.": "500 \u00c4pfel!"}
NO_ID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


@pytest.fixture
def client(server: RunningServer) -> DeepLClient:
    return client_of(server)


@pytest.fixture
def memory(server: RunningServer) -> Iterator[str]:
    with server.client() as http:
        body = {"name": "ours", "source": "en", "target": "de"}
        made = http.post("/v1/translation_memories", json=body).json()["id"]
        entries = [{"source": source, "target": target} for source, target in ENTRIES.items()]
        assert http.post(f"/v1/translation_memories/{made}/entries", json={"entries": entries}).status_code == 200
        yield made
        http.delete(f"/v1/translation_memories/{made}")


def translated(
    client: DeepLClient, texts: list[str], memory: Any, threshold: int | None = None, **more: Any
) -> list[str]:
    results = client.translate_text(
        texts,
        source_lang="EN",
        target_lang="DE",
        translation_memory=memory,
        translation_memory_threshold=threshold,
        **more,
    )
    assert isinstance(results, list)
    return [result.text for result in results]


def test_memories_are_shown(client: DeepLClient, memory: str) -> None:
    [shown] = client.list_translation_memories()
    assert (shown.translation_memory_id, shown.name, shown.source_language) == (memory, "ours", "en")
    assert (shown.target_languages, shown.segment_count) == (["de"], 3)
    assert shown.creation_time is not None
    assert client.list_translation_memories(page=1, page_size=1) == []
    assert client.get_translation_memory(shown).name == "ours"
    found: dict[str, str] = {}
    cursor = None
    while True:
        page = client.list_translation_memory_segments(memory, page_size=2, page_cursor=cursor)
        found |= {segment.source_text: segment.targets[0].target_text for segment in page.segments}
        cursor = page.next_page_cursor
        if cursor is None:
            break
    assert found == ENTRIES
    with pytest.raises(deepl.DeepLException, match="filter_text"):
        client.list_translation_memory_segments(memory, filter_text="house")
    client.delete_translation_memory(memory)
    for gone in (client.get_translation_memory, client.list_translation_memory_segments):
        with pytest.raises(deepl.DeepLException, match="no such translation memory"):
            gone(memory)
    assert client.list_translation_memories() == []


def test_segments_are_used_from_the_threshold_on(client: DeepLClient, memory: str, server: RunningServer) -> None:
    texts = ["Good morning. The house is very red.", "Bring 600 apples."]
    exact = translated(client, texts, memory)
    assert exact == translated(client, texts, memory, 100)
    assert exact[0].startswith("Moin! ")
    assert not exact[0].endswith("Rot ist das Haus.")
    assert exact[1] == direct(server, texts[1])
    near = translated(client, texts, memory, 80)
    assert near[0] == "Moin! Rot ist das Haus."
    assert near[1] == exact[1], "a similar segment with other numbers is not used"
    [page] = translated(client, ["<p>Good morning.</p><p>Yes.</p>"], memory, tag_handling="html")
    assert page.startswith("<p>Moin!</p><p>")
    [lines] = translated(client, ["Good\nmorning."], memory, split_sentences="nonewlines")
    assert lines.split() == ["Moin!"]


@pytest.mark.parametrize(
    ("source", "text", "same"),
    [
        ("The house is red.", "The house is green.", True),
        ("Take 2 tablets.", "Take tablets.", False),
        ("Take tablets.", "Take 2 tablets.", False),
        ("Bring 5 apples and 6 pears.", "Bring 6 apples and 5 pears.", False),
        ("Hello {name}, welcome.", "Hello {user}, welcome.", False),
        ("See https://a.example/x for more.", "See https://a.example/y for more.", False),
        ("Hello {name}, see https://a.example.", "Hello {name}, look at https://a.example.", True),
    ],
)
def test_details_that_a_similar_segment_must_have(source: str, text: str, same: bool) -> None:
    assert same_details(source, text) == same_details(text, source) == same


def test_a_similar_segment_with_another_placeholder_is_not_used(client: DeepLClient, server: RunningServer) -> None:
    with server.client() as http:
        body = {"name": "ours", "source": "en", "target": "de"}
        made = http.post("/v1/translation_memories", json=body).json()["id"]
        entries = [{"source": "Hello {name}, welcome here.", "target": "Hallo {name}, willkommen."}]
        http.post(f"/v1/translation_memories/{made}/entries", json={"entries": entries})
        texts = ["Hello {name}, welcome there.", "Hello {user}, welcome here."]
        near = translated(client, texts, made, 70)
        http.delete(f"/v1/translation_memories/{made}")
    assert near == ["Hallo {name}, willkommen.", direct(server, texts[1])]


def test_memories_that_cannot_be_used(client: DeepLClient, memory: str, server: RunningServer) -> None:
    with pytest.raises(deepl.DeepLException, match="no such translation memory"):
        translated(client, ["Yes."], NO_ID)
    with server.client() as http:
        body = {"text": ["Yes."], "target_lang": "DE", "source_lang": "EN"}
        for fields, status in (
            ({"translation_memory_threshold": 80}, 400),
            ({"translation_memory_id": memory, "translation_memory_threshold": 101}, 400),
            ({"translation_memory_id": memory, "translation_memory_threshold": "x"}, 400),
            ({"translation_memory_id": NO_ID}, 404),
        ):
            answer = http.post("/v2/translate", json=body | fields)
            assert answer.status_code == status, fields
            assert "translation" in answer.json()["message"]


def test_a_memory_of_other_languages(many: RunningServer) -> None:
    with many.client() as http:
        made = http.post("/v1/translation_memories", json={"name": "x", "source": "en", "target": "de"}).json()["id"]
        body = {"text": ["Guten Tag."], "source_lang": "DE", "target_lang": "EN", "translation_memory_id": made}
        answer: httpx.Response = http.post("/v2/translate", json=body)
        http.delete(f"/v1/translation_memories/{made}")
    assert answer.status_code == 404
    assert "from en to de, not from de to en" in answer.json()["message"]
