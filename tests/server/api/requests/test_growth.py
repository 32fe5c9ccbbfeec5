"""Whatever bytes a request is made of, what the door does with it takes time in proportion to its size."""

import contextlib
import json
from collections.abc import Callable

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import QueryParams
from starlette.requests import Request

from server.api.admission.api_route import ApiRoute
from server.api.admission.authentication import presented_key, timeout_of
from server.api.app import ROUTERS
from server.api.native.translate import asks_for_events
from server.api.requests.body import MAX_JSON_VALUES, fields_of, parse, values_in
from server.api.requests.body_key import key_in
from server.api.requests.content_disposition import attachment, attachment_for_old_clients
from server.api.requests.errors import ApiError
from server.api.requests.forms import parameters_of, parse_form
from server.runtime.nearest_name import LONGEST_NAME, nearest
from tests.growth import Shape, assert_linear, check_growth

BOUNDARY, FIELD = "xyz", 'Content-Disposition: form-data; name="q"'
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
FORM = "application/x-www-form-urlencoded"
ORDINARY_PARTS = f"\r\n--{BOUNDARY}\r\n{FIELD}\r\n\r\nWe walk home in the rain, and nobody minds it."
ORDINARY_FIELDS = "text=We+walk+home%2C+and+nobody+minds.&source=en&target=de&"
ORDINARY_JSON = '{"text": "We walk home.", "source": "en", "target": "de", "beam_size": 4, "timeout": 2.5}, '
ORDINARY_HEADER = '; name="a file of ours.txt"; filename="report 1.docx"; charset=utf-8'

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, ApiRoute)]


def refused(run: Callable[[str], object]) -> Callable[[str], None]:
    """`run`, whose answers that refuse are as good as others."""

    def quiet(text: str) -> None:
        with contextlib.suppress(ApiError, RequestValidationError):
            run(text)

    return quiet


def request(headers: dict[str, str], query: str = "") -> Request:
    raw = [(name.encode(), value.encode("latin-1", errors="replace")) for name, value in headers.items()]
    return Request({"type": "http", "headers": raw, "query_string": query.encode("latin-1", errors="replace")})


def in_form(text: str) -> bytes:
    return f"--{BOUNDARY}\r\n{FIELD}\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n".encode()


MULTIPART_TOKENS = [
    "\r\n", "\r", "\n", "-", "--", f"--{BOUNDARY}", f"\r\n--{BOUNDARY}", f"\r\n--{BOUNDARY}\r\n", f"\r\n--{BOUNDARY} ",
    f"\r\n--{BOUNDARY}--", "\r\n\r\n", FIELD, "Content-Disposition: form-data", '; filename="a', 'name="', "name=", ":",
    "Content-Type: text/plain; charset=", "utf-8", "punycode", "\\", '"', ";", "*=UTF-8''", " " * 50, "a: b\r\n",
    f"\r\n--{BOUNDARY}\r\n{FIELD}\r\n\r\n",
]  # fmt: skip
HEADER_TOKENS = [
    ";",
    ';a="',
    "=",
    '"',
    "\\",
    '\\"',
    " ",
    "\t",
    "a",
    "a=",
    'a="',
    "name",
    "*",
    "charset=",
    ":\\",
    ",",
    "\n",
]
JSON_TOKENS = [
    "{", "}", "[", "]", ",", ":", '"', '"a"', '"a":', "{}", "[],", "null", "true", "-", "1", "9" * 50, "1e", "1e400",
    "0.", "\\", '\\"', "\\u0041", "\\ud800", "\\u00", '"api_key"', '"api_key":', '"k",', '{"a":', " ", "\n",
]  # fmt: skip
FORM_TOKENS = ["&", "=", "+", "%", "%4", "%41", "%ff", "a=", "a=b&", "api_key", "&api_key=", ";", "%26"]


