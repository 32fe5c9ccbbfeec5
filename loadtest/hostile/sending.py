"""Requests with a timeout, whatever the server does."""

import contextlib
import http.client
import json
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from loadtest.hostile.attempt import CLOSED, CUT_OFF, Address, Answers, Attempt

BLOCK = 65_536
NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True)
class Reply:
    """`status` 0: `failure` is CUT_OFF or CLOSED."""

    status: int
    body: bytes = b""
    failure: str = ""

    @property
    def label(self) -> str:
        return self.failure or str(self.status)

    def json(self) -> dict[str, object]:
        """The JSON object of the body; empty if the body is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def send_request(
    address: Address,
    seconds: float,
    method: str,
    path: str,
    body: bytes = b"",
    headers: Mapping[str, str] = NO_HEADERS,
) -> Reply:
    """Send one request on its own connection; disconnect after `seconds`."""
    deadline = time.monotonic() + seconds

    def seconds_left() -> float:
        return max(0.001, deadline - time.monotonic())

    connection = http.client.HTTPConnection(address.host, address.port, timeout=seconds)
    try:
        connection.connect()
        sock: socket.socket = connection.sock
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the server responded before the end
            connection.request(method, path, body or None, {**address.headers, **headers})
        sock.settimeout(seconds_left())
        response = connection.getresponse()
        received = list[bytes]()
        while True:
            sock.settimeout(seconds_left())
            block = response.read1(BLOCK)
            if not block:
                return Reply(response.status, b"".join(received))
            received.append(block)
            if time.monotonic() > deadline:
                return Reply(0, failure=CUT_OFF)
    except TimeoutError:
        return Reply(0, failure=CUT_OFF)
    except (OSError, http.client.HTTPException):
        return Reply(0, failure=CLOSED)
    finally:
        connection.close()


def request(method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NO_HEADERS) -> Attempt:
    """One request."""

    def send(address: Address, seconds: float) -> Answers:
        return Answers.of(send_request(address, seconds, method, path, body, headers).label)

    return Attempt(len(body) + len(path) + sum(len(name) + len(value) for name, value in headers.items()), send)


def post_json(path: str, value: object) -> Attempt:
    """`value` as the JSON body, or bytes as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    return request("POST", path, body, {"Content-Type": "application/json"})


def post_form(path: str, fields: Mapping[str, str]) -> Attempt:
    return request("POST", path, urlencode(fields).encode(), {"Content-Type": "application/x-www-form-urlencoded"})


def multipart(
    fields: Mapping[str, bytes], file: tuple[str, bytes] | None = None, charset: str | None = None
) -> tuple[bytes, str]:
    """A body of form fields and a file, and its Content-Type."""
    boundary = secrets.token_hex(12)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n"
        for name, value in fields.items()
    ]
    if file is not None:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'
        parts.append(head.encode() + file[1] + b"\r\n")
    kind = f"multipart/form-data; boundary={boundary}" + (f"; charset={charset}" if charset else "")
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), kind


def upload(name: str, data: bytes, path: str = "/v1/files") -> Attempt:
    """Translate a file from English to German."""
    body, kind = multipart({"source": b"en", "target": b"de"}, (name, data))
    return request("POST", path, body, {"Content-Type": kind})


def upload_to_deepl(name: str, data: bytes) -> Attempt:
    """Upload a file to DeepL's API, poll until it is translated, and download it."""
    body, kind = multipart({"source_lang": b"EN", "target_lang": b"DE"}, (name, data))

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds
        accepted = send_request(address, seconds, "POST", "/v2/document", body, {"Content-Type": kind})
        created = accepted.json()
        if accepted.status != 200:
            return Answers.of(accepted.label)
        where = f"/v2/document/{created['document_id']}"
        key = json.dumps({"document_key": created["document_key"]}).encode()

        def fetch(path: str) -> Reply:
            left = max(0.1, deadline - time.monotonic())
            return send_request(address, left, "POST", path, key, {"Content-Type": "application/json"})

        state = _poll(lambda: str(fetch(where).json().get("status", CLOSED)), ("error", "done", CLOSED), deadline)
        if state == "done":
            return Answers.of(accepted.label, fetch(f"{where}/result").label)
        return Answers.of(accepted.label, note=f"then {state}")

    return Attempt(len(body), send)


def document(body: Mapping[str, object]) -> Attempt:
    """Create a document, poll until it is done, and delete it."""
    content = json.dumps(body).encode()

    def send(address: Address, seconds: float) -> Answers:
        deadline = time.monotonic() + seconds
        created = send_request(address, seconds, "POST", "/v1/documents", content, {"Content-Type": "application/json"})
        if created.status not in (200, 202):
            return Answers.of(created.label)
        where = f"/v1/documents/{created.json()['id']}"

        def state() -> str:
            return str(
                send_request(address, max(0.1, deadline - time.monotonic()), "GET", where).json().get("state", CLOSED)
            )

        ended = _poll(state, ("done", "failed", CLOSED), deadline)
        deleted = send_request(address, 5, "DELETE", where)
        return Answers.of(created.label, deleted.label, note=f"then {ended}")

    return Attempt(len(content), send)


def _poll(get_state: Callable[[], str], final: tuple[str, ...], deadline: float) -> str:
    """The first final state, or CUT_OFF at the deadline."""
    while time.monotonic() < deadline:
        state = get_state()
        if state in final:
            return state
        time.sleep(0.2)
    return CUT_OFF
