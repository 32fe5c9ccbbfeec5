import json
import math

import httpx
import pytest

from server.text.checks.repetition import is_repetitive
from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer


def test_a_text(server: RunningServer) -> None:
    response = server.translate("A house stands by the river.")
    assert response.status_code == 200
    body = response.json()
    assert body["model"] == "tiny"
    [translation] = body["translations"]
    [sentence] = translation["sentences"]
    assert sentence["source"] == "A house stands by the river."
    assert sentence["target"] == translation["text"]
    assert sentence["score"] < 0
    assert sentence["finish_reason"] in ("eos", "length")
    assert sentence["num_tokens"] >= 1
    assert "hypotheses" not in translation
    assert set(body["timings"]) == {"queue", "encode", "decode", "total"}
    assert 0 < body["timings"]["decode"] <= body["timings"]["total"]


def test_gaps_are_kept(server: RunningServer) -> None:
    text = "  Yes.  Where is the station?\r\n\r\n---\x00\n\U0001f600\n\tYes.\u2028"
    [translation] = server.translate(text).json()["translations"]
    for sentence in translation["sentences"]:
        assert sentence["source"] in ("Yes.", "Where is the station?")
    pieces = text.replace("Where is the station?", "Yes.").split("Yes.")
    targets = [sentence["target"] for sentence in translation["sentences"]]
    joined = pieces[0] + "".join(target + gap for target, gap in zip(targets, pieces[1:], strict=True))
    assert translation["text"] == joined


def test_a_list_equals_its_texts_alone(server: RunningServer) -> None:
    texts = ["Yes.", "", "We walk home in the rain. Where is the station?", "\n", "She sells bread and milk."]
    together = server.translate(texts).json()["translations"]
    assert len(together) == len(texts)
    for text, translation in zip(texts, together, strict=True):
        [alone] = server.translate([text]).json()["translations"]
        assert translation["text"] == alone["text"]
        assert len(translation["sentences"]) == len(alone["sentences"])
        for sentence, other in zip(translation["sentences"], alone["sentences"], strict=True):
            assert sentence["target"] == other["target"]
            assert sentence["score"] == pytest.approx(other["score"], abs=1e-3)


@pytest.mark.parametrize("text", ["", "  \n", "---"])
def test_nothing_to_translate(server: RunningServer, text: str) -> None:
    assert server.translate(text).json()["translations"] == [{"text": text, "sentences": [], "flags": []}]


def test_no_texts(server: RunningServer) -> None:
    assert server.translate([]).json()["translations"] == []


def test_hypotheses(server: RunningServer) -> None:
    fields = {"num_hypotheses": 3, "beam_size": 4, "length_penalty": 0.0}
    [translation] = server.translate("She sells bread and milk.", **fields).json()["translations"]
    scores = [hypothesis["score"] for hypothesis in translation["hypotheses"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert translation["hypotheses"][0]["text"] == translation["text"]
    assert scores[0] == translation["sentences"][0]["score"]


def test_hypotheses_of_several_sentences_sum_their_scores(server: RunningServer) -> None:
    [translation] = server.translate("Yes. Where is the station?", num_hypotheses=2).json()["translations"]
    assert len(translation["hypotheses"]) == 2
    total = sum(sentence["score"] for sentence in translation["sentences"])
    assert translation["hypotheses"][0]["score"] == pytest.approx(total)


def test_a_truncated_sentence_says_so(server: RunningServer) -> None:
    text = "It is cold today, and it will be colder tomorrow."
    [translation] = server.translate(text, max_length=1).json()["translations"]
    [sentence] = translation["sentences"]
    assert sentence["num_tokens"] == 1
    assert (sentence["finish_reason"] == "length") == bool(sentence["target"])


def test_long_sentences_are_cut_not_dropped(server: RunningServer) -> None:
    text = "we walk home " * 60
    [translation] = server.translate(text).json()["translations"]
    assert len(translation["sentences"]) > 1
    assert " ".join(sentence["source"] for sentence in translation["sentences"]) == text.strip()


def test_headers(server: RunningServer) -> None:
    with server.client() as client:
        fields = {"text": "Yes.", "source": "en", "target": "de"}
        response = client.post("/v1/translate", json=fields, headers={"X-Request-ID": "my-id.7"})
        assert response.headers["X-Request-ID"] == "my-id.7"
        stages = [stage.split(";dur=")[0] for stage in response.headers["Server-Timing"].split(", ")]
        assert stages == ["queue", "encode", "decode", "total"]
        other = client.get("/livez", headers={"X-Request-ID": "<script>"})
        assert other.headers["X-Request-ID"].isalnum()
        assert "total;dur=" in other.headers["Server-Timing"]


def error_of(response: httpx.Response, status: int) -> dict[str, str]:
    assert response.status_code == status, response.text
    error: dict[str, str] = response.json()["error"]
    assert error["request_id"] == response.headers["X-Request-ID"]
    assert "Server-Timing" in response.headers
    return error


@pytest.mark.parametrize(
    ("fields", "param", "message"),
    [
        ({"beam_size": 0}, "beam_size", "greater than or equal to 1"),
        ({"beam_size": 5}, "beam_size", "at most 4"),
        ({"beam_size": "4"}, "beam_size", "integer"),
        ({"beam_size": 2.0}, "beam_size", "integer"),
        ({"beam_size": True}, "beam_size", "integer"),
        ({"num_hypotheses": 5}, "num_hypotheses", "at most beam_size (4)"),
        ({"num_hypotheses": 0}, "num_hypotheses", "greater"),
        ({"length_penalty": -1}, "length_penalty", "greater"),
        ({"max_length": 65}, "max_length", "at most 64"),
        ({"max_length": 10**30}, "max_length", "at most 64"),
        ({"source": "fr"}, "source", "only 'en' is served"),
        ({"target": "fr"}, "target", "only 'de' is served"),
        ({"model": "tini"}, "model", "did you mean 'tiny'?"),
        ({"text": 5}, "text", "string or a list of strings"),
        ({"text": ["a", None]}, "text", "string or a list of strings"),
        ({"beam_sise": 4}, "beam_sise", "did you mean 'beam_size'?"),
        ({"source": None}, "source", "valid string"),
    ],
)
def test_invalid_values(server: RunningServer, fields: dict[str, object], param: str, message: str) -> None:
    body = {"text": "Yes.", "source": "en", "target": "de", **fields}
    with server.client() as client:
        error = error_of(client.post("/v1/translate", json=body), 422)
    assert (error["type"], error["param"]) == ("invalid_value", param)
    assert message in error["message"]


def post(server: RunningServer, content: bytes, **headers: str) -> httpx.Response:
    with server.client() as client:
        return client.post("/v1/translate", content=content, headers={"content-type": "application/json", **headers})


def test_missing_field(server: RunningServer) -> None:
    error = error_of(post(server, b'{"text": "a", "source": "en"}'), 422)
    assert error["param"] == "target"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_nan_is_not_json(server: RunningServer, number: str) -> None:
    body = b'{"text": "a", "source": "en", "target": "de", "length_penalty": %s}' % number.encode()
    assert number.lstrip("-") in error_of(post(server, body), 400)["message"]


def test_an_infinite_number(server: RunningServer) -> None:
    body = b'{"text": "a", "source": "en", "target": "de", "length_penalty": 1e999}'
    assert math.isinf(json.loads(body)["length_penalty"])
    assert error_of(post(server, body), 422)["param"] == "length_penalty"


def test_a_lone_surrogate_is_located(server: RunningServer) -> None:
    body = rb'{"text": ["a", "ab\ud800"], "source": "en", "target": "de"}'
    error = error_of(post(server, body), 422)
    assert "text 1 has a lone surrogate at character 2" in error["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"a": 1,}', b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"])
def test_malformed_bodies(server: RunningServer, body: bytes) -> None:
    assert error_of(post(server, body), 400)["type"] == "malformed"


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"null", b"5"])
def test_a_body_that_is_no_object(server: RunningServer, body: bytes) -> None:
    assert "must be a JSON object" in error_of(post(server, body), 422)["message"]


