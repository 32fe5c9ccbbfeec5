"""Quotation marks: no blank stands between an opening mark and its word, and no hyphen between a closing mark and a
blank, unless one does in the source."""

import re

_LOOSE = re.compile(r"(?<=[\u201e\u201a])[ \u00a0]+(?=\w)")
_LOOSE_IN_SOURCE = re.compile(r"(?:^|\s)[\"'\u201c\u201e\u201a\u2018\u00ab\u2039][ \u00a0\u202f]+\w")

_CLOSING = '[\u201c\u201d\u2019\u00bb"]'
_HYPHEN = re.compile(rf"(?<={_CLOSING})[-\u2010\u2011](?= \w)")
_HYPHEN_IN_SOURCE = re.compile(rf"{_CLOSING}[-\u2010\u2011]")


def with_tight_quotes(source: str, target: str) -> str:
    """The target without blanks that a model writes behind an opening mark, and hyphens behind a closing one."""
    if _HYPHEN.search(target) and not _HYPHEN_IN_SOURCE.search(source):
        target = _HYPHEN.sub("", target)
    if "\u201e" not in target and "\u201a" not in target:
        return target
    return target if _LOOSE_IN_SOURCE.search(source) else _LOOSE.sub("", target)
