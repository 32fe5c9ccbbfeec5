"""Forms: fields arrive as clients sent them, and malformed forms are refused and cause no fault."""

import json
import random
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote_to_bytes, urlencode

import httpx
import pytest
from starlette.datastructures import UploadFile

from server.api.admission import api_route as route
from server.api.deepl import route as deepl_route
from server.api.requests import body as body_module
from server.api.requests import forms
from server.api.requests.errors import ApiError
from server.api.requests.forms import CHARSETS, MAX_FIELDS, parameters_of, parse_form
from tests.api_keys import new_key
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.requests.test_growth import (
    BOUNDARY,
    FORM,
    FORM_TOKENS,
    HEADER_TOKENS,
    MULTIPART,
    MULTIPART_TOKENS,
)

NAMES = (
    "report 1.docx", "50%.txt", "a#b?c.txt", 'quote".txt', "\u00fcber.txt", "\u202etxt.exe", "\U0001f600" * 80 + ".srt",
    "back\\slash.txt", "semi;colon=.txt", "\u0645\u0631\u062d\u0628\u0627.html",
)  # fmt: skip


def part(head: bytes, data: bytes = b"x") -> bytes:
    return b"--%s\r\n%s\r\n\r\n%s\r\n--%s--\r\n" % (BOUNDARY.encode(), head, data, BOUNDARY.encode())


def field(name: bytes = b"q") -> bytes:
    return b'Content-Disposition: form-data; name="%s"' % name


@pytest.mark.parametrize("name", NAMES)
def test_a_real_client_s_form_is_read(name: str) -> None:
    fields = {"q": ["Yes.", "\u00e4\r\n--xyz\r\n&=+%"], "empty": "", "\u00e4 &": "1"}
    files = {"file": (name, b"\x00\r\n--\r\n\xff" * 100), "empty file": ("e", b"")}
    request = httpx.Request("POST", "http://x", data=fields, files=files)
    form = parse_form(request.read(), request.headers["Content-Type"])
    assert (form.getlist("q"), form["empty"], form["\u00e4 &"]) == (fields["q"], "", "1")
    file, empty = form["file"], form["empty file"]
    assert isinstance(file, UploadFile)
    assert isinstance(empty, UploadFile)
    assert file.filename == name.replace('"', "%22")  # as HTML says that quotes are written
    assert (file.file.read(), file.size) == (files["file"][1], len(files["file"][1]))
    assert empty.file.read() == b""
    urlencoded = httpx.Request("POST", "http://x", data=fields)
    form = parse_form(urlencoded.read(), FORM)
    assert (form.getlist("q"), form["empty"], form["\u00e4 &"]) == (fields["q"], "", "1")


@pytest.mark.parametrize(
    ("head", "name", "filename"),
    [
        (b"Content-Disposition: form-data; name=q; filename=a.txt", "q", "a.txt"),
        (b'content-disposition:form-data;name="q";filename="a \\"b\\" \\\\ c"', "q", 'a "b" \\ c'),
        (b'Content-Disposition: form-data; filename="C:\\folder\\a.txt"; name="q"', "q", "a.txt"),
        (b'Content-Disposition: form-data; name="q"; filename="a"; filename*=utf-7\'\'b', "q", "a"),
        (b'Content-Disposition: form-data; name="q"; filename="ends with \\"', "q", "ends with \\"),
        (b'X-A: b\r\nContent-Disposition: form-data; name="q"; filename="\xff"', "q", "\ufffd"),
    ],
)
def test_names_in_the_heads_of_parts(head: bytes, name: str, filename: str) -> None:
    form = parse_form(part(head), MULTIPART)
    file = form[name]
    assert isinstance(file, UploadFile)
    assert file.filename == filename


@pytest.mark.parametrize("charset", [*CHARSETS, "UTF-8", '"utf-8"', "ISO-8859-1"])
def test_declared_charsets(charset: str) -> None:
    codec = CHARSETS[charset.strip('"').lower()]
    text = "abc" if codec == "ascii" else "\u00e4\u00fc"
    for kind, body in ((MULTIPART, part(field(), text.encode(codec))), (FORM, b"q=" + text.encode(codec))):
        assert parse_form(body, f"{kind}; charset={charset}")["q"] == text
    typed = field() + f"\r\nContent-Type: text/plain; charset={charset}".encode()
    assert parse_form(part(typed, text.encode(codec)), MULTIPART)["q"] == text


