"""DeepL's API through its own client."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import deepl
import deepl.http_client
import pytest
from deepl import DeepLClient

from server.api.deepl import documents as deepl_documents
from server.engine.request import SentenceRequest
from server.files.formats.base import DamagedFile
from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for, until
from tests.server.api.libretranslate.test_routes import ITALIAN, TEXT, direct
from tests.server.api.serving.test_lifecycle import MANY_SENTENCES


@pytest.fixture
def client(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> DeepLClient:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)
    return DeepLClient("a key", server_url=server.url, send_platform_info=False)


def test_texts(client: DeepLClient, server: RunningServer) -> None:
    translation = client.translate_text(TEXT, source_lang="EN", target_lang="DE")
    assert not isinstance(translation, list)
    assert (translation.text, translation.detected_source_lang, translation.billed_characters) == (
        direct(server, TEXT),
        "EN",
        len(TEXT),
    )
    several = client.translate_text(["Yes.", TEXT], target_lang="de")
    assert isinstance(several, list)
    assert [result.text for result in several] == [direct(server, "Yes."), direct(server, TEXT)]


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_sentences_are_split_as_requested(client: DeepLClient, server: RunningServer, line_break: str) -> None:
    """Line breaks are where sentences end, or are kept inside of them."""
    text = f"We walk home{line_break}in the rain. Yes.{line_break}{line_break}- Where is the station?"
    joined = text.replace(line_break, " ", 1)
    for split, expected in (("1", direct(server, text)), ("nonewlines", direct(server, joined))):
        actual = client.translate_text(text, source_lang="EN", target_lang="DE", split_sentences=split)
        assert not isinstance(actual, list)
        assert actual.text.count(line_break) == actual.text.count("\n") == 3
        assert actual.text == expected or actual.text.replace(line_break, " ", 1) == expected
    whole = client.translate_text(text, source_lang="EN", target_lang="DE", split_sentences="0")
    assert not isinstance(whole, list)
    assert whole.text.count(line_break) == 3
    assert whole.text.replace(line_break, " ", 1) != direct(server, joined)


@pytest.mark.parametrize(
    "refused",
    [
        {"target_lang": "FR"},
        {"source_lang": "FR"},
        {"formality": "stiff"},
        {"glossary": "an id"},
        {"tag_handling": "rtf"},
        {"splitting_tags": ["p"], "tag_handling": "xml"},
        {"outline_detection": False, "tag_handling": "xml"},
        {"model_type": "quality_optimized"},
        {"extra_body_parameters": {"colour": "red"}},
    ],
)
def test_what_cannot_be_honoured_is_refused(client: DeepLClient, refused: dict[str, Any]) -> None:
    with pytest.raises(deepl.DeepLException, match="Bad request, message: ") as caught:
        client.translate_text("Yes.", **{"source_lang": "EN", "target_lang": "DE", **refused})
    assert caught.value.http_status_code == 400
    name = next(iter(refused))
    field = {"glossary": "glossary_id", "extra_body_parameters": "colour"}.get(name, name)
    assert f"'{field}'" in str(caught.value)


@pytest.mark.parametrize("kind", ["html", "xml"])
def test_tags_come_back(client: DeepLClient, server: RunningServer, kind: str) -> None:
    """Blocks are translated like texts of their own; what is to be ignored stays."""
    first, second = "Where is the station?", "She sells bread and milk."
    text = f"<body><p>{first}</p><p>{second}</p><x>We walk home.</x></body>"
    result = client.translate_text(
        [text, "Yes."], source_lang="EN", target_lang="DE", tag_handling=kind, ignore_tags=["x"]
    )
    assert isinstance(result, list)
    texts = [direct(server, item) for item in (first, second)]
    assert result[0].text == f"<body><p>{texts[0]}</p><p>{texts[1]}</p><x>We walk home.</x></body>"
    assert result[1].text == direct(server, "Yes.")
    bold = client.translate_text("<p>Where is <b>the station</b>?</p>", target_lang="DE", tag_handling=kind)
    assert not isinstance(bold, list)
    assert (bold.text.count("<b>"), bold.text.count("</b>")) == (1, 1)


def test_broken_xml_is_refused(client: DeepLClient) -> None:
    with pytest.raises(deepl.DeepLException, match="Bad request, message: "):
        client.translate_text("<p>Yes.</q>", source_lang="EN", target_lang="DE", tag_handling="xml")


def test_a_document_that_failed_says_so_for_good(
    client: DeepLClient, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its status names the error, and its result does not make the client wait."""

    async def broken(*_: object, **__: object) -> None:
        raise DamagedFile("the file broke off")

    monkeypatch.setattr(deepl_documents, "translate_file", broken)
    handle = client.translate_document_upload(b"Yes.", filename="book.txt", source_lang="EN", target_lang="DE")
    until(lambda: not client.translate_document_get_status(handle).ok, "the document has failed")
    assert str(client.translate_document_get_status(handle).error_message) == "the file broke off"
    with pytest.raises(deepl.DeepLException, match="Bad request") as caught:
        client.translate_document_download(handle, io.BytesIO())
    assert not isinstance(caught.value, deepl.DocumentNotReadyException)
    assert caught.value.http_status_code == 400