@pytest.mark.parametrize("charset", ["", "; charset=utf-8", "; charset=iso-8859-1", "; charset=windows-1252"])
def test_multipart(charset: str) -> None:
    run = refused(lambda text: parse_form(in_form(text), MULTIPART + charset))
    assert_linear(run, MULTIPART_TOKENS, ordinary=ORDINARY_PARTS)


def test_parts_without_a_beginning() -> None:
    assert_linear(refused(lambda text: parse_form(text.encode(), MULTIPART)), MULTIPART_TOKENS, ordinary=None)


def test_headers_of_parts() -> None:
    run = refused(lambda text: parse_form(in_form(f"\r\n--{BOUNDARY}\r\n{FIELD}{text}\r\n\r\n"), MULTIPART))
    assert_linear(run, [*HEADER_TOKENS, "\r\n", "A: b"], ordinary=ORDINARY_HEADER)


def test_parameters() -> None:
    assert_linear(parameters_of, HEADER_TOKENS, ordinary=ORDINARY_HEADER)
    run = refused(lambda text: parse_form(b"a=b", text))
    assert_linear(run, [*HEADER_TOKENS, FORM, "multipart/form-data"], ordinary=f"{FORM}{ORDINARY_HEADER}")


@pytest.mark.parametrize("before", [';a="', '; name="\\', ";a=", '"api_key":"', '"api_key": "\\', '["', '"'])
@pytest.mark.parametrize("unit", ["a", "\\\\", '\\"', "a\\", "a;", " ", "\n", "a="])
def test_quotes_that_are_never_closed(before: str, unit: str) -> None:
    """Random shapes seldom end in the middle of a string, where patterns that are not linear show it."""
    many = "," * (MAX_JSON_VALUES + 1)  # so that values are counted without those in strings
    for run in (
        parameters_of,
        refused(lambda text: parse_form(in_form(f"\r\n--{BOUNDARY}\r\n{FIELD}{text}\r\n\r\n"), MULTIPART)),
        lambda text: key_in(text.encode(), "application/json", "api_key"),
        lambda text: values_in(f'"{many}"{text}'.encode()),
        refused(lambda text: parse(text.encode())),
    ):
        check_growth(run, Shape((unit,), "repeated", before))


def test_urlencoded() -> None:
    run = refused(lambda text: parse_form(text.encode(), FORM))
    assert_linear(run, FORM_TOKENS, ordinary=ORDINARY_FIELDS)


def test_the_query() -> None:
    assert_linear(lambda text: QueryParams(text.encode()), FORM_TOKENS, ordinary=ORDINARY_FIELDS)
    run = refused(lambda text: fields_of(request({}, text), b""))
    assert_linear(run, FORM_TOKENS, ordinary=ORDINARY_FIELDS)


@pytest.mark.parametrize("seed", range(2))
def test_json(seed: int) -> None:
    assert_linear(refused(lambda text: parse(text.encode())), JSON_TOKENS, seed, ordinary=None)
    assert_linear(refused(lambda text: parse(f"[{text}]".encode())), JSON_TOKENS, seed, ordinary=ORDINARY_JSON)


@pytest.mark.parametrize("kind", ["application/json", FORM, MULTIPART, "", "text/plain"])
def test_keys_in_bodies(kind: str) -> None:
    tokens = [*JSON_TOKENS, *FORM_TOKENS, *MULTIPART_TOKENS]
    ordinary = ORDINARY_PARTS if kind == MULTIPART else None
    assert_linear(lambda text: key_in(in_form(text), kind, "api_key"), tokens, ordinary=ordinary)
    assert_linear(lambda text: key_in(text.encode(), kind, "api_key"), tokens, ordinary=None)


def test_headers() -> None:
    def run(text: str) -> None:
        names = ("Accept", "Authorization", "X-API-Key", "Content-Type", "Content-Encoding", "X-Request-ID", "Host")
        made = request(dict.fromkeys(names, text) | {"X-Request-Timeout": text})
        asks_for_events(made)
        presented_key(made)
        refused(lambda _: timeout_of(made, 60))("")

    tokens = ["Bearer", "bearer ", "DeepL-Auth-Key", " ", "\t", ",", ";", "q=0.5", "text/event-stream", "1", ".", "/*"]
    assert_linear(run, [*tokens, *HEADER_TOKENS])


