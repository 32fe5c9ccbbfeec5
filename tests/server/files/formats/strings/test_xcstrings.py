"""Strings of Xcode's catalogues that have no translation get one; all others stay."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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


FORMS = ("zero", "one", "two", "few", "many", "other")


def plurals(forms: dict[str, str | None]) -> dict[str, Any]:
    units = {form: unit(value or "", "translated" if value else "new") for form, value in forms.items()}
    return {"variations": {"plural": units}}


@given(
    st.dictionaries(st.sampled_from(FORMS), st.sampled_from(["a house", "%lld houses"]), min_size=1),
    st.dictionaries(st.sampled_from(FORMS), st.sampled_from([None, "Haus", "%lld"]), min_size=1),
    st.sampled_from([None, 2]),
)
def test_a_localization_gets_the_forms_that_it_lacks(
    source: dict[str, str], target: dict[str, str | None], indent: int | None
) -> None:
    """What is translated stays, what is empty is filled, and what is missing is added."""
    strings = {"key": {"localizations": {"en": plurals(dict(source)), "de": plurals(target)}}}
    catalogue = {"sourceLanguage": "en", "strings": strings, "version": "1.0"}
    data = json.dumps(catalogue, indent=indent).encode()
    opened = open_file(data, "a.xcstrings", "de", 10_000)
    written = json.loads(opened.write([text.upper() for text in opened.texts]))
    made = written["strings"]["key"]["localizations"]["de"]["variations"]["plural"]
    for form, value in target.items():
        if value:
            assert made[form] == unit(value)
        elif any(target.values()):
            text = source.get(form, source.get("other", "key"))
            assert made[form] == unit(text.upper(), REVIEW)
    assert {form for form in source if form not in target} <= made.keys()
    assert all(made[form] == unit(source[form].upper(), REVIEW) for form in source if form not in target)


def test_devices_and_substitutions_that_are_missing_are_added() -> None:
    english = {
        **unit("%#@a@ of %#@b@"),
        "substitutions": {
            "a": {"argNum": 1, **plural("new", "x", "xs")},
            "b": {"argNum": 2, **plural("new", "y", "ys")},
        },
    }
    german = {**unit("%#@a@ von %#@b@"), "substitutions": {"a": {"argNum": 1, **plural("translated", "x", "xe")}}}
    device = {"variations": {"device": {"mac": unit("Click"), "other": unit("Tap")}}}
    done = {"variations": {"device": {"other": unit("Tippen")}}}
    strings = {
        "s": {"localizations": {"en": english, "de": german}},
        "d": {"localizations": {"en": device, "de": done}},
    }
    data = json.dumps({"sourceLanguage": "en", "strings": strings, "version": "1.0"}).encode()
    opened = open_file(data, "a.xcstrings", "de", 10_000)
    written = json.loads(opened.write([text.upper() for text in opened.texts]))["strings"]
    made = written["s"]["localizations"]["de"]["substitutions"]
    assert made == {**german["substitutions"], "b": {"argNum": 2, **plural(REVIEW, "Y", "YS")}}
    assert written["d"]["localizations"]["de"]["variations"]["device"] == {
        "other": unit("Tippen"),
        "mac": unit("CLICK", REVIEW),
    }


def test_a_localization_without_forms_stays() -> None:
    strings = {"s": {"localizations": {"en": plural("new", "a", "b"), "de": unit("Haus")}}}
    data = json.dumps({"sourceLanguage": "en", "strings": strings, "version": "1.0"}).encode()
    opened = open_file(data, "a.xcstrings", "de", 10_000)
    assert opened.texts == []
    assert opened.write([]) == data
