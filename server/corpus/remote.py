"""The client of `ringmt translate-corpus`: a connection to a server, and its errors."""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60.0
"""Timeout of a request, in seconds, which is sent with it."""
PATIENCE = 15.0
"""Further seconds until the connection counts as dead."""


class Unreachable(Exception):
    """The server does not answer: it starts, drains, or is not running."""


class ServerBusy(Exception):
    """The server is overloaded; it may be tried again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it is busy for {seconds:g} s")
        self.seconds = seconds


class TooLarge(Exception):
    """The request is too large for this server, or exceeded its timeout (`is_timeout`)."""

    def __init__(self, message: str, is_timeout: bool) -> None:
        super().__init__(message)
        self.is_timeout = is_timeout


class ServerFault(Exception):
    """The server failed, or its response is invalid."""


class RequestRejected(ValueError):
    """The server does not accept such requests; trying again does not help."""


@dataclass(frozen=True)
class CorpusOptions:
    """Options of the requests to every server; None for the server's default."""

    source: str | None = None
    target: str | None = None
    model: str | None = None
    beam_size: int | None = None
    max_length: int | None = None
    key: str | None = None


@dataclass(frozen=True)
class ServedModel:
    """Servers with equal models give equal translations."""

    name: str
    fingerprint: str
    source: str
    target: str

    def matches(self, options: CorpusOptions) -> bool:
        pairs = ((options.model, self.name), (options.source, self.source), (options.target, self.target))
        return all(option in (None, value) for option, value in pairs)


MODEL_FIELDS = tuple(field.name for field in fields(ServedModel))


class Remote:
    """One connection to one server, kept open; use it from one thread."""

    def __init__(self, url: str, options: CorpusOptions) -> None:
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
        self._path, self._options = parts.path, options

    def model(self) -> ServedModel:
        """The model that this server translates with. Raises Unreachable, ServerBusy, ServerFault, and RequestRejected
        if no model matches the options, or models of several language pairs do."""
        body = self._send("GET", "/v1/models")
        try:
            models = [ServedModel(**{field: model[field] for field in MODEL_FIELDS}) for model in body["models"]]
        except (KeyError, TypeError) as error:
            raise RequestRejected(f"{self.url} does not answer as a RingMT server does: no {error}") from None
        matching = [model for model in models if model.matches(self._options)]
        served = ", ".join(f"{model.name} ({model.source} to {model.target})" for model in models)
        if not matching:
            raise RequestRejected(f"{self.url} serves no such model; it has {served or 'none'}")
        if len({(model.source, model.target) for model in matching}) > 1:
            raise RequestRejected(f"{self.url} has {served}: say which with --source and --target, or --model")
        return matching[0]

    def translate(self, texts: Sequence[str], model: ServedModel) -> list[str]:
        """Raises Unreachable, ServerBusy, TooLarge, ServerFault and RequestRejected."""
        search = {"beam_size": self._options.beam_size, "max_length": self._options.max_length}
        body = {"text": list(texts), "source": model.source, "target": model.target, "model": model.name}
        response = self._send("POST", "/v1/translate", body | {name: value for name, value in search.items() if value})
        try:
            translations = [str(translation["text"]) for translation in response["translations"]]
        except (KeyError, TypeError):
            raise ServerFault(f"{self.url} sent a response without translations") from None
        if len(translations) != len(texts):
            raise ServerFault(f"{self.url} sent {len(translations)} translations of {len(texts)} texts")
        return translations

    def close(self) -> None:
        self._connection.close()

    def _send(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Content-Type": "application/json", "X-Request-Timeout": f"{SECONDS:g}"}
        if self._options.key is not None:
            headers["Authorization"] = f"Bearer {self._options.key}"
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        try:
            self._connection.request(method, self._path + path, content, headers)
            response = self._connection.getresponse()
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Unreachable(f"{self.url} does not answer: {error or type(error).__name__}") from None
        return self._parse_response(response.status, response.headers.get("Retry-After", "1"), data)

    def _parse_response(self, status: int, retry_after: str, data: bytes) -> Any:
        if status == 200:
            try:
                return json.loads(data)
            except ValueError:
                raise ServerFault(f"{self.url} sent a response that is no JSON") from None
        message = f"{self.url} answers {status}: {_message(data)}"
        if status in (502, 503):
            raise Unreachable(message)
        if status == 429 and _error(data, "type") == "quota_exceeded":  # until tomorrow, or next month
            raise RequestRejected(f"{message}; the same command continues when the key has characters again")
        if status == 429:
            raise ServerBusy(float(retry_after) if retry_after.isdecimal() else 1.0)
        if status in (413, 504):
            raise TooLarge(message, is_timeout=status == 504)
        raise ServerFault(message) if status >= 500 else RequestRejected(message)


def _error(data: bytes, field: str) -> str | None:
    """A field of an error response; None for a response of another server, such as a proxy."""
    try:
        return str(json.loads(data)["error"][field])
    except (ValueError, KeyError, TypeError):
        return None


def _message(data: bytes) -> str:
    """The message of an error response."""
    return _error(data, "message") or data[:100].decode("utf-8", "replace")
