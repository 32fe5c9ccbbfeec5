"""Values that programs read and that are no language."""

import re

CONSTANTS = frozenset({"true", "false", "null", "undefined"})
_FORMULA = re.compile(r"=\s*(?:[A-Z][A-Z0-9.]*\(|\$?[A-Z]{1,3}\$?[0-9])|[+@-][A-Z][A-Z0-9.]*\(")
"""A formula of a spreadsheet: "=SUM(A1:A2)", "=A1&B1"."""


def is_formula(text: str) -> bool:
    return _FORMULA.match(text.lstrip()) is not None
