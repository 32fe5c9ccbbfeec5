"""Strings of Xcode's catalogues that have no translation get one; all others stay."""

import json
from typing import Any

from server.files.formats.registry import open_file


def unit(value: str, state: str = "translated") -> dict[str, Any]:
    return {"stringUnit": {"state": state, "value": value}}


def plural(state: str, *values: str) -> dict[str, Any]:
    return {
        "variations": {"plural": dict(zip(("one", "other"), (unit(value, state) for value in values), strict=True))}
    }


KEPT = {
    "Brand": {"shouldTranslate": False},
    "Old": {"extractionState": "stale"},
    "Done": {"localizations": {"de": unit("Fertig")}},
    "%@": {},
    "": {},
}
STRINGS: dict[str, Any] = {
    **KEPT,
    "Key is text": {},
    "New": {"comment": "note", "localizations": {"de": unit("New", "new"), "fr": unit("Nouveau")}},
    "Empty": {"localizations": {}},
    "files": {"localizations": {"en": plural("translated", "%lld file", "%lld files")}},
    "parts": {
        "localizations": {
            "en": {
                **unit("%#@a@ left"),
                "substitutions": {"a": {"argNum": 1, "formatSpecifier": "lld", **plural("new", "a", "b")}},
            }
        }
    },
}
REVIEW = "needs_review"
EXPECTED = {
    "Key is text": unit("KEY IS TEXT", REVIEW),
    "New": unit("NEW", REVIEW),
    "Empty": unit("EMPTY", REVIEW),
    "files": plural(REVIEW, "%LLD FILE", "%LLD FILES"),
    "parts": {
        **unit("%#@A@ LEFT", REVIEW),
        "substitutions": {"a": {"argNum": 1, "formatSpecifier": "lld", **plural(REVIEW, "A", "B")}},
    },
}


def test_strings_without_a_translation_get_one() -> None:
    catalogue = {"sourceLanguage": "en", "strings": STRINGS, "version": "1.0"}
    for indent in (None, 2):
        data = json.dumps(catalogue, indent=indent).encode()
        opened = open_file(data, "a.xcstrings", "de", 10_000)
        written = json.loads(opened.write([text.upper() for text in opened.texts]))
        assert {key: written["strings"].pop(key)["localizations"]["de"] for key in EXPECTED} == EXPECTED
        assert written["strings"] == KEPT


def test_a_localization_is_indented_as_the_others() -> None:
    text = '{\n  "sourceLanguage" : "en",\n  "strings" : {\n    "A b" : {\n      "comment" : "c"\n    }\n  }\n}\n'
    written = open_file(text.encode(), "a.xcstrings", "de", 1000).write(["C d"]).decode()
    added = json.dumps({"de": unit("C d", REVIEW)}, indent=2, separators=(",", " : ")).replace("\n", "\n      ")
    assert written == text.replace('"c"', f'"c",\n      "localizations" : {added}')
