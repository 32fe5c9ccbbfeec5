"""Quotation marks: no blank stands between an opening mark and its word, unless one does in the source."""

import re

_LOOSE = re.compile(r"(?<=[\u201e\u201a])[ \u00a0]+(?=\w)")
_LOOSE_IN_SOURCE = re.compile(r"(?:^|\s)[\"'\u201c\u201e\u201a\u2018\u00ab\u2039][ \u00a0\u202f]+\w")


def with_tight_quotes(source: str, target: str) -> str:
    """The target without blanks that a model writes behind an opening mark."""
    if "\u201e" not in target and "\u201a" not in target:
        return target
    return target if _LOOSE_IN_SOURCE.search(source) else _LOOSE.sub("", target)