@pytest.mark.parametrize(
    "charset", ["punycode", "idna", "rot13", "utf-7", "unicode_escape", "zlib", "hex", "utf-16", "mbcs", "", "x" * 9000]
)
def test_other_charsets_are_refused_and_their_codecs_never_loaded(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, charset: str
) -> None:
    typed = field() + f"\r\nContent-Type: text/plain; charset={charset}".encode()
    cases = (
        (f"{MULTIPART}; charset={charset}", part(field(), b"a" * 300_000)),
        (f"{FORM}; charset={charset}", b"q=" + b"a" * 300_000),
        (MULTIPART, part(typed, b"a" * 300_000)),
    )
    for kind, body in cases:
        with pytest.raises(ApiError) as raised:
            parse_form(body, kind)
        assert (raised.value.kind, "charset" in raised.value.message) == ("unsupported_media_type", True)
    with server.client() as client:
        for kind, body in cases:
            answer = client.post("/translate", content=body, headers={"Content-Type": kind})
            assert answer.status_code == 400
            assert "charset" in answer.json()["error"]
        kind, body = cases[0]
        answer = client.post("/v1/files", content=body, headers={"Content-Type": kind})
        assert (answer.status_code, answer.json()["error"]["type"]) == (415, "unsupported_media_type")


def test_a_field_named_charset_is_a_field() -> None:
    body = part(field(b"_charset_"), b"punycode")
    assert parse_form(body, MULTIPART)["_charset_"] == "punycode"


@pytest.mark.parametrize(
    ("kind", "body", "expected_message"),
    [
        (MULTIPART, part(b"\r\n".join([field()] * 2000)), "headers of a part"),
        (MULTIPART, part(field(b"a" * 65_536)), "headers of a part"),
        (MULTIPART, part(b"X: y"), "no name"),
        (MULTIPART, part(field(), b"\xff"), "field 'q' is not utf-8 at byte 0"),
        (MULTIPART, part(field(b"\xff")), "a name is not utf-8"),
        (MULTIPART, part(field())[:-7], "no end"),
        (MULTIPART, b"nothing", "boundary"),
        (MULTIPART, b"", "boundary"),
        (MULTIPART, b"--xyzabc\r\n", "does not end its line"),
        (MULTIPART, b"--xyz" + b" " * 10_000 + b"\r\n", "does not end its line"),
        ("multipart/form-data", part(field()), "needs a boundary"),
        ("multipart/form-data; boundary=" + "x" * 1000, part(field()), "needs a boundary"),
        (MULTIPART, b"\r\n--xyz" * (MAX_FIELDS + 2), f"more than {MAX_FIELDS} parts"),
        (FORM, b"&" * MAX_FIELDS, f"more than {MAX_FIELDS} fields"),
        (FORM, b"q=%ff", "field 'q' is not utf-8"),
        (FORM, b"%ff=q", "a name is not utf-8"),
    ],
)
def test_errors_say_what_is_wrong_with_a_form(kind: str, body: bytes, expected_message: str) -> None:
    with pytest.raises(ApiError, match=expected_message) as raised:
        parse_form(body, kind)
    assert raised.value.kind == "malformed"


def test_parameters() -> None:
    assert parameters_of('a/b; A=1; b="x;y=\\"z\\""; c; d*=e;a=2') == {"a": "2", "b": 'x;y="z"', "c": ""}
    assert parameters_of("a/b") == parameters_of("") == {}


def generated(tokens: list[str], seed: int) -> bytes:
    chance = random.Random(seed)
    pieces = [*tokens, "\ud800", "\x00", "\u00e4", "q", "source", "file", "a" * 4096, '"; filename="a.txt"']
    made = "".join(chance.choices(pieces, k=chance.randint(1, 40))).encode("utf-8", errors="surrogatepass")
    return part(field(), made) if chance.random() < 0.5 else part(made) if chance.random() < 0.5 else made


