"""Talking to a server about documents."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, until

STORY = [
    "The girl walks home in the rain.", "She has a red umbrella.", "It is not hers.", "Where did she find it?",
    "At the station, under a bench.", "Yes.", "The rain stops.", "Yes.",
]  # fmt: skip
_WORDS = re.findall(r"\w+", " ".join(SENTENCES))
MANY = [f"{_WORDS[index % len(_WORDS)]}." for index in range(250)]
"""More than are written at a time: between two writes there is a moment for a kill. Of one word each, because what a
document costs grows with the square of its words."""


@dataclass(frozen=True)
class Documents:
    """Answers are checked for their status and come as JSON."""

    client: httpx.Client

    def post(self, status: int = 200, **fields: Any) -> Any:
        body = {"source": "en", "target": "de", "wait": True, "beam_size": 2, **fields}
        return checked(self.client.post("/v1/documents", json=body), status)

    def get(self, name: str, status: int = 200, **query: str) -> Any:
        return checked(self.client.get(f"/v1/documents/{name}", params=query), status)

    def append(self, name: str, sentences: object, status: int = 200, **fields: Any) -> Any:
        body = {"sentences": sentences, **fields}
        return checked(self.client.post(f"/v1/documents/{name}/sentences", json=body), status)

    def put(self, name: str, index: int, status: int | None = 200, retranslate: str = "none", **fields: Any) -> Any:
        path = f"/v1/documents/{name}/sentences/{index}"
        return checked(self.client.put(path, json=fields, params={"retranslate": retranslate}), status)

    def context(self, name: str, index: int, status: int = 200) -> Any:
        return checked(self.client.get(f"/v1/documents/{name}/sentences/{index}/context"), status)

    def done(self, name: str, explain: str = "true") -> Any:
        """The document when it is done."""
        until(lambda: self.get(name, limit="0")["state"] in ("done", "failed"), "the document is done")
        result = self.get(name, explain=explain)
        assert result["state"] == "done", result.get("error")
        return result


def checked(response: httpx.Response, status: int | None) -> Any:
    """The answer's JSON; `status` None is any success."""
    assert response.is_success if status is None else response.status_code == status, response.text
    return response.json() if response.content else None


def translations(document: Any) -> list[str]:
    return [sentence["translation"] for sentence in document["sentences"]]


def alone(server: RunningServer, sources: Sequence[str]) -> list[str]:
    """What /v1/translate makes of every source by itself."""
    answer = server.translate(list(sources), beam_size=2).json()
    return [translation["text"] for translation in answer["translations"]]
