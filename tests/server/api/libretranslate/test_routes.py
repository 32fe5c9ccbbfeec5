"""LibreTranslate's API through its own client and by plain requests."""

import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.serving.test_lifecycle import MANY_SENTENCES

TEXT = "Where is the station? She sells bread and milk."


@pytest.fixture(scope="module")
def client(server: RunningServer) -> LibreTranslateAPI:
    return LibreTranslateAPI(server.url)


def direct(server: RunningServer, text: str) -> str:
    """The translation by our own API."""
    translation: str = server.translate(text).json()["translations"][0]["text"]
    return translation


def test_the_client_translates(client: LibreTranslateAPI, server: RunningServer) -> None:
    assert client.translate(TEXT, "en", "de") == direct(server, TEXT)
    assert client.translate(TEXT, "auto", "de") == direct(server, TEXT)


def test_the_client_asks_for_languages(client: LibreTranslateAPI) -> None:
    assert client.languages() == [
        {"code": "de", "name": "German", "targets": []},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    [result] = client.detect("Wo ist der Bahnhof, und wann kommt der Zug?")
    assert result["language"] == "de"
    assert 50 < result["confidence"] <= 100


def test_the_client_hears_errors(client: LibreTranslateAPI) -> None:
    with pytest.raises(HTTPError) as caught:
        client.translate(TEXT, "zz", "de")
    with caught.value as answer:
        assert answer.code == 400
        assert answer.read() == b'{"error":"zz is not supported"}'


FIELDS = {"q": "Yes.", "source": "en", "target": "de", "api_key": "anything"}


@pytest.mark.parametrize("how", [{"json": FIELDS}, {"data": FIELDS}, {"params": FIELDS}])
def test_fields_come_in_every_way(server: RunningServer, how: dict[str, Any]) -> None:
    with server.client() as http:
        answer = http.post("/translate", **how)
        parts: Any = {name: (None, value) for name, value in FIELDS.items()}
        assert http.post("/translate", files=parts).json() == answer.json()
    assert answer.json() == {"translatedText": direct(server, "Yes.")}


def test_lists_detection_and_alternatives(server: RunningServer) -> None:
    with server.client() as http:
        texts = ["Where is the station?", "Yes."]
        body = {"q": texts, "source": "auto", "target": "de", "alternatives": 2}
        answer = http.post("/translate", json=body).json()
        assert http.post("/translate", json={**body, "alternatives": 50}).status_code == 400
    assert answer["translatedText"] == [direct(server, text) for text in texts]
    assert [item["language"] for item in answer["detectedLanguage"]] == ["en", "en"]
    assert all(0 <= detection["confidence"] <= 100 for detection in answer["detectedLanguage"])
    for translation, others in zip(answer["translatedText"], answer["alternatives"], strict=True):
        assert 1 <= len(others) <= 2
        assert translation not in others


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "zz"}, "zz is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"q": "a" * 20_001}, "Invalid request: request (20001) exceeds text limit (20000)"),
        ({"q": ["a"] * 51}, "Invalid request: request (51) exceeds batch limit (50)"),
        ({"alternatives": "many"}, "Invalid request: alternatives: should be a valid integer"),
    ],
)
def test_errors(server: RunningServer, change: dict[str, Any], message: str) -> None:
    fields = {name: value for name, value in {**FIELDS, **change}.items() if value is not None}
    with server.client() as http:
        answer = http.post("/translate", json=fields)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(message)
    assert set(answer.json()) == {"error"}


def test_tags_come_back(server: RunningServer) -> None:
    first, second = "Where is the station?", "She sells bread and milk."
    body = {"q": f"<p>{first}</p><pre>Yes.</pre><p>{second}</p>", "source": "en", "target": "de", "format": "html"}
    with server.client() as http:
        answer = http.post("/translate", json={**body, "alternatives": 1}).json()
        several = http.post("/translate", json={**body, "q": [body["q"], "Yes."]}).json()
    expected = f"<p>{direct(server, first)}</p><pre>Yes.</pre><p>{direct(server, second)}</p>"
    assert answer["translatedText"] == expected
    [other] = answer["alternatives"]
    assert other != expected
    assert (other.count("<p>"), other.count("<pre>Yes.</pre>")) == (2, 1)
    assert several["translatedText"] == [expected, direct(server, "Yes.")]


