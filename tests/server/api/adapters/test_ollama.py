"""Ollama's clients: Weblate, Subtitle Edit, PDFMathTranslate."""

import json

from tests.server.api.conftest import RunningServer
from tests.server.api.libretranslate.test_routes import TEXT, direct
from tests.server.api.openai.test_chat import SUBTITLE_EDIT, WEBLATE_SEPARATOR


def test_weblate(server: RunningServer) -> None:
    body = {
        "model": "en-de", "system": "You are a highly skilled translation assistant.", "stream": False,
        "prompt": WEBLATE_SEPARATOR.join([TEXT, "Yes."]),
    }  # fmt: skip
    with server.client() as http:
        answer = http.post("/api/generate", json=body).json()
    assert answer["response"].split(WEBLATE_SEPARATOR) == [direct(server, TEXT), direct(server, "Yes.")]
    assert (answer["done"], answer["done_reason"]) == (True, "stop")
    assert answer["eval_count"] > 0


def test_subtitle_edit(server: RunningServer) -> None:
    with server.client() as http:
        body = {"model": "en-de", "prompt": f"{SUBTITLE_EDIT}\n\nYes.", "stream": False}
        assert http.post("/api/generate", json=body).json()["response"] == direct(server, "Yes.")
        names = [tag["model"] for tag in http.get("/api/tags").json()["models"]]
    assert {"en-de", "auto-de"} <= set(names)


def test_streams_are_lines(server: RunningServer) -> None:
    """PDFMathTranslate adds the parts of a conversation's answer, as Ollama's own client reads them."""
    messages = [{"role": "system", "content": "You are a translation engine."}, {"role": "user", "content": TEXT}]
    with server.client() as http:
        chat = http.post("/api/chat", json={"model": "en-de:latest", "messages": messages, "stream": True})
        generated = http.post("/api/generate", json={"model": "en-de", "prompt": TEXT})
        whole = http.post("/api/chat", json={"model": "en-de", "messages": messages, "stream": False}).json()
    parts = [json.loads(line) for line in chat.text.splitlines()]
    assert "".join(part["message"]["content"] for part in parts) == direct(server, TEXT)
    assert whole["message"] == {"role": "assistant", "content": direct(server, TEXT)}
    lines = [json.loads(line) for line in generated.text.splitlines()]
    assert "".join(line["response"] for line in lines) == direct(server, TEXT)
    for item in (parts, lines):
        assert [part["done"] for part in item] == [False, True]


def test_errors(server: RunningServer) -> None:
    with server.client() as http:
        unknown = http.post("/api/generate", json={"model": "llama3", "prompt": "Yes."})
        assert (unknown.status_code, set(unknown.json())) == (404, {"error"})
        silent = http.post("/api/chat", json={"model": "en-de", "messages": []})
        assert (silent.status_code, set(silent.json())) == (400, {"error"})
