"""Values that programs read and that are no language."""

import re

CONSTANTS = frozenset({"true", "false", "null", "undefined"})
_FORMULA = re.compile(r"=\s*(?:[A-Z][A-Z0-9.]*\(|\$?[A-Z]{1,3}\$?[0-9])|[+@-][A-Z][A-Z0-9.]*\(")
"""A formula of a spreadsheet: "=SUM(A1:A2)", "=A1&B1"."""


def is_formula(text: str) -> bool:
    return _FORMULA.match(text.lstrip()) is not None


_KEYS_OF_PROGRAMS = frozenset({
    "$ref", "align", "charset", "class", "class_name", "classname", "component", "content_type", "encoding", "format",
    "icon", "id", "in", "key", "lang", "language", "layout", "locale", "method", "mimetype", "operationid", "role",
    "slug", "template", "type", "uuid", "variant",
})  # fmt: skip
_CLASSES = frozenset({"class", "class_name", "classname"})
_NAME = re.compile(r"[a-z0-9_#$:/.-]++\Z", re.ASCII)
_NAMES = re.compile(r"[a-z0-9_:/.\[\]-]++(?: [a-z0-9_:/.\[\]-]++)*+\Z", re.ASCII)


def is_for_program(key: str, text: str) -> bool:
    """Whether a value is a name for a program: one word in small letters under a key such as "type", classes, or one
    word under a key with a sign, "@type"."""
    name = key.lower()
    if name.startswith(("@", "$")):  # of JSON-LD, of JSON Schema
        return not any(map(str.isspace, text))
    return name in _KEYS_OF_PROGRAMS and (_NAMES if name in _CLASSES else _NAME).match(text) is not None


def kept_note(keys: list[str]) -> str:
    """What a file's notes say of such values, whose keys these are."""
    return "values that programs read were kept: " + ", ".join(sorted({*keys})[:10])
