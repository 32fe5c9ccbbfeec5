"""Requests that end when their time is over, whatever the server does."""

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
    """`status` 0: CUT_OFF or CLOSED, as `failure` says."""

    status: int
    body: bytes = b""
    failure: str = ""

    @property
    def label(self) -> str:
        return self.failure or str(self.status)

    def json(self) -> dict[str, object]:
        """The body's object; empty if it is none."""
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
    """One request on a connection of its own; hangs up after `seconds`."""
    give_up = time.monotonic() + seconds

    def left() -> float:
        return max(0.001, give_up - time.monotonic())

    connection = http.client.HTTPConnection(address.host, address.port, timeout=seconds)
    try:
        connection.connect()
        plug: socket.socket = connection.sock
        with contextlib.suppress(
            BrokenPipeError, ConnectionResetError
        ):  # refused while it is sent: the answer is there
            connection.request(method, path, body or None, {**address.headers, **headers})
        plug.settimeout(left())
        response = connection.getresponse()
        received = list[bytes]()
        while True:
            plug.settimeout(left())
            block = response.read1(BLOCK)
            if not block:
                return Reply(response.status, b"".join(received))
            received.append(block)
            if time.monotonic() > give_up:
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
    """A file, from English into German."""
    body, kind = multipart({"source": b"en", "target": b"de"}, (name, data))
    return request("POST", path, body, {"Content-Type": kind})


def upload_to_deepl(name: str, data: bytes) -> Attempt:
    """A file that is translated after the answer; the client asks until it is done, and fetches it."""
    body, kind = multipart({"source_lang": b"EN", "target_lang": b"DE"}, (name, data))

    def send(address: Address, seconds: float) -> Answers:
        give_up = time.monotonic() + seconds
        taken = send_request(address, seconds, "POST", "/v2/document", body, {"Content-Type": kind})
        found = taken.json()
        if taken.status != 200:
            return Answers.of(taken.label)
        where = f"/v2/document/{found['document_id']}"
        key = json.dumps({"document_key": found["document_key"]}).encode()

        def look(path: str) -> Reply:
            left = max(0.1, give_up - time.monotonic())
            return send_request(address, left, "POST", path, key, {"Content-Type": "application/json"})

        state = _poll(lambda: str(look(where).json().get("status", CLOSED)), ("error", "done", CLOSED), give_up)
        if state == "done":
            return Answers.of(taken.label, look(f"{where}/result").label)
        return Answers.of(taken.label, note=f"then {state}")

    return Attempt(len(body), send)


def document(body: Mapping[str, object]) -> Attempt:
    """A document, which is looked at until it is done, and deleted."""
    content = json.dumps(body).encode()

    def send(address: Address, seconds: float) -> Answers:
        give_up = time.monotonic() + seconds
        made = send_request(address, seconds, "POST", "/v1/documents", content, {"Content-Type": "application/json"})
        if made.status not in (200, 202):
            return Answers.of(made.label)
        where = f"/v1/documents/{made.json()['id']}"

        def state() -> str:
            return str(
                send_request(address, max(0.1, give_up - time.monotonic()), "GET", where).json().get("state", CLOSED)
            )

        ended = _poll(state, ("done", "failed", CLOSED), give_up)
        gone = send_request(address, 5, "DELETE", where)
        return Answers.of(made.label, gone.label, note=f"then {ended}")

    return Attempt(len(content), send)


def _poll(state: Callable[[], str], last: tuple[str, ...], give_up: float) -> str:
    """The first state that is among the last ones, or CUT_OFF."""
    while time.monotonic() < give_up:
        found = state()
        if found in last:
            return found
        time.sleep(0.2)
    return CUT_OFF
