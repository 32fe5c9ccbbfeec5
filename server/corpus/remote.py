"""A server as `ringmt translate-corpus` sees it: a connection, and what can go wrong with it."""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60.0
"""How long a server may work on a request; it is sent with the request."""
PATIENCE = 15.0
"""Seconds more before the connection counts as dead."""


class Unreachable(Exception):
    """The server does not answer: it starts, drains, or is gone."""


class ServerBusy(Exception):
    """The server has too much to do; `seconds` is when it may be asked again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it is busy for {seconds:g} s")
        self.seconds = seconds


class TooLarge(Exception):
    """The request is too large for this server, or takes it too long (`is_late`)."""

    def __init__(self, told: str, is_late: bool) -> None:
        super().__init__(told)
        self.is_late = is_late


class ServerFault(Exception):
    """The server failed, or its answer makes no sense."""


class RequestRejected(ValueError):
    """The server does not take such requests; trying again is of no use."""


@dataclass(frozen=True)
class CorpusOptions:
    """What every server is asked for; None for the server's default."""

    source: str | None = None
    target: str | None = None
    model: str | None = None
    beam_size: int | None = None
    max_length: int | None = None
    key: str | None = None


@dataclass(frozen=True)
class ServedModel:
    """Servers with the same model translate alike."""

    name: str
    fingerprint: str
    source: str
    target: str

    def fits(self, asked: CorpusOptions) -> bool:
        wanted = ((asked.model, self.name), (asked.source, self.source), (asked.target, self.target))
        return all(want in (None, have) for want, have in wanted)


class Remote:
    """One connection to one server, kept open; use it from one thread."""

    def __init__(self, url: str, asked: CorpusOptions) -> None:
        """Raises RequestRejected for an invalid address."""
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RequestRejected(f"'{url}' is no address of a server: write http://HOST:PORT")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        try:
            self._connection = kind(parts.hostname, parts.port, timeout=SECONDS + PATIENCE)
        except ValueError as error:
            raise RequestRejected(f"'{url}' is no address of a server: {error}") from None
        self._path, self._asked = parts.path, asked

    def model(self) -> ServedModel:
        """The model that this server translates with. Raises Unreachable, ServerBusy, ServerFault, and RequestRejected
        when no model fits what was asked for, or models of several language pairs do."""
        asked, there = self._asked, self._ask("GET", "/v1/models")
        try:
            models = [
                ServedModel(one["name"], one["fingerprint"], one["source"], one["target"]) for one in there["models"]
            ]
        except (KeyError, TypeError) as error:
            raise RequestRejected(f"{self.url} does not answer as a RingMT server does: no {error}") from None
        fitting = [one for one in models if one.fits(asked)]
        served = ", ".join(f"{one.name} ({one.source} to {one.target})" for one in models)
        if not fitting:
            raise RequestRejected(f"{self.url} serves no such model; it has {served or 'none'}")
        if len({(one.source, one.target) for one in fitting}) > 1:
            raise RequestRejected(f"{self.url} has {served}: say which with --source and --target, or --model")
        return fitting[0]

    def translate(self, texts: Sequence[str], model: ServedModel) -> list[str]:
        """Raises Unreachable, ServerBusy, TooLarge, ServerFault and RequestRejected."""
        fields = {"beam_size": self._asked.beam_size, "max_length": self._asked.max_length}
        body = {"text": list(texts), "source": model.source, "target": model.target, "model": model.name}
        answer = self._ask("POST", "/v1/translate", body | {name: one for name, one in fields.items() if one})
        try:
            translations = [str(one["text"]) for one in answer["translations"]]
        except (KeyError, TypeError):
            raise ServerFault(f"{self.url} gave an answer without translations") from None
        if len(translations) != len(texts):
            raise ServerFault(f"{self.url} gave {len(translations)} translations of {len(texts)} texts")
        return translations

    def close(self) -> None:
        self._connection.close()

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Content-Type": "application/json", "X-Request-Timeout": f"{SECONDS:g}"}
        if self._asked.key is not None:
            headers["Authorization"] = f"Bearer {self._asked.key}"
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        try:
            self._connection.request(method, self._path + path, content, headers)
            response = self._connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Unreachable(f"{self.url} does not answer: {error or type(error).__name__}") from None
        return self._answer(response.status, response.headers.get("Retry-After", "1"), data)

    def _answer(self, status: int, retry_after: str, data: bytes) -> Any:
        if status == 200:
            try:
                return json.loads(data)
            except ValueError:
                raise ServerFault(f"{self.url} gave an answer that is no JSON") from None
        told = f"{self.url} answers {status}: {_message(data)}"
        if status in (502, 503):
            raise Unreachable(told)
        if status == 429:
            raise ServerBusy(float(retry_after) if retry_after.isdecimal() else 1.0)
        if status in (413, 504):
            raise TooLarge(told, is_late=status == 504)
        raise ServerFault(told) if status >= 500 else RequestRejected(told)


def _message(data: bytes) -> str:
    """What an error's body says, for people."""
    try:
        return str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return data[:100].decode("utf-8", "replace")
