"""Metadata of an .arb file stays, except its locale."""

from tests.server.files.formats.strings.upper import upper

BUNDLE = """{
  "@@locale": "en",
  "@@author": "Ada",
  "title": "Yes {n}",
  "@title": {"description": "A note", "placeholders": {"n": {"type": "int"}}},
  "count" : "\\u00e9t\\u00e9",
  "list": ["no text"]
}
"""


def test_all_but_messages_stays() -> None:
    expected = BUNDLE.replace('"en"', '"de"').replace("Yes {n}", "YES {N}").replace("\\u00e9t\\u00e9", "\u00c9T\u00c9")
    assert upper(BUNDLE, ".arb") == expected
