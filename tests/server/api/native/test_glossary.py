"""`glossary` and `keep` of `POST /v1/translate`."""

from typing import Any

import pytest

from tests.server.api.conftest import RunningServer
from tests.server.api.native.test_translate import error_of

TEXT = "RingMT sells bread, and RingMT sells milk. Where is the bread?"


def test_terms_are_translated_or_kept(server: RunningServer) -> None:
    response = server.translate([TEXT, "Yes."], glossary={"bread": "Sauerteigbrot"}, keep=["RingMT"])
    first, second = response.json()["translations"]
    single, other = (sentence["target"] for sentence in first["sentences"])
    assert (single.count("RingMT"), single.count("Sauerteigbrot"), other.count("Sauerteigbrot")) == (2, 1, 1)
    assert first["text"] == f"{single} {other}"
    assert second == server.translate("Yes.").json()["translations"][0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"glossary": {"": "x"}}, "must have at least one letter, digit or sign"),
        ({"glossary": {"x": " "}}, "must have at least one letter, digit or sign"),
        ({"glossary": {"x": 5}}, "glossary"),
        ({"keep": "RingMT"}, "keep"),
        ({"keep": ["x" * 501]}, "at most 500 characters"),
        ({"keep": ["x"] * 5001}, "at most 5000"),
        ({"glossary": {"x": "y"}, "keep": ["x"]}, "keep: 'x' is in the glossary, too"),
    ],
)
def test_what_cannot_be_is_refused(server: RunningServer, fields: dict[str, Any], message: str) -> None:
    assert message in error_of(server.translate("Yes.", **fields), 422)["message"]