def test_media_types(server: RunningServer) -> None:
    body = b'{"text": "Yes.", "source": "en", "target": "de"}'
    assert post(server, body, **{"content-type": "application/json; charset=UTF-8"}).status_code == 200
    assert error_of(post(server, body, **{"content-type": "text/plain"}), 415)["type"] == "unsupported_media_type"
    assert "gzip" in error_of(post(server, body, **{"content-encoding": "gzip"}), 415)["message"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" * 20_001, "text 0 has 20001 characters, at most 20000"),
        (["a"] * 51, "51 texts, at most 50"),
        (["a" * 15_000] * 3, "45000 characters, at most 40000"),
        ("a\n" * 600, "sentences in one request, at most 512 can wait"),
    ],
)
def test_too_large(server: RunningServer, text: object, message: str) -> None:
    error = error_of(server.translate(text), 413)
    assert (error["type"], error["param"]) == ("too_large", "text")
    assert message in error["message"]


def test_a_body_too_large_is_refused_while_it_is_read(server: RunningServer) -> None:
    size = server.state.settings.max_body_bytes + 1
    assert error_of(post(server, b" " * size), 413)["type"] == "too_large"


def test_router_errors(server: RunningServer) -> None:
    with server.client() as client:
        assert error_of(client.get("/v1/translat"), 404)["type"] == "not_found"
        response = client.get("/v1/translate")
        assert error_of(response, 405)["type"] == "method_not_allowed"
        assert response.headers["Allow"] == "POST"


def test_loops_are_counted(server: RunningServer) -> None:
    text = "\n".join(SENTENCES * 3)
    before = server.metric("sentences_flagged_total", flag="loop", model="tiny")
    [translation] = server.translate(text, beam_size=1, max_length=64).json()["translations"]
    loops = sum(is_repetitive(sentence["source"], sentence["target"]) for sentence in translation["sentences"])
    assert loops > 0, "the tiny model has become too good"
    assert server.metric("sentences_flagged_total", flag="loop", model="tiny") - before == loops


def test_requests_are_counted_by_endpoint_and_status(server: RunningServer) -> None:
    def count(endpoint: str, code: str, model: str) -> float:
        labels = {"endpoint": endpoint, "code": code, "model": model}
        return server.state.metrics.registry.get_sample_value("ringmt_requests_total", labels) or 0

    series = [("/v1/translate", "200", "tiny"), ("/v1/translate", "400", ""), ("other", "404", ""), ("/", "200", "")]
    before = [count(*labels) for labels in series]
    with server.client() as client:
        server.translate("Yes.")
        post(server, b"{")
        client.get("/some/path")
        client.get("/")
    assert [count(*labels) for labels in series] == [value + 1 for value in before]
