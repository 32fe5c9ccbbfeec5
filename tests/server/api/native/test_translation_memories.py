"""Translation memories over HTTP: made, filled, imported, used by translations, listed and deleted."""

import asyncio
import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.api.native import translation_memories
from server.keys.record import Scope
from server.stores.interface import StoreError
from server.stores.translation_memories import MOST_WRITTEN
from server.translation_memory.entries import Entry
from server.translation_memory.pairs import Pair
from server.translation_memory.service import TranslationMemoryService
from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.pairs import copy_of

PATH = "/v1/translation_memories"
NO_ID = "00000000-0000-4000-8000-000000000000"
ENTRIES = [
    {"source": "Good morning.", "target": "Moin!"},
    {"source": "The house is red.", "target": "Rot ist das Haus."},
]
TMX = """<?xml version="1.0" encoding="UTF-8"?><tmx version="1.4"><header/><body>
<tu><tuv xml:lang="en-US"><seg>Good evening.</seg></tuv><tuv xml:lang="de-DE"><seg>Nabend!</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Good  evening.</seg></tuv><tuv xml:lang="de"><seg>N'Abend!</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Good morning.</seg></tuv><tuv xml:lang="de"><seg>Guten Morgen.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Empty.</seg></tuv><tuv xml:lang="de"><seg/></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Bonjour.</seg></tuv><tuv xml:lang="de"><seg>Tag.</seg></tuv></tu>
</body></tmx>"""


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client
        for memory in checked(client.get(PATH))["translation_memories"]:
            assert client.delete(f"{PATH}/{memory['id']}").status_code == 204