@pytest.mark.parametrize("path", ["/translate", "/translate_file", "/v1/files", "/v2/translate", "/v2/document"])
def test_no_bytes_are_a_fault(server: RunningServer, path: str) -> None:
    with server.client() as client:
        for seed in range(60):
            kind = random.Random(seed).choice([MULTIPART, FORM, f"{MULTIPART}; charset=latin1", MULTIPART + '; a="\\'])
            body = generated([*MULTIPART_TOKENS, *FORM_TOKENS, *HEADER_TOKENS], seed)
            answer = client.post(path, content=body, headers={"Content-Type": kind})
            assert answer.status_code < 500, (seed, answer.text)


def test_hostile_forms_cost_no_more_than_their_bytes(server: RunningServer) -> None:
    """The ratio of times, with room for what else the machine does: a codec in quadratic time takes minutes."""

    def seconds(kind: str, body: bytes) -> float:
        def once() -> float:
            started = time.monotonic()
            assert client.post("/translate", content=body, headers={"Content-Type": kind}).status_code == 400
            return time.monotonic() - started

        return min(once() for _ in range(3))

    size = 2_000_000
    make: dict[str, Callable[[], tuple[str, bytes]]] = {
        "codec": lambda: (f"{MULTIPART}; charset=punycode", part(field(), b"a" * size)),
        "padding": lambda: (MULTIPART, b"--xyz" + b" " * size + b"\r\n"),
        "boundaries": lambda: (MULTIPART, b"\r\n--xyz!" * (size // 8)),
        "dashes": lambda: (MULTIPART, part(field(), b"\r\n--xy" * (size // 6))),
        "fields": lambda: (FORM, b"&" * size),
    }
    with server.client() as client:
        usual = seconds(MULTIPART, part(field(), b"a " * (size // 2)))
        for name, case in make.items():
            assert seconds(*case()) < 20 * usual, name


def test_escapes_are_decoded_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `unquote_to_bytes` decodes the whole, whatever a slice ends with; and in little memory."""
    chance = random.Random(1)
    units = ("%41", "%", "%4", "%%", "+", "a", "%zz", "%C3%A4", "%2B", "%25")
    with monkeypatch.context() as patch:
        patch.setattr(forms, "_SLICE", 7)
        for _ in range(500):
            body = "".join(chance.choices(units, k=chance.randrange(30))).encode()
            expected = unquote_to_bytes(body.replace(b"+", b" "))
            assert parse_form(b"q=" + body, f"{FORM}; charset=latin1")["q"] == expected.decode("latin-1")
    tracemalloc.start()
    try:
        parse_form(b"q=" + b"%41" * 200_000, FORM)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 600_000


LARGE_FORM = urlencode({"text": "a" * 100_000, "q": "a" * 100_000, "source": "en", "target": "de", "api_key": "no"})
LARGE_JSON = json.dumps({"text": "a" * 100_000, "q": "a" * 100_000, "source": "en", "target": "de", "api_key": "no"})


@pytest.mark.parametrize(
    ("module", "parses", "method", "path", "kind", "content"),
    [
        (route, "parse", "POST", "/v1/translate", "application/json", LARGE_JSON),
        (body_module, "parse", "POST", "/translate", "application/json", LARGE_JSON),
        (body_module, "parse_form", "POST", "/translate", FORM, LARGE_FORM),
        (body_module, "parse_form", "POST", "/v2/translate", FORM, LARGE_FORM),
        (deepl_route, "parse_form", "GET", "/v2/languages", FORM, LARGE_FORM),
        (route, "key_in", "POST", "/translate", FORM, LARGE_FORM),
        (route, "key_in", "POST", "/translate", "application/json", LARGE_JSON),
    ],
)
def test_large_bodies_are_parsed_beside_the_event_loop(
    tiny_artifact: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    parses: str,
    method: str,
    path: str,
    kind: str,
    content: str,
) -> None:
    """Whatever the route, whether or not its body is usual, and also where only the key is looked for."""
    threads: list[str] = []
    original: Callable[..., object] = getattr(module, parses)

    def parsing(*arguments: object) -> object:
        threads.append(threading.current_thread().name)
        return original(*arguments)

    monkeypatch.setattr(module, parses, parsing)
    keys = new_key("a", ["translate"])[1] if parses == "key_in" else ""
    with ready(settings_for(tiny_artifact, api_keys=keys)) as server, server.client() as client:
        answer = client.request(method, path, content=content, headers={"Content-Type": kind})
        assert answer.status_code < 500
    assert threads
    assert all(name.startswith("work-") for name in threads), threads
