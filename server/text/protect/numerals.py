"""Hyphens behind numbers that a model invents: "20-25- Minuten" for "20-25 minutes", "3-4-Tasten" for "3-4 keys"."""

import re

_HYPHEN, _DASH = "[-\u2010\u2011]", "[-\u2010-\u2015]"
_RANGE = rf"(?<![\w.,-])\d{{1,9}}{_DASH}\d{{1,9}}"
_SUSPENDED = re.compile(rf"({_RANGE}){_HYPHEN}(?= (?!(?:bis|oder|und|to|or|and)\b)[^\W\d_])")
_SUSPENDED_IN_SOURCE = re.compile(rf"\d{_DASH}\s")
_NUMBER = rf"(?:{_RANGE}|(?<![\w.,-])\d{{1,9}})"
_COMPOUND = re.compile(rf"({_NUMBER}){_HYPHEN}(?=[^\W\d_a-z][^\W\d_]++(?!{_HYPHEN})(?<!ige)(?<!ig)(?<!ige[mnrs]))")
_PLURAL = re.compile(rf"({_NUMBER})[ \u00a0](?=[a-z]{{2,}}s\b)")
"""A number with a noun in the plural, which begins no compound: "3-4 keys"."""


def without_invented_hyphens(source: str, target: str) -> str:
    """`target` without hyphens behind numbers, except those that its source has and those of compounds ("a 10-year
    plan", "2 weeks holiday": "2-Wochen-Urlaub"). Linear in the lengths of both."""
    if _SUSPENDED.search(target) and not _SUSPENDED_IN_SOURCE.search(source):
        target = _SUSPENDED.sub(r"\1", target)
    if not _COMPOUND.search(target):
        return target
    counts = {match[1] for match in _PLURAL.finditer(source)}
    return _COMPOUND.sub(lambda match: f"{match[1]} " if match[1] in counts else match[0], target)