def test_methods_pages_and_settings(server: RunningServer) -> None:
    with server.client() as http:
        assert http.get("/detect").status_code == 405
        assert http.post("/health").status_code == 405
        assert set(http.post("/health").json()) == {"error"}
        assert http.get("/health").json() == {"status": "ok"}
        assert http.post("/languages").json() == http.get("/languages", params={"api_key": "x"}).json()
        settings = http.get("/frontend/settings").json()
        assert settings["charLimit"] == 20_000
        assert (settings["apiKeys"], settings["keyRequired"]) == (False, False)
        assert settings["language"]["source"] == {"code": "en", "name": "English"}
        assert ".txt" in settings["supportedFilesFormat"]
        page = {"Origin": "http://page.example", "Access-Control-Request-Method": "POST"}
        assert http.options("/translate", headers=page).headers["Access-Control-Allow-Origin"] == "*"
        refused = http.post("/translate", json={}, headers={"Origin": "http://page.example"})
        assert refused.headers["Access-Control-Allow-Origin"] == "*"
        own = http.get("/v1/models", headers={"Origin": "http://page.example"})
        assert "Access-Control-Allow-Origin" not in own.headers


def test_files(server: RunningServer) -> None:
    content = b"Where is the station?\n\nShe sells bread and milk.\n"
    with server.client() as http:
        form = {"source": "en", "target": "de"}
        answer = http.post("/translate_file", data=form, files={"file": ("book.txt", content)})
        assert answer.status_code == 200, answer.text
        url = answer.json()["translatedFileUrl"]
        assert url.startswith(f"{server.url}/download_file/")
        translated = httpx.get(url)
        assert translated.content.decode() == direct(server, content.decode())
        assert "book.de.txt" in translated.headers["Content-Disposition"]
        page = {"file": ("page.html", b"<p>Where is the station?</p>")}
        result = httpx.get(http.post("/translate_file", data=form, files=page).json()["translatedFileUrl"])
        assert result.text == f"<p>{direct(server, 'Where is the station?')}</p>"
        assert result.headers["Content-Type"].startswith("text/html")
        missing = http.get("/download_file/nothing")
        assert (missing.status_code, set(missing.json())) == (404, {"error"})
        for name, broken in (("book.exe", content), ("book.txt", b"\xff\xfe\x00")):
            refused = http.post("/translate_file", data=form, files={"file": (name, broken)})
            assert refused.status_code == 400
        unnamed = http.post("/translate_file", data=form)
        assert unnamed.json() == {"error": "Invalid request: missing file parameter"}


def test_a_missed_deadline_has_the_error_of_the_dialect(tiny_artifact: Path) -> None:
    with ready(settings_for(tiny_artifact, request_timeout=0.05)) as server, server.client() as http:
        answer = http.post("/translate", data={"q": MANY_SENTENCES, "source": "en", "target": "de"})
        assert (answer.status_code, set(answer.json())) == (504, {"error"})
        until(lambda: server.sentences == 0, "every slot is free")


GERMAN = "Wo ist der Bahnhof, und wann kommt der Zug?"


def test_what_is_in_the_target_language_stays(server: RunningServer) -> None:
    """Alone, beside others, in HTML and in a file; also if both languages are named."""
    auto = {"source": "auto", "target": "de"}
    with server.client() as http:
        texts = [GERMAN, "Where is the station?"]
        answer = http.post("/translate", json={"q": texts, **auto, "alternatives": 1}).json()
        assert answer["translatedText"] == [GERMAN, direct(server, texts[1])]
        assert [item["language"] for item in answer["detectedLanguage"]] == ["de", "en"]
        assert answer["alternatives"][0] == []
        page = f"<p>{GERMAN}</p>"
        html = http.post("/translate", json={"q": page, **auto, "format": "html"}).json()
        assert (html["translatedText"], html["detectedLanguage"]["language"]) == (page, "de")
        same = http.post("/translate", json={"q": "Yes.", "source": "de", "target": "de"})
        assert same.json() == {"translatedText": "Yes."}
        file = http.post("/translate_file", data=auto, files={"file": ("a.html", page.encode())})
        result = http.get(file.json()["translatedFileUrl"])
        assert (result.text, result.headers["Content-Type"]) == (page, "text/html; charset=utf-8")
    assert LibreTranslateAPI(server.url).translate(GERMAN, "auto", "de") == GERMAN


ITALIAN = "Il gatto dorme sul divano e non vuole mangiare."