def test_languages_and_usage(client: DeepLClient) -> None:
    before = client.get_usage().character.count or 0
    client.translate_text("Yes.", target_lang="DE")
    usage = client.get_usage()
    assert usage.character.count == before + 4
    assert not usage.any_limit_reached
    assert [(language.code, language.name) for language in client.get_source_languages()] == [("EN", "English")]
    [german] = client.get_target_languages()
    assert (german.code, german.name, german.supports_formality) == ("DE", "German", True)


def test_a_document_cycle(client: DeepLClient, server: RunningServer) -> None:
    content = "Where is the station?\n\nShe sells bread and milk.\n"
    handle = client.translate_document_upload(content.encode(), filename="book.txt", target_lang="DE")
    assert len(handle.document_id) == 32
    assert len(handle.document_key) == 64
    until(lambda: client.translate_document_get_status(handle).done, "the document is done")
    status = client.translate_document_get_status(handle)
    assert status.billed_characters == len(content)
    out = io.BytesIO()
    client.translate_document_download(handle, out)
    assert out.getvalue().decode() == direct(server, content)
    with pytest.raises(deepl.DeepLException, match="Not found"):
        client.translate_document_download(handle, out)


def test_a_document_of_another_format_and_a_damaged_one(client: DeepLClient, server: RunningServer) -> None:
    out = io.BytesIO()
    page = io.BytesIO(b"<html><body><p>Where is the station?</p></body></html>")
    status = client.translate_document(page, out, filename="page.html", source_lang="EN", target_lang="DE")
    assert status.billed_characters == len("Where is the station?")
    assert out.getvalue().decode() == f"<html><body><p>{direct(server, 'Where is the station?')}</p></body></html>"
    with pytest.raises(deepl.DeepLException, match="Bad request, message: "):
        client.translate_document_upload(b"no archive", filename="book.docx", target_lang="DE")


def test_what_changes_nothing_is_taken(client: DeepLClient, server: RunningServer) -> None:
    parameters: dict[str, Any] = {"source_lang": "EN", "target_lang": "DE", "preserve_formatting": True}
    more = {"enable_beta_languages": True, "show_billed_characters": True}
    result = client.translate_text("Yes.", **parameters, formality="prefer_less", extra_body_parameters=more)
    assert not isinstance(result, list)
    assert result.text == direct(server, "Yes.")


def test_what_is_in_the_target_language_stays(client: DeepLClient, server: RunningServer) -> None:
    german = "Wo ist der Bahnhof, und wann kommt der Zug?"
    result = client.translate_text([german, "Yes."], target_lang="DE")
    assert isinstance(result, list)
    assert [(translation.text, translation.detected_source_lang) for translation in result] == [
        (german, "DE"),
        (direct(server, "Yes."), "EN"),
    ]
    assert result[0].billed_characters == len(german)
    with pytest.raises(deepl.DeepLException, match="Source and target language are equal"):
        client.translate_document_upload(german.encode(), filename="a.txt", target_lang="DE")


def test_a_language_that_is_not_served_is_named_and_its_text_stays(client: DeepLClient, server: RunningServer) -> None:
    result = client.translate_text([ITALIAN, TEXT], target_lang="DE")
    assert isinstance(result, list)
    assert [(translation.text, translation.detected_source_lang) for translation in result] == [
        (ITALIAN, "IT"),
        (direct(server, TEXT), "EN"),
    ]
    with pytest.raises(deepl.DeepLException, match=r"Italian \(it\)"):
        client.translate_document_upload(ITALIAN.encode(), filename="a.txt", target_lang="DE")


