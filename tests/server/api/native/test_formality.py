"""`formality` in all APIs, with the bundled models."""

import io
import json
from collections.abc import Iterator

import deepl
import httpx
import pytest

from server.settings import BUNDLED_MODELS, EngineSettings, Settings
from server.text.checks.address import WANTED, Address, Formality, address_of
from tests.server.api.conftest import RunningServer, ready, until

SOURCE = "Did you bring your book?"
PAIR = {"source": "en", "target": "de"}
FORMALITIES: tuple[Formality, ...] = ("more", "less")
both = pytest.mark.parametrize("formality", FORMALITIES)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with ready(
        Settings(models=(BUNDLED_MODELS,), engine=EngineSettings(num_workers=1), load_models="start")
    ) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def form_of(text: str) -> Address:
    return address_of(text, SOURCE)


@both
def test_texts_streams_documents_and_files(client: httpx.Client, formality: Formality) -> None:
    wanted = WANTED[formality]
    for asked in (formality, f"prefer_{formality}"):
        answer = client.post("/v1/translate", json={"text": SOURCE, **PAIR, "formality": asked}).json()
        assert form_of(answer["translations"][0]["text"]) is wanted
    body = {"text": SOURCE, **PAIR, "formality": formality, "stream": True}
    events = client.post("/v1/translate", json=body).text
    last = json.loads(events.rsplit("data: ", 1)[1])
    assert last["translations"][0]["text"] == answer["translations"][0]["text"]
    document = client.post("/v1/documents", json={"text": SOURCE, **PAIR, "formality": formality, "wait": True}).json()
    assert form_of(document["sentences"][0]["translation"]) is wanted
    file = {"file": ("a.txt", SOURCE.encode())}
    assert form_of(client.post("/v1/files", data={**PAIR, "formality": formality}, files=file).text) is wanted


@both
def test_appended_and_corrected_sentences_have_the_form_of_their_document(
    client: httpx.Client, formality: Formality
) -> None:
    body = {"sentences": ["Good morning."], "mode": "online", "wait": True, **PAIR, "formality": formality}
    document = client.post("/v1/documents", json=body).json()
    path = f"/v1/documents/{document['id']}"
    client.post(f"{path}/sentences", json={"sentences": SOURCE})
    client.put(f"{path}/sentences/0", json={"source": SOURCE})
    until(lambda: client.get(path).json()["state"] == "done", "all is translated")
    for sentence in client.get(path).json()["sentences"]:
        assert form_of(sentence["translation"]) is WANTED[formality]


@both
def test_deepls_client(server: RunningServer, formality: Formality) -> None:
    client = deepl.DeepLClient("any", server_url=server.url, send_platform_info=False)
    result = client.translate_text(SOURCE, source_lang="EN", target_lang="DE", formality=formality)
    assert not isinstance(result, list)
    assert form_of(result.text) is WANTED[formality]
    out = io.BytesIO()
    client.translate_document(
        io.BytesIO(SOURCE.encode()), out, source_lang="EN", target_lang="DE", filename="a.txt", formality=formality
    )
    assert form_of(out.getvalue().decode()) is WANTED[formality]
    assert {each.code: each.supports_formality for each in client.get_target_languages()} == {
        "DE": True, "EN-GB": False, "EN-US": False,
    }  # fmt: skip


def test_where_it_is_not_possible_a_demand_is_refused_and_a_wish_ignored(
    server: RunningServer, client: httpx.Client
) -> None:
    body = {"text": "Wie geht es dir?", "source": "de", "target": "en"}
    refused = client.post("/v1/translate", json={**body, "formality": "more"})
    assert refused.status_code == 422
    assert refused.json()["error"]["message"].startswith("formality: 'more' is for en to de only")
    plain, wish = (client.post("/v1/translate", json={**body, **more}).json()["translations"][0]["text"]
                   for more in ({}, {"formality": "prefer_more"}))  # fmt: skip
    assert plain == wish
    deepls = deepl.DeepLClient("any", server_url=server.url, send_platform_info=False)
    with pytest.raises(deepl.DeepLException, match="Value for 'formality' not supported") as caught:
        deepls.translate_text("Ja.", source_lang="DE", target_lang="EN-GB", formality="less")
    assert caught.value.http_status_code == 400
    assert str(deepls.translate_text("Ja.", source_lang="DE", target_lang="EN-GB", formality="prefer_less"))


def test_languages_say_where_it_is_possible(client: httpx.Client) -> None:
    listed = {each["source"]: each.get("formality") for each in client.get("/v1/languages").json()["languages"]}
    assert listed == {"de": None, "en": ["de"]}
