"""DeepL's glossaries through its own client: kept, visible to their owner, and used in translations."""

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deepl
import deepl.http_client
import httpx
import pytest
from deepl import DeepLClient
from deepl.api_data import MultilingualGlossaryDictionaryEntries

from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.libretranslate.test_routes import direct
from tests.server.redis_server import flush

ENTRIES = {"station": "Hauptbahnhof", "old man": "Greis", "C++": "C <plus> & plus"}
TEXT = "Where is the station? The old man reads C++ at the station."
NO_ID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


@pytest.fixture
def client(server: RunningServer) -> Iterator[DeepLClient]:
    """Of a server on which nothing is kept before or after."""
    client = client_of(server)
    yield client
    for glossary in client.list_multilingual_glossaries():
        client.delete_multilingual_glossary(glossary)


def client_of(server: RunningServer, key: str = "a key") -> DeepLClient:
    return DeepLClient(key, server_url=server.url, send_platform_info=False)


def dictionary(entries: dict[str, str], source: str = "EN", target: str = "DE") -> Any:
    return MultilingualGlossaryDictionaryEntries(source, target, entries)


def says_terms(text: str) -> bool:
    return text.count("Hauptbahnhof") == 2 and text.count("Greis") == 1 and text.count("C <plus> & plus") == 1


def test_a_glossary_of_one_pair(client: DeepLClient) -> None:
    made = client.create_glossary("ours", "EN", "DE-AT", ENTRIES)
    assert (made.name, made.source_lang, made.target_lang, made.entry_count) == ("ours", "EN", "DE", 3)
    assert made.ready
    written = 'station,Hauptbahnhof,EN,de\n"C, or C",C\n'
    other = client.create_glossary_from_csv("theirs", "en", "de", written)
    assert client.get_glossary_entries(other) == {"station": "Hauptbahnhof", "C, or C": "C"}
    assert client.get_glossary_entries(made.glossary_id) == ENTRIES
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert [glossary.name for glossary in client.list_glossaries()] == ["ours", "theirs"]
    client.delete_glossary(made)
    assert [entry.name for entry in client.list_glossaries()] == ["theirs"]
    for gone in (client.get_glossary, client.get_glossary_entries, client.delete_glossary):
        with pytest.raises(deepl.GlossaryNotFoundException):
            gone(made.glossary_id)


