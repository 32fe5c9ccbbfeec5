"""Whatever is sent: no 5xx, and no slot stays taken."""

import gzip
import json

import pytest

from tests.server.api.conftest import RunningServer, until

TEXTS: dict[str, object] = {
    "nul": "a\x00b",
    "controls": "".join(map(chr, range(160))),
    "emoji": "I \u2764\ufe0f you \U0001f468\u200d\U0001f469\u200d\U0001f467!",
    "right to left": "\u0645\u0631\u062d\u0628\u0627 \u202eabc\u202c",
    "one letter": "a" * 10_000,
    "one letter, spaced": "a " * 5_000,
    "combining": "a" + "\u0301" * 1_000,
    "expanding": "\ufdfa" * 200,
    "markup": "<b>Hello</b> &amp; <script>alert(1)</script> {x} %s $1",
    "whitespace": " \t\r\n\u3000\u200b" * 100,
    "private and unassigned": "\ue000\U0010ffff\u0378\ufffe",
    "digits": "1234567890" * 50,
    "special pieces": "<s></s><pad><unk> \u2581",
    "long references": f"a &#{'9' * 5000}; &#{'0' * 5000}66; <b title='a &#{'1' * 5000}'>b</b>",
    "list numbers": "1. 2. 3. a) b) iv. " * 20,
    "many texts": ["x"] * 50,
    "too many texts": ["x"] * 5_000,
    "empty texts": [""] * 50,
}

BODIES: dict[str, bytes] = {
    "lone surrogate": rb'{"text": "\ud800", "source": "en", "target": "de"}',
    "surrogate key": rb'{"\ud800": 1}',
    "surrogate language": rb'{"text": "a", "source": "\udfff", "target": "de"}',
    "deep list": b'{"text": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "deep object": b'{"text": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
    "invalid utf-8": b'{"text": "\xff\xfe", "source": "en", "target": "de"}',
    "gzip": gzip.compress(b'{"text": "a"}'),
    "byte order mark": b'\xef\xbb\xbf{"text": "a", "source": "en", "target": "de"}',
    "huge number": b'{"text": "a", "source": "en", "target": "de", "beam_size": ' + b"9" * 4_000 + b"}",
    "long unknown key": json.dumps({"k" * 100_000: 1}).encode(),
    "nothing": b"",
}


@pytest.fixture(autouse=True)
def _all_slots_are_free_afterwards(server: RunningServer) -> object:
    yield
    until(lambda: server.sentences == 0, "every slot is free")


@pytest.mark.parametrize("name", TEXTS)
def test_odd_texts(server: RunningServer, name: str) -> None:
    response = server.translate(TEXTS[name], beam_size=1, max_length=8)
    assert response.status_code in (200, 413), response.text
    if response.status_code == 200:
        sent = TEXTS[name] if isinstance(TEXTS[name], list) else [TEXTS[name]]
        assert isinstance(sent, list)
        for text, translation in zip(sent, response.json()["translations"], strict=True):
            assert [line == "" for line in text.split("\n")] == [line == "" for line in translation["text"].split("\n")]


@pytest.mark.parametrize("name", BODIES)
def test_odd_bodies(server: RunningServer, name: str) -> None:
    headers = {"content-type": "application/json"}
    with server.client() as client:
        response = client.post("/v1/translate", content=BODIES[name], headers=headers)
    assert response.status_code < 500, response.text
    assert len(response.content) < 10_000


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/translate", {"format": "html", "source": "en", "target": "de"}),
        ("/v2/translate", {"tag_handling": "html", "source_lang": "EN", "target_lang": "DE"}),
        ("/v2/translate", {"tag_handling": "xml", "source_lang": "EN", "target_lang": "DE"}),
    ],
)
@pytest.mark.parametrize("digits", ["9", "0"])
def test_references_of_thousands_of_digits_are_translated(
    server: RunningServer, path: str, fields: dict[str, str], digits: str
) -> None:
    text = f"<b title='A word &#{digits * 5000};'>Yes &#{digits * 5000};</b>"
    body = {"q": text} if path == "/translate" else {"text": [text]}
    with server.client() as client:
        assert client.post(path, json={**body, **fields}).status_code == 200
