"""Requests that are hard to parse: charsets, headers, fields, numbers."""

from collections.abc import Mapping

from loadtest.hostile.attempt import Attempt, hostile_input, scaled
from loadtest.hostile.sending import multipart, post_form, post_json, request

MEGABYTE = 1_000_000


def declared(charset: str, share: float, path: str = "/translate") -> Attempt:
    """A form of three long fields in a charset that it names. Names end in a hyphen: in punycode, "q-" is "q"."""
    fields = {name: b"a" * scaled(MEGABYTE, share) for name in ("q-", "source-", "target-")}
    body, kind = multipart(fields, charset=charset)
    return request("POST", path, body, {"Content-Type": kind, "Authorization": ""})


@hostile_input("form in punycode")
def punycode(share: float) -> Attempt:
    """A multipart form that says it is punycode, whose decoder takes quadratic time."""
    return declared("punycode", share)


@hostile_input("form in punycode, without the key that the server asks for", keyed=True)
def punycode_no_key(share: float) -> Attempt:
    """The same from a client that has no key."""
    return declared("punycode", share)


@hostile_input("form in punycode, native API, without the key", keyed=True)
def punycode_native(share: float) -> Attempt:
    """The same to /v1/files."""
    return declared("punycode", share, "/v1/files")


@hostile_input("form in unicode_escape, DeepL's API")
def unicode_escape(share: float) -> Attempt:
    """A multipart form in a codec that makes anything of it."""
    return declared("unicode_escape", share, "/v2/translate")


@hostile_input("form in a codec that decodes no text")
def rot13(share: float) -> Attempt:
    """A multipart form that says it is rot13."""
    return declared("rot13", share)


@hostile_input("file name with a lone surrogate")
def surrogate(share: float) -> Attempt:
    """A file whose name becomes half a character."""
    fields = {"source": b"en", "target": b"de"}
    body, kind = multipart(fields, ("\\ud800.txt", b"Good morning."), "unicode_escape")
    return request("POST", "/v1/files", body, {"Content-Type": kind})


@hostile_input("form of 10,000 parts")
def parts(share: float) -> Attempt:
    """A multipart form of very many fields."""
    body, kind = multipart({f"a{number}": b"b" for number in range(scaled(10_000, share))})
    return request("POST", "/translate", body, {"Content-Type": kind})


@hostile_input("form whose field has a name of 1 MB")
def long_name(share: float) -> Attempt:
    """A multipart form with one very long name."""
    body, kind = multipart({"a" * scaled(MEGABYTE, share): b"b"})
    return request("POST", "/v1/files", body, {"Content-Type": kind})


@hostile_input("form of boundaries that are none")
def boundaries(share: float) -> Attempt:
    """A body of beginnings of its own boundary."""
    kind = "multipart/form-data; boundary=" + "-" * 60 + "x"
    return request("POST", "/translate", (b"\r\n" + b"-" * 62) * scaled(60_000, share), {"Content-Type": kind})


@hostile_input("form of two million fields")
def pairs(share: float) -> Attempt:
    """`a&a&a`, urlencoded."""
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return request("POST", "/translate", b"a&" * scaled(2 * MEGABYTE, share), kind)


@hostile_input("form of escapes")
def escapes(share: float) -> Attempt:
    """A text that is all percent signs."""
    return post_form("/translate", {"q": "%" * scaled(MEGABYTE, share), "source": "en", "target": "de"})


@hostile_input("10,000 unknown fields")
def unknown(share: float) -> Attempt:
    """A JSON object of unknown fields."""
    return post_json("/v1/translate", {f"a{number}": "b" for number in range(scaled(10_000, share))})


@hostile_input("JSON: a name of 1 MB")
def long_field(share: float) -> Attempt:
    """A JSON object with one very long name."""
    return post_json("/v1/translate", {"a" * scaled(MEGABYTE, share): "b"})


@hostile_input("JSON: a number of a million digits")
def digits(share: float) -> Attempt:
    """A beam of very many."""
    return post_json("/v1/translate", b'{"text":"a","beam_size":' + b"1" * scaled(MEGABYTE, share) + b"}")


@hostile_input("JSON: 1,300,000 numbers for texts")
def numbers(share: float) -> Attempt:
    """A list of what is no text: one error for each."""
    return post_json("/v1/translate", {"text": [1] * scaled(1_300_000, share), "source": "en", "target": "de"})


@hostile_input("JSON: 300,000 items to score that are none")
def items(share: float) -> Attempt:
    """A list of objects that lack everything."""
    return post_json("/v1/score", {"items": [{"a": 1}] * scaled(300_000, share), "source": "en", "target": "de"})


@hostile_input("JSON: a million texts")
def texts(share: float) -> Attempt:
    """A list of empty texts, far more than are taken."""
    return post_json("/v1/translate", {"text": [""] * scaled(MEGABYTE, share), "source": "en", "target": "de"})


def get(path: str, headers: Mapping[str, str] | None = None) -> Attempt:
    return request("GET", path, headers=headers or {})


@hostile_input("headers of 64 KiB")
def headers(share: float) -> Attempt:
    """Very many headers."""
    return get("/v1/models", {f"a{number}": "b" * 50 for number in range(1_100)})


@hostile_input("one header of 1 MB")
def long_header(share: float) -> Attempt:
    """More than a head may have."""
    return get("/v1/models", {"a": "b" * scaled(MEGABYTE, share)})


@hostile_input("Accept-Language and Content-Type of 60 kB")
def odd_headers(share: float) -> Attempt:
    """Headers that are parsed, full of separators."""
    much = "a;q=0,;;" * 3_500
    return request("POST", "/v1/translate", b"{}", {"Accept": much, "Content-Type": "application/json;" + much})


@hostile_input("index of 5,000 digits")
def index(share: float) -> Attempt:
    """A place in a document that no computer can count to."""
    return get(f"/v1/documents/x/sentences/{'9' * 5_000}/context")


@hostile_input("path of 60,000 escapes")
def path(share: float) -> Attempt:
    """A document whose name is all escapes."""
    return get("/v1/documents/" + "%2f%00" * scaled(10_000, share))


@hostile_input("query of 20,000 fields")
def query(share: float) -> Attempt:
    """Fields of a translation, again and again."""
    return request("POST", "/translate?" + "q=a&" * scaled(15_000, share))
