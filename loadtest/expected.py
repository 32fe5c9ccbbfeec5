"""What an idle server answers: under load every answer must be the same."""

import json
import urllib.request
from collections.abc import Sequence
from typing import Any

from loadtest.texts import BATCH, PARAGRAPHS, SHORT, STORY

SECONDS = 120.0


class Expected:
    """Translations by what was sent, asked for one after the other before anybody else comes."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._documents: dict[tuple[str, int, str], str] = {}

    def learn(self, base: str) -> None:
        """Raises OSError when the server does not answer."""
        for text in (*SHORT, *PARAGRAPHS, *BATCH):
            body: dict[str, Any] = {"text": text, "source": "en", "target": "de"}
            self._texts[text] = _post(base, "/v1/translate", body)["translations"][0]["text"]
        for mode in ("offline", "online"):
            body = {"sentences": list(STORY), "source": "en", "target": "de", "mode": mode, "wait": True}
            for one in _post(base, "/v1/documents", body)["sentences"]:
                self._documents[mode, one["index"], one["source"]] = one["translation"]

    def problem(self, texts: Sequence[str], translations: Sequence[str]) -> str | None:
        """What is wrong with translations, if anything."""
        if len(texts) != len(translations):
            return f"{len(translations)} translations of {len(texts)} texts"
        for text, translation in zip(texts, translations, strict=True):
            if self._texts.get(text) != translation:
                return f"another translation than alone for {text!r}"
        return None

    def problem_with_sentence(self, mode: str, sentence: dict[str, Any]) -> str | None:
        """What is wrong with a sentence of a document, if anything; one that is pending has no translation yet."""
        if sentence["pending"]:
            return None
        if self._documents.get((mode, sentence["index"], sentence["source"])) != sentence["translation"]:
            return f"another translation than alone for sentence {sentence['index']} ({mode}) {sentence['source']!r}"
        return None


def _post(base: str, path: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return json.load(answer)
