"""The translations of an idle server: under load every translation must be the same."""

import json
import urllib.request
from collections.abc import Sequence
from typing import Any

from loadtest.texts import BATCH, PARAGRAPHS, SHORT, STORY

TIMEOUT_SECONDS = 120.0


class Expected:
    """The translations of all texts and documents of `loadtest.texts`, requested one by one before the load."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._documents: dict[tuple[str, int, str], str] = {}

    def learn(self, base: str) -> None:
        """Request all translations. Raises OSError if the server does not answer."""
        for text in (*SHORT, *PARAGRAPHS, *BATCH):
            body: dict[str, Any] = {"text": text, "source": "en", "target": "de"}
            self._texts[text] = _post(base, "/v1/translate", body)["translations"][0]["text"]
        for mode in ("offline", "online"):
            body = {"sentences": list(STORY), "source": "en", "target": "de", "mode": mode, "wait": True}
            for sentence in _post(base, "/v1/documents", body)["sentences"]:
                self._documents[mode, sentence["index"], sentence["source"]] = sentence["translation"]

    def find_problem(self, texts: Sequence[str], translations: Sequence[str]) -> str | None:
        """The difference from the expected translations, or None."""
        if len(texts) != len(translations):
            return f"{len(translations)} translations of {len(texts)} texts"
        for text, translation in zip(texts, translations, strict=True):
            if self._texts.get(text) != translation:
                return f"another translation than on the idle server for {text!r}"
        return None

    def find_sentence_problem(self, mode: str, sentence: dict[str, Any]) -> str | None:
        """The difference from the expected translation, or None; None for a pending sentence."""
        if sentence["pending"]:
            return None
        if self._documents.get((mode, sentence["index"], sentence["source"])) != sentence["translation"]:
            return f"another translation than on the idle server for sentence {sentence['index']} ({mode})"
        return None


def _post(base: str, path: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        return json.load(response)