def checked(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    return response.json()


def make(client: httpx.Client, entries: list[dict[str, str]] = ENTRIES) -> str:
    name: str = checked(client.post(PATH, json={"name": "ours", "source": "EN", "target": "de-AT"}), 201)["id"]
    if entries:
        checked(client.post(f"{PATH}/{name}/entries", json={"entries": entries}))
    return name


def translate(client: httpx.Client, text: Any, memory: str | None, **more: Any) -> Any:
    body = {"text": text, "source": "en", "target": "de", "translation_memory_id": memory, **more}
    return checked(client.post("/v1/translate", json=body))["translations"]


def test_an_exact_match_is_answered_without_the_engine(server: RunningServer, client: httpx.Client) -> None:
    memory = make(client)
    model = next(iter(server.state.translators.values())).name
    decoded = server.metric("sentence_queue_seconds_count", model=model)
    taken = server.metric("translation_memory_sentences_total", model=model)
    [first, second] = translate(client, ["Good   morning.\n", "The house is red. Good morning."], memory)
    assert (first["text"], second["text"]) == ("Moin!\n", "Rot ist das Haus. Moin!")
    assert server.metric("sentence_queue_seconds_count", model=model) == decoded
    assert server.metric("translation_memory_sentences_total", model=model) == taken + 3
    assert first["from_memory"]
    assert second["from_memory"]
    assert [sentence["from_memory"] for sentence in second["sentences"]] == [True, True]
    assert first["memory"] == [{"source": "Good morning.", "target": "Moin!", "likeness": 100, "place": [0, 15]}]
    [mixed] = translate(client, "The house is red. We walk home.", memory)
    assert mixed["text"].startswith("Rot ist das Haus. ")
    assert [sentence["from_memory"] for sentence in mixed["sentences"]] == [True, False]
    assert not mixed["from_memory"]
    assert server.metric("sentence_queue_seconds_count", model=model) == decoded + 1


def test_near_matches_are_offered_from_the_threshold_on(client: httpx.Client) -> None:
    memory = make(client)
    text = "Good mornings. The house is very red."
    [free] = translate(client, text, None)
    assert not {"memory", "from_memory"} & set(free)
    [offered] = translate(client, text, memory)
    assert offered["text"] == free["text"]
    assert [(match["likeness"], match["place"], match["target"]) for match in offered["memory"]] == [
        (96, [0, 14], "Moin!"),
        (87, [15, 37], "Rot ist das Haus."),
    ]
    for threshold, number in ((0, 4), (90, 1), (97, 0), (100, 0)):
        [offered] = translate(client, text, memory, translation_memory_threshold=threshold)
        assert len(offered["memory"]) == number, threshold


def test_a_memory_goes_with_everything_else(client: httpx.Client) -> None:
    memory = make(client)
    text = "Good morning. The bug is red."
    more = {"alignment": True, "num_hypotheses": 2, "beam_size": 2, "pieces": True, "glossary": {"bug": "Zorblax"}}
    [result] = translate(client, text, memory, **more)
    assert result["text"].startswith("Moin! ")
    assert "Zorblax" in result["text"]
    assert all(hypothesis["text"].startswith("Moin! ") for hypothesis in result["hypotheses"])
    assert result["sentences"][0]["pieces"] == []
    assert result["alignment"], "of the sentence that was translated"
    for pair in result["alignment"]:
        assert text[slice(*pair["source"])] in [*text[14:].split(), "red", "."]
        assert pair["target"][0] >= len("Moin! ")


def test_entries_are_listed_in_pages_and_deleted(client: httpx.Client) -> None:
    memory = make(client, [{"source": str(number), "target": f"x{number}"} for number in range(7)])
    checked(client.post(f"{PATH}/{memory}/entries", json={"entries": [{"source": "2 ", "target": "new"}]}))
    after, found = 0, []
    while after is not None:
        page = checked(client.get(f"{PATH}/{memory}/entries", params={"limit": 3, "after": after}))
        found += page["entries"]
        after = page["next"]
    assert [entry["source"] for entry in found] == ["0", "1", "3", "4", "5", "6", "2"]
    assert (found[-1]["target"], found[-1]["origin"]) == ("new", "manual")
    assert client.delete(f"{PATH}/{memory}/entries/{found[0]['id']}").status_code == 204
    assert client.delete(f"{PATH}/{memory}/entries/{found[0]['id']}").status_code == 404
    shown = checked(client.get(f"{PATH}/{memory}"))
    assert (shown["name"], shown["source"], shown["target"], shown["entries"]) == ("ours", "en", "de", 6)
    assert shown["size"] > 100


def test_files_are_imported_and_exported(client: httpx.Client) -> None:
    memory = make(client)
    result = checked(client.post(f"{PATH}/{memory}/import", files={"file": ("a.TMX", TMX.encode("utf-16"))}))
    assert result == {"new": 1, "replaced": 1, "repeated": 1, "refused": {}}
    table = 'Yes.,Jawohl\n"No, no.","Nein, nein.",en,de\n'
    assert checked(client.post(f"{PATH}/{memory}/import", files={"file": ("a.csv", table)}))["new"] == 2
    texts = [item["text"] for item in translate(client, ["Good evening.", "Good morning.", "No, no."], memory)]
    assert texts == ["N'Abend!", "Guten Morgen.", "Nein, nein."]
    exported = client.get(f"{PATH}/{memory}/export")
    assert exported.headers["content-type"] == "application/x-tmx+xml"
    assert "ours.tmx" in exported.headers["content-disposition"]
    other = make(client, [])
    assert checked(client.post(f"{PATH}/{other}/import", files={"file": ("b.tmx", exported.content)}))["new"] == 5
    pages = [checked(client.get(f"{PATH}/{name}/entries"))["entries"] for name in (memory, other)]
    pairs = [[(entry["source"], entry["target"]) for entry in page] for page in pages]
    assert pairs[0] == pairs[1]
    assert {entry["origin"] for entry in pages[1]} == {"import"}


@pytest.mark.parametrize(
    ("name", "data", "status", "expected_message"),
    [
        ("a.tmx", b"<tmx>", 422, "the file is no TMX: they are no well-formed XML"),
        ("a.tmx", b"<tmx><body/></tmx>", 422, "the file has no pair from en to de"),
        ("a.tmx", b"<!DOCTYPE tmx [<!ENTITY e 'x'>]><tmx>&e;</tmx>", 422, "entity"),
        ("a.csv", b"a,b,c", 422, "line 1 of the file"),
        ("a.xlsx", b"a,b", 415, "must end with .tmx, .csv, .tsv"),
    ],
)
def test_files_that_cannot_be_read(
    client: httpx.Client, name: str, data: bytes, status: int, expected_message: str
) -> None:
    answer = client.post(f"{PATH}/{make(client)}/import", files={"file": (name, data)})
    error = checked(answer, status)["error"]
    assert expected_message in error["message"]
    assert error["param"] == "file"


def test_many_entries_are_checked_beside_the_event_loop(
    server: RunningServer, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def thread_of(source: str, target: str) -> Pair:
        threads.append(threading.current_thread().name)
        return Pair(source, target)

    monkeypatch.setattr(translation_memories, "checked", thread_of)
    make(client, [{"source": "a" * 1500, "target": "b" * 1500}])
    assert [name.partition("-")[0] for name in threads] == ["work"]


def test_an_export_is_sent_while_it_is_read(
    server: RunningServer, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = make(client, [{"source": f"s{number}", "target": "t"} for number in range(MOST_WRITTEN + 1)])
    has_begun, numbers = threading.Event(), list[int]()
    fails = False
    read = TranslationMemoryService.entries

    async def entries(self: TranslationMemoryService, owner: str, memory: str, after: int, limit: int) -> list[Entry]:
        numbers.append(after)
        if after:
            assert await asyncio.to_thread(has_begun.wait, 30), "the first page is not sent before the second is read"
            if fails:
                raise StoreError("the store is away")
        return await read(self, owner, memory, after, limit)

    monkeypatch.setattr(TranslationMemoryService, "entries", entries)
    with client.stream("GET", f"{PATH}/{name}/export") as answer:
        parts = answer.iter_bytes()
        received = next(parts)
        while b"<tu>" not in received:
            received += next(parts)
        has_begun.set()
        received += b"".join(parts)
    assert received.count(b"<tu>") == MOST_WRITTEN + 1
    assert received.endswith(b"</tmx>\n")
    assert numbers == [0, MOST_WRITTEN, MOST_WRITTEN + 1]
    fails = True
    with pytest.raises(httpx.RemoteProtocolError):
        client.get(f"{PATH}/{name}/export")


def test_a_file_with_far_more_pairs_than_are_kept(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TranslationMemoryService, "most_read", 1)
    answer = client.post(f"{PATH}/{make(client)}/import", files={"file": ("a.csv", "a,b\nc,d\n")})
    assert "more than 1 pairs" in checked(answer, 422)["error"]["message"]


@pytest.mark.parametrize(
    ("changes", "status", "param", "expected_message"),
    [
        ({"translation_memory_id": NO_ID}, 404, None, "no such translation memory"),
        ({"translation_memory_id": "x"}, 404, None, "no such translation memory"),
        ({"translation_memory_threshold": 101}, 422, "translation_memory_threshold", "less than or equal to 100"),
        ({"translation_memory_threshold": -1}, 422, "translation_memory_threshold", "greater than or equal to 0"),
        ({"translation_memory_id": None, "translation_memory_threshold": 80}, 422, None, "needs translation_memory_id"),
    ],
)
def test_requests_that_name_a_memory_wrongly(
    client: httpx.Client, changes: dict[str, Any], status: int, param: str | None, expected_message: str
) -> None:
    body = {"text": "Yes.", "source": "en", "target": "de", "translation_memory_id": make(client), **changes}
    error = checked(client.post("/v1/translate", json=body), status)["error"]
    assert expected_message in error["message"]
    assert param is None or error["param"] == param


@pytest.mark.parametrize(
    ("entry", "expected_message"),
    [
        ({"source": " ", "target": "x"}, "number 1 cannot be kept: its source is empty"),
        ({"source": "x", "target": "\x00"}, "its target has a control character"),
        ({"source": "x" * 4001, "target": "x"}, "4000"),
        ({"source": "x"}, "target"),
    ],
)
def test_entries_that_cannot_be_kept(client: httpx.Client, entry: dict[str, str], expected_message: str) -> None:
    memory = make(client, [])
    body = {"entries": [{"source": "fine", "target": "gut"}, entry]}
    assert expected_message in checked(client.post(f"{PATH}/{memory}/entries", json=body), 422)["error"]["message"]
    assert checked(client.get(f"{PATH}/{memory}"))["entries"] == 0


def test_other_languages(many: RunningServer) -> None:
    with many.client() as client:
        memory = make(client)
        body = {"text": "Good morning.", "source": "de", "target": "en", "translation_memory_id": memory}
        error = checked(client.post("/v1/translate", json=body), 422)["error"]
        assert error["param"] == "translation_memory_id"
        assert "from en to de, not from de to en" in error["message"]
        assert (
            "no model translates"
            in checked(client.post(PATH, json={"name": "x", "source": "en", "target": "xx"}), 422)["error"]["message"]
        )
        client.delete(f"{PATH}/{memory}")


def test_a_script_has_memories_of_its_own_and_a_region_none(tiny_artifact: Path, tmp_path: Path) -> None:
    for target in ("zh-Hans", "zh-Hant", "pt"):
        copy_of(tiny_artifact, tmp_path / target, name=f"en-{target.lower()}", target_language=target)
    source = ENTRIES[0]["source"]
    with ready(settings_for(tmp_path)) as server, server.client() as client:
        for target, own, others in (("zh_CN", "zh", "zh-TW"), ("zh-TW", "zh-hant", "zh-Hans"), ("pt-BR", "pt", "zh")):
            made = checked(client.post(PATH, json={"name": "x", "source": "en-GB", "target": target}), 201)
            assert made["target"] == own
            checked(client.post(f"{PATH}/{made['id']}/entries", json={"entries": ENTRIES}))
            body = {"text": source, "source": "en", "translation_memory_id": made["id"]}
            for same in (target, own):
                answer = checked(client.post("/v1/translate", json={**body, "target": same}))
                assert answer["translations"][0]["text"] == ENTRIES[0]["target"]
            refused = checked(client.post("/v1/translate", json={**body, "target": others}), 422)
            assert f"from en to {own}, not from en to " in refused["error"]["message"]


def test_two_models_after_a_memory(many: RunningServer) -> None:
    """Texts go through a third language, but what is known does not."""
    with many.client() as client:
        memory = checked(client.post(PATH, json={"name": "x", "source": "de", "target": "fr"}), 201)["id"]
        checked(client.post(f"{PATH}/{memory}/entries", json={"entries": ENTRIES}))
        body = {"text": ["Good morning. Yes.", "Good morning."], "source": "de", "target": "fr"}
        answer = checked(client.post("/v1/translate", json={**body, "translation_memory_id": memory}))
        client.delete(f"{PATH}/{memory}")
    assert answer["models"] == ["de-en", "en-fr"]
    assert [text["text"][:5] for text in answer["translations"]] == ["Moin!"] * 2
    assert [text["from_memory"] for text in answer["translations"]] == [False, True]


def test_memories_are_their_owners_and_bounded(tiny_artifact: Path, tmp_path: Path) -> None:
    scopes: dict[str, tuple[Scope, ...]] = {
        "shop": ("translate",),
        "desk": ("translate",),
        "boss": ("admin", "translate"),
    }
    made = {name: new_key(name, of_key) for name, of_key in scopes.items()}
    settings = settings_for(
        tiny_artifact,
        api_keys=";".join(line for _, line in made.values()),
        context_store=f"sqlite:///{tmp_path}/documents.db",
        max_translation_memories=2,
        max_translation_memory_entries=3,
    )
    clients = {}
    with ready(settings) as server:
        for name, (key, _) in made.items():
            clients[name] = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"})
        shop, desk, boss = clients.values()
        memory = make(shop)
        paths = [("GET", ""), ("GET", "/entries"), ("GET", "/export"), ("DELETE", ""), ("DELETE", "/entries/x")]
        for method, suffix in paths:
            assert desk.request(method, f"{PATH}/{memory}{suffix}").status_code == 404
            assert desk.request(method, f"{PATH}/{memory}{suffix}?owner=shop").status_code == 403
        body = {"text": "Good morning.", "source": "en", "target": "de", "translation_memory_id": memory}
        assert desk.post("/v1/translate", json=body).status_code == 404
        assert checked(desk.get(PATH)) == {"translation_memories": []}
        assert [item["id"] for item in checked(boss.get(PATH, params={"owner": "shop"}))["translation_memories"]] == [
            memory
        ]

        full = checked(
            shop.post(
                f"{PATH}/{memory}/entries", json={"entries": [{"source": str(n), "target": "x"} for n in range(2)]}
            ),
            413,
        )
        assert "at most 3 entries together, not 4" in full["error"]["message"]
        make(shop, [])
        again = checked(shop.post(PATH, json={"name": "x", "source": "en", "target": "de"}), 413)
        assert "at most 2 translation memories" in again["error"]["message"]
        assert checked(shop.get(f"{PATH}/{memory}"))["entries"] == 2
    with ready(dataclasses.replace(settings, max_translation_memories=5)) as server:
        with httpx.Client(base_url=server.url, headers=shop.headers) as again_shop:
            assert translate(again_shop, "Good morning.", memory)[0]["text"] == "Moin!"
        with httpx.Client(base_url=server.url, headers=boss.headers) as again_boss:
            assert again_boss.delete(f"{PATH}/{memory}?owner=shop").status_code == 204
            assert len(checked(again_boss.get(PATH, params={"owner": "shop"}))["translation_memories"]) == 1
    for client in clients.values():
        client.close()