def test_the_format_of_a_file_without_a_name_is_found(client: DeepLClient) -> None:
    page = io.BytesIO(b"<html><body><p>Where is the station?</p></body></html>")
    parameters: dict[str, Any] = {"target_lang": "DE", "source_lang": "EN"}
    assert client.translate_document(page, io.BytesIO(), **parameters, output_format="html").done
    page.seek(0)
    with pytest.raises(deepl.DeepLException, match="'output_format'"):
        client.translate_document_upload(page, **parameters, output_format="txt")


def test_documents_that_are_not_there_or_not_ready(client: DeepLClient) -> None:
    handle = client.translate_document_upload(
        MANY_SENTENCES.encode(), filename="long.txt", source_lang="EN", target_lang="DE"
    )
    with pytest.raises(deepl.DocumentNotReadyException):
        client.translate_document_download(handle)
    wrong = deepl.DocumentHandle(handle.document_id, "0" * 64)
    with pytest.raises(deepl.DeepLException, match="Not found"):
        client.translate_document_get_status(wrong)
    with pytest.raises(deepl.DeepLException, match="not translated"):
        client.translate_document_upload(b"x", filename="book.exe", target_lang="DE")


def test_a_retry_after_a_timeout_doubles_no_work(tiny_artifact: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 2)
    monkeypatch.setattr(deepl.http_client, "min_connection_timeout", 2.0)
    monkeypatch.setattr(deepl.http_client._BackoffTimer, "BACKOFF_INITIAL", 0.5)
    attempts: list[Sequence[SentenceRequest]] = []
    with ready(settings_for(tiny_artifact)) as server:
        [translator] = server.state.translators.values()
        # An engine that never answers.
        monkeypatch.setattr(translator.worker.in_flight, "submit", lambda requests, *_: attempts.append(requests))
        with pytest.raises(deepl.ConnectionException):
            DeepLClient("a key", server_url=server.url).translate_text(TEXT, source_lang="EN", target_lang="DE")
        assert len(attempts) >= 2  # one that hangs up early enough never reaches the engine
        until(lambda: all(item.is_cancelled for of_one in attempts for item in of_one), "no attempt's work goes on")


def test_every_answer_has_a_trace_and_two_strings(server: RunningServer) -> None:
    with server.client() as http:
        for answer, status in (
            (http.post("/v2/translate", data={"text": ["Yes.", "No."], "target_lang": "DE"}), 200),
            (http.post("/v2/translate", json={"target_lang": "DE"}), 400),
            (http.post("/v2/translate", content=b"{", headers={"Content-Type": "application/json"}), 400),
            (http.get("/v2/nothing"), 404),
        ):
            assert answer.status_code == status, answer.text
            assert answer.headers["X-Trace-ID"]
            if status != 200:
                assert all(isinstance(value, str) for value in answer.json().values())
                assert "message" in answer.json()


def test_a_text_processor_sends_html_as_a_form_with_its_key(server: RunningServer) -> None:
    """LibreOffice's request: the way of handling tags in the query, the rest in a form."""
    form = {"auth_key": "a key", "target_lang": "DE", "text": "<p>Where is the station?</p>"}
    with server.client() as http:
        answer = http.post("/v2/translate?tag_handling=html", data=form)
    assert answer.status_code == 200, answer.text
    [translation] = answer.json()["translations"]
    assert translation["text"] == f"<p>{direct(server, 'Where is the station?')}</p>"


def test_the_key_may_be_a_field(tiny_artifact: Path) -> None:
    secret, line = new_key("office", ["translate"])
    with ready(settings_for(tiny_artifact, api_keys=line)) as server, server.client() as http:
        fields = {"target_lang": "DE", "text": "Yes."}
        for key, status in ((secret, 200), ("wrong", 403)):
            assert http.post("/v2/translate", data={**fields, "auth_key": key}).status_code == status
            assert http.post("/v2/translate", json={**fields, "auth_key": key}).status_code == 403
            assert http.post("/v2/translate", params={"auth_key": key}, json=fields).status_code == status
            assert http.get("/v2/usage", params={"auth_key": key}).status_code == status