def test_a_glossary_of_several_pairs(pairs: dict[str, Path]) -> None:
    with ready(settings_for(pairs["en-de"].parents[1])) as server:
        client = client_of(server)
        spoken = {(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()}
        assert spoken == {("de", "en"), ("de", "fr"), ("en", "de"), ("en", "fr")}
        back = {"Greis": "old man"}
        made = client.create_multilingual_glossary("both", [dictionary(ENTRIES), dictionary(back, "DE", "EN")])
        shown = client.get_multilingual_glossary(made.glossary_id)
        results = [(item.source_lang, item.target_lang, item.entry_count) for item in shown.dictionaries]
        assert results == [("EN", "DE", 3), ("DE", "EN", 1)]
        assert entries_of(client, shown) == ENTRIES

        renamed = client.update_multilingual_glossary_name(made, "all")
        assert (renamed.name, len(renamed.dictionaries)) == ("all", 2)
        client.update_multilingual_glossary_dictionary(made, dictionary({"station": "Halt", "house": "Haus"}))
        assert entries_of(client, made) == {**ENTRIES, "station": "Halt", "house": "Haus"}
        client.update_multilingual_glossary_dictionary(made, dictionary({"station": "gare"}, "EN", "FR"))
        replaced = client.replace_multilingual_glossary_dictionary(made, dictionary({"bread": "Brot"}))
        assert replaced.entry_count == 1
        assert entries_of(client, made) == {"bread": "Brot"}
        with pytest.raises(deepl.GlossaryNotFoundException, match="/v2 knows those of one"):
            client.get_glossary(made.glossary_id)
        assert client.list_glossaries() == []

        client.delete_multilingual_glossary_dictionary(made, source_lang="EN", target_lang="FR")
        client.delete_multilingual_glossary_dictionary(made, source_lang="DE", target_lang="EN")
        with pytest.raises(deepl.GlossaryNotFoundException, match="Dictionary not found"):
            client.delete_multilingual_glossary_dictionary(made, source_lang="DE", target_lang="EN")
        assert client.get_glossary_entries(made.glossary_id) == {"bread": "Brot"}
        client.delete_multilingual_glossary(made)
        assert client.list_multilingual_glossaries() == []


def entries_of(client: DeepLClient, glossary: Any) -> dict[str, str]:
    [only] = client.get_multilingual_glossary_entries(glossary, "EN", "DE").dictionaries
    return deepl.util.convert_tsv_to_dict(str(only.entries))


def test_texts_say_the_terms(client: DeepLClient, server: RunningServer) -> None:
    free = direct(server, TEXT)
    assert not says_terms(free)
    for glossary in (
        client.create_glossary("ours", "EN", "DE", ENTRIES),
        client.create_multilingual_glossary("ours", [dictionary(ENTRIES)]),
    ):
        [first, other] = translated(client, [TEXT, "Yes."], glossary=glossary)
        assert says_terms(first)
        assert other == direct(server, "Yes.")
        [page] = translated(client, [f"<p>{TEXT} <b>Yes.</b></p>"], glossary=glossary, tag_handling="html")
        assert page.count("Hauptbahnhof") == 2
        assert "C &lt;plus&gt; &amp; plus" in page
    with server.client() as http:
        body = {"text": TEXT, "source": "en", "target": "de", "glossary": ENTRIES, "beam_size": 4}
        own = http.post("/v1/translate", json=body).json()["translations"][0]["text"]
    assert first == own


def translated(client: DeepLClient, texts: list[str], **more: Any) -> list[str]:
    result = client.translate_text(texts, source_lang="EN", target_lang="DE", **more)
    assert isinstance(result, list)
    return [translation.text for translation in result]


def test_of_several_glossaries_the_first_that_has_a_term_counts(client: DeepLClient) -> None:
    first = client.create_glossary("first", "EN", "DE", {"station": "Halt"})
    second = client.create_glossary("second", "EN", "DE", {"station": "Hauptbahnhof", "old man": "Greis"})
    [translation] = translated(client, [TEXT], glossary_ids=[first, second.glossary_id])
    assert (translation.count("Halt"), translation.count("Hauptbahnhof"), translation.count("Greis")) == (2, 0, 1)


def test_a_translated_document_has_the_terms(client: DeepLClient) -> None:
    glossary = client.create_glossary("ours", "EN", "DE", ENTRIES)
    for more in ({"glossary": glossary}, {"glossary_ids": [glossary]}):
        out = io.BytesIO()
        source = io.BytesIO(f"{TEXT}\n\nYes.\n".encode())
        client.translate_document(source, out, filename="a.txt", source_lang="EN", target_lang="DE", **more)
        assert says_terms(out.getvalue().decode())


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"glossary_id": NO_ID}, "glossary_id"),
        ({"glossary_id": "../v1/models"}, "glossary_id"),
        ({"glossary_ids": f"{NO_ID},{NO_ID}"}, "glossary_ids"),
        ({"glossary_ids": ",".join([NO_ID] * 6)}, "glossary_ids"),
        ({"glossary_ids": NO_ID, "glossary_id": NO_ID}, "glossary_ids"),
        ({"glossary_id": NO_ID, "source_lang": None}, "source_lang"),
    ],
)
def test_glossaries_that_cannot_be_used_are_refused(client: DeepLClient, more: dict[str, Any], field: str) -> None:
    parameters: dict[str, Any] = {"target_lang": "DE", "source_lang": more.get("source_lang", "EN")}
    parameters["extra_body_parameters"] = {name: value for name, value in more.items() if name != "source_lang"}
    for call in (
        lambda: client.translate_text("Yes.", **parameters),
        lambda: client.translate_document_upload(b"Yes.", filename="a.txt", **parameters),
    ):
        with pytest.raises(deepl.DeepLException, match=f"Bad request, message: .*'{field}'") as caught:
            call()
        assert caught.value.http_status_code == 400