def test_growth_with_names(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [route.path for route in ROUTES]
    assert_linear(
        lambda text: nearest(text, known), ["document", "/v1/", "a", "b", "_", "documents", "\x00"], ordinary=None
    )
    monkeypatch.delattr("difflib.get_close_matches")
    assert len(nearest("a" * (LONGEST_NAME + 1), known)) < 10_000
    with pytest.raises(AttributeError):
        nearest("a" * LONGEST_NAME, known)


def test_paths() -> None:
    def run(text: str) -> None:
        path = "/" + text
        for route in ROUTES:
            route.matches({"type": "http", "path": path, "root_path": "", "method": "GET", "headers": []})

    tokens = [
        "/",
        "v1/documents",
        "/sentences",
        "/context",
        "0",
        "9" * 30,
        "\n",
        "\x00",
        "\u0663",
        "{",
        "v2/document",
        "/result",
    ]
    assert_linear(run, [*tokens, "v1/documents/a/sentences/"])


def test_names_of_files() -> None:
    tokens = ["\ud800", '"', "\\", "\r\n", "\u202e", ".", "%", "\U0001f600", "'", ";"]
    assert_linear(lambda text: (attachment(text), attachment_for_old_clients(text)), tokens, ordinary=None)


@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.body_model is not None], ids=lambda entry: entry.path
)
def test_validation(route: ApiRoute) -> None:
    """Of thousands of errors as of one: every unit of a list or an object is an error of its own."""
    fields = list(route.body_model.model_fields) if route.body_model is not None else []

    def run(text: str) -> None:
        count = len(text) // 8
        values: list[object] = [1, "", [], {}, None, {"a": 1}, ["\ud800"], 10**40, "a"]
        value = values[sum(map(ord, text[:8])) % len(values)]
        kinds: list[object] = [[value] * count, {f"{text[:4]}{n}": value for n in range(count)}, value]
        kind = kinds[sum(map(ord, text[:4])) % len(kinds)]
        body: object = dict.fromkeys(fields, kind)
        refused(lambda _: route.validated(body if count % 2 else kind))("")

    assert_linear(run, ["a", "b", "c", "abc", "ba", "0"], count=10, most=200_000, ordinary=None)


def test_values_are_counted_as_they_are() -> None:
    """The fast count, and the slow one without what is in strings, against the parsed value."""

    def slow(value: object) -> int:
        match value:
            case dict():
                return 1 + sum(map(slow, value.values()))
            case list():
                return 1 + sum(map(slow, value))
        return 1

    for text in ('{"a": [1, 2, {"b": []}], "c": "d"}', "[[], [], []]", '"a"', "{}", '[",[{", "\\",["]'):
        assert slow(json.loads(text)) <= 2 * values_in(text.encode()) + 1
    many = json.dumps(["," * MAX_JSON_VALUES * 2, 'a",["\\' * 1000])
    assert values_in(many.encode()) == 2
    assert parse(many.encode()) == json.loads(many)
    for body in ("[" + "[]," * MAX_JSON_VALUES + "[]]", '{"a":' * MAX_JSON_VALUES * 2, '""' * 10**6 + "," * 200_000):
        with pytest.raises(ApiError) as raised:
            parse(body.encode())
        assert raised.value.kind == "too_large"


def test_ordinary_inputs_are_read() -> None:
    """What others are compared with is read to its end."""
    assert len(parse_form(in_form(ORDINARY_PARTS * 5), MULTIPART).multi_items()) == 6
    assert len(parse_form(ORDINARY_FIELDS.encode() * 5, FORM).multi_items()) == 15
    assert isinstance(parse(f"[{ORDINARY_JSON * 5}1]".encode()), list)
    assert parameters_of(ORDINARY_HEADER * 2)["charset"] == "utf-8"