def test_a_language_that_is_not_served_is_not_called_the_served_one(server: RunningServer) -> None:
    with server.client() as http:
        answer = http.post("/translate", json={"q": [ITALIAN, TEXT], "source": "auto", "target": "de"}).json()
        italian, english = answer["detectedLanguage"]
        assert italian["confidence"] < 5 < 90 < english["confidence"]
        [result] = http.post("/detect", json={"q": ITALIAN}).json()
        assert (result["language"], result["confidence"] > 90) == ("it", True)
        refused = http.post(
            "/translate_file", data={"source": "auto", "target": "de"}, files={"file": ("a.txt", ITALIAN.encode())}
        )
        assert (refused.status_code, "Italian (it)" in refused.json()["error"]) == (400, True)


@pytest.mark.parametrize("nothing", [{"json": None}, {"data": ""}])
def test_empty_fields_are_as_good_as_none(server: RunningServer, nothing: dict[str, Any]) -> None:
    [(how, empty)] = nothing.items()
    fields: Any = {how: {**FIELDS, "format": empty, "alternatives": empty, "api_key": empty}}
    with server.client() as http:
        assert http.post("/translate", **fields).json() == {"translatedText": direct(server, "Yes.")}


def test_the_fields_of_a_query_and_of_a_form_are_one(server: RunningServer) -> None:
    """A PHP client sends the fields in the query, beside an empty multipart body."""
    empty = {"content": b"--x--\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}
    with server.client() as http:
        result = http.post("/detect", params={"q": GERMAN, "api_key": "x"}, **empty).json()  # type: ignore[arg-type]
        assert [item["language"] for item in result] == ["de"]
        form = {"q": "No.", "source": "en"}
        both = http.post("/translate", params={"q": "Yes.", "target": "de"}, data=form)
    assert both.json() == {"translatedText": direct(server, "Yes.")}


@pytest.mark.parametrize(
    ("source", "target"), [("en-US", "de"), ("EN", "DE"), ("eng_Latn", "deu_Latn"), ("AUTO", "de-AT")]
)
def test_codes_with_regions_fall_back_to_their_language(server: RunningServer, source: str, target: str) -> None:
    fields = {"source": source, "target": target}
    with server.client() as http:
        answer = http.post("/translate", json={"q": TEXT, **fields}).json()
        assert answer["translatedText"] == direct(server, TEXT)
        if source == "AUTO":
            assert answer["detectedLanguage"]["language"] == "en"
        file = http.post("/translate_file", data=fields, files={"file": ("a.txt", TEXT.encode())})
        assert http.get(file.json()["translatedFileUrl"]).text == direct(server, TEXT)
        same = http.post("/translate", json={"q": "Yes.", "source": "en-US", "target": "en_GB"})
        assert same.json() == {"translatedText": "Yes."}
        unknown = http.post("/translate", json={"q": "Yes.", "source": "en", "target": "zz-ZZ"})
        assert (unknown.status_code, unknown.json()) == (400, {"error": "zz-ZZ is not supported"})


@pytest.mark.parametrize("how", ["json", "data"])
def test_a_glossary_and_scores(server: RunningServer, how: str) -> None:
    terms = {"station": "Haltestelle"}
    fields: Any = {"q": TEXT, "source": "en", "target": "de", "scores": "true"}
    fields["glossary"] = terms if how == "json" else json.dumps(terms)
    with server.client() as http:
        answer = http.post("/translate", **{how: fields}).json()
        plain = http.post("/translate", json={**FIELDS, "q": ["Yes.", "12"], "scores": True, "glossary": ""}).json()
        for wrong in ("[", '{"a": 1}', "a", '{"": "b"}'):
            refused = http.post("/translate", data={**FIELDS, "glossary": wrong})
            assert (refused.status_code, set(refused.json())) == (400, {"error"})
    own = server.translate(TEXT, glossary=terms).json()["translations"][0]
    assert answer["translatedText"] == own["text"]
    assert "Haltestelle" in answer["translatedText"]
    assert answer["score"] == pytest.approx(sum(sentence["score"] for sentence in own["sentences"]), abs=1e-3)
    assert set(answer["flags"]) == {flag for sentence in own["sentences"] for flag in sentence["flags"]}
    assert (plain["score"][1], plain["flags"][1]) == (0, [])
    assert len(plain["score"]) == 2