def test_a_glossary_of_other_languages(many: RunningServer) -> None:
    client = client_of(many)
    glossary = client.create_glossary("ours", "EN", "DE", ENTRIES)
    try:
        for target, expected_message in (("FR", "no dictionary from en to fr"), ("DE", None)):
            with (
                pytest.raises(deepl.DeepLException, match=expected_message)
                if expected_message
                else contextlib.nullcontext()
            ):
                client.translate_text("Yes.", source_lang="EN", target_lang=target, glossary=glossary.glossary_id)
        with pytest.raises(deepl.DeepLException, match="no dictionary from de to fr"):
            client.translate_text("Ja.", source_lang="DE", target_lang="FR", glossary=glossary.glossary_id)
    finally:
        client.delete_glossary(glossary)


@pytest.mark.parametrize(
    ("change", "expected_message"),
    [
        ({"entries": ""}, "there is no entry"),
        ({"entries": "a\tb\tc"}, "entry 1 must be a term"),
        ({"entries": 7}, "'entries'"),
        ({"entries": "a\t\ud800"}, "lone surrogate"),
        ({"entries_format": "xml"}, "'entries_format'"),
        ({"name": ""}, "'name'"),
        ({"name": "x" * 1025}, "'name'"),
        ({"source_lang": "fr"}, "Glossaries from fr to de not supported"),
        ({"target_lang": "en"}, "Glossaries from en to en not supported"),
        ({"colour": "red"}, "'colour'"),
    ],
)
def test_a_glossary_that_cannot_be_used_is_not_kept(
    server: RunningServer, change: dict[str, Any], expected_message: str
) -> None:
    body = {"name": "ours", "source_lang": "en", "target_lang": "de", "entries": "a\tb", **change}
    first = {key: value for key, value in body.items() if key != "name"}
    several = {"name": body["name"], "dictionaries": [first]}
    with server.client() as http:
        for path, sent in (("/v2/glossaries", body), ("/v3/glossaries", several)):
            answer = http.post(path, content=json.dumps(sent), headers={"Content-Type": "application/json"})
            assert answer.status_code == 400, answer.text
            assert (
                expected_message in answer.json()["message"]
                or f"dictionaries[0].{expected_message[1:]}" in answer.json()["message"]
            )
        assert http.get("/v3/glossaries").json() == {"glossaries": []}


def test_there_is_one_dictionary_for_two_languages(server: RunningServer) -> None:
    body = {"source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    with server.client() as http:
        answer = http.post(
            "/v3/glossaries", json={"name": "x", "dictionaries": [body, {**body, "target_lang": "DE-AT"}]}
        )
        assert (answer.status_code, answer.json()["message"][:27]) == (400, "There are two dictionaries ")


def test_forms_will_do(client: DeepLClient, server: RunningServer) -> None:
    fields = {"name": "ours", "source_lang": "EN", "target_lang": "DE", "entries": "a\tb"}
    with server.client() as http:
        made = http.post("/v2/glossaries", data=fields)
        assert made.status_code == 201
        entries = http.get(f"/v2/glossaries/{made.json()['glossary_id']}/entries")
        assert (entries.text, entries.headers["content-type"]) == (
            "a\tb",
            "text/tab-separated-values; charset=utf-8",
        )
        result = http.post("/v2/translate", data={"text": TEXT, "target_lang": "DE", "glossary_id": "x"})
        assert (result.status_code, result.json()["message"][:13]) == (400, "'source_lang'")


def test_terms_come_and_go_as_tbx(client: DeepLClient, server: RunningServer) -> None:
    fields = {"name": "ours", "source_lang": "EN", "target_lang": "DE"}
    unit = "<tu><tuv xml:lang='en-GB'><seg>a &amp; b</seg></tuv><tuv xml:lang='de'><seg>b</seg></tuv></tu>"
    with server.client() as http:
        memory = {**fields, "entries": f"<tmx><body>{unit}</body></tmx>", "entries_format": "tmx"}
        place = f"/v2/glossaries/{http.post('/v2/glossaries', json=memory).json()['glossary_id']}/entries"
        written = http.get(place, params={"entries_format": "tbx"})
        assert written.headers["content-type"] == "application/x-tbx+xml"
        again = http.post("/v2/glossaries", json={**fields, "entries": written.text, "entries_format": "tbx"})
        assert client.get_glossary_entries(again.json()["glossary_id"]) == {"a & b": "b"}
        refused = http.post("/v2/glossaries", json={**memory, "entries": "<tmx/>"})
        assert (refused.status_code, "no entry with terms in en and de" in refused.text) == (400, True)


def test_no_more_is_kept_than_settings_say(tiny_artifact: Path) -> None:
    with ready(settings_for(tiny_artifact, max_glossaries=2, max_glossary_bytes=600)) as server:
        client = client_of(server)
        made = [client.create_glossary("ours", "EN", "DE", {"a": "b"}) for _ in range(2)]
        with pytest.raises(deepl.QuotaExceededException, match="at most 2 glossaries"):
            client.create_glossary("ours", "EN", "DE", {"a": "b"})
        with pytest.raises(deepl.QuotaExceededException, match="at most 600 bytes"):
            client.replace_multilingual_glossary_dictionary(made[0].glossary_id, dictionary({"a": "b" * 500}))
        assert client.get_glossary_entries(made[0]) == {"a": "b"}
        client.delete_glossary(made[1])
        client.create_glossary("ours", "EN", "DE", {"a": "b"})


def test_glossaries_belong_to_their_key(tiny_artifact: Path) -> None:
    shop, desk, boss = (new_key(name, ("translate",)) for name in ("shop", "desk", "boss"))
    lines = ";".join(line for _, line in (shop, desk, boss)).replace("boss translate", "boss admin")
    with ready(settings_for(tiny_artifact, api_keys=lines, max_glossaries=1)) as server:
        owner, *others = (client_of(server, secret) for secret, _ in (shop, desk, boss))
        glossary = owner.create_glossary("ours", "EN", "DE", ENTRIES)
        assert says_terms(translated(owner, [TEXT], glossary=glossary)[0])
        for other in others:
            assert [*other.list_glossaries(), *other.list_multilingual_glossaries()] == []
            calls: list[Callable[[str], object]] = [
                other.get_glossary,
                other.get_glossary_entries,
                other.delete_glossary,
                other.get_multilingual_glossary,
                lambda earlier, other=other: other.update_multilingual_glossary_name(earlier, "theirs"),  # type: ignore[misc]
                lambda earlier, other=other: other.replace_multilingual_glossary_dictionary(  # type: ignore[misc]
                    earlier, dictionary({"a": "b"})
                ),
            ]
            for call in calls:
                with pytest.raises(deepl.GlossaryNotFoundException):
                    call(glossary.glossary_id)
            with pytest.raises(deepl.DeepLException, match="no such glossary"):
                translated(other, [TEXT], glossary=glossary.glossary_id)
            other.create_glossary("theirs", "EN", "DE", {"a": "b"})  # others' do not count
        assert owner.get_glossary_entries(glossary) == ENTRIES
        with pytest.raises(deepl.AuthorizationException):
            client_of(server, "wrong").list_glossaries()


def test_they_outlive_the_server(tiny_artifact: Path, tmp_path: Path) -> None:
    settings = settings_for(tiny_artifact, context_store=f"sqlite:///{tmp_path}/kept.db")
    with ready(settings) as server:
        made = client_of(server).create_glossary("ours", "EN", "DE", ENTRIES)
    with ready(settings) as server:
        assert says_terms(translated(client_of(server), [TEXT], glossary=made)[0])


def test_all_replicas_see_them(tiny_artifact: Path, redis_port: int) -> None:
    flush(redis_port)
    settings = settings_for(tiny_artifact, context_store=f"redis://127.0.0.1:{redis_port}/0")
    with ready(settings) as server, ready(settings) as replica:
        made = client_of(server).create_glossary("ours", "EN", "DE", ENTRIES)
        assert says_terms(translated(client_of(replica), [TEXT], glossary=made)[0])
        client_of(replica).delete_glossary(made)
        with pytest.raises(deepl.DeepLException, match="no such glossary"):
            translated(client_of(server), [TEXT], glossary=made)


def test_a_path_that_is_not_there_answers_as_the_others(server: RunningServer) -> None:
    answer = httpx.get(f"{server.url}/v3/nothing")
    assert (answer.status_code, set(answer.json())) == (404, {"message"})
    assert answer.headers["X-Trace-ID"]
