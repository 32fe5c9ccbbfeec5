"""Punctuation of a translation, where a model writes other signs than its source has: the lengths of runs such as
"!!!!", "?!", "..." and "\u2026", blanks inside of quotation marks and hyphens behind them."""

import re
from collections.abc import Sequence

_RUN = re.compile("[!?.\u2026]++")
_WIDE_END = re.compile(r"(?<![\uff01\uff1f])[\uff01\uff1f]++(?=[\u300d\u300f\uff09\u201d]*\Z)")
_END = re.compile(r"(?<![!?.\u2026])[!?.\u2026]++(?=[^\w!?.\u2026]*\Z)")
_WIDE = str.maketrans({"!": "\uff01", "?": "\uff1f"})

_LONGEST_WORD = 24
_UNIT_END = re.compile(r"[^\W\d_]\d{1,4}\.\Z")

_LOOSE = re.compile(r"(?<=[\u201e\u201a])[ \u00a0]+(?=\w)")
_LOOSE_IN_SOURCE = re.compile(r"(?:^|\s)[\"'\u201c\u201e\u201a\u2018\u00ab\u2039][ \u00a0\u202f]+\w")
_CLOSING = '[\u201c\u201d\u2019\u00bb"]'
_HYPHEN = re.compile(rf"(?<={_CLOSING})[-\u2010\u2011](?= \w)")
_HYPHEN_IN_SOURCE = re.compile(rf"{_CLOSING}[-\u2010\u2011]")


def with_punctuation_of(source: str, target: str) -> str:
    """The target with the source's runs of punctuation, and with quotation marks as in the source."""
    return with_tight_quotes(source, with_runs_of(source, target))


def with_full_stop_of(source: str, target: str) -> str:
    """The target with the full stop of the source behind a number that belongs to a word, as in "5 m2.". Elsewhere a
    translation without one may be cut off, or end with an abbreviation. A script without capital letters has other
    stops. Linear in the lengths."""
    if not source.endswith(".") or not target[-1:].isalnum() or not _UNIT_END.search(source[-_LONGEST_WORD:]):
        return target
    has_capitals = all(char.upper() != char.lower() for char in target if char.isalpha())
    return f"{target}." if has_capitals else target


def with_runs_of(source: str, target: str) -> str:
    """The target with the source's runs, if it has as many; else at least with its last one. Single signs are the
    translation's business, and a full stop is no run. Linear in the lengths of the texts."""
    wanted = [match[0] for match in _runs(source)]
    found = _runs(target)
    if len(found) == len(wanted):
        return _replaced(target, found, wanted)
    end = _END.search(source)
    last = "" if end is None else end[0]
    if end is None or not _is_marked(last):
        return target
    if (match := _END.search(target)) is not None:
        return _replaced(target, [match], [last])
    if (match := _WIDE_END.search(target)) is not None and "." not in last and "\u2026" not in last:
        return target[: match.start()] + last.translate(_WIDE) + target[match.end() :]
    return target + last if target[-1:].isalnum() and end.end() == len(source) else target


def _runs(text: str) -> list[re.Match[str]]:
    return [match for match in _RUN.finditer(text) if match[0] != "."]


def _is_marked(run: str) -> bool:
    """Whether it is more than one sign."""
    return len(run) > 1 or run == "\u2026"


def _replaced(text: str, found: Sequence[re.Match[str]], runs: Sequence[str]) -> str:
    parts: list[str] = []
    end = 0
    for match, run in zip(found, runs, strict=True):
        is_other = match[0] != run and (_is_marked(match[0]) or _is_marked(run))
        parts += (text[end : match.start()], run if is_other else match[0])
        end = match.end()
    return "".join([*parts, text[end:]])


def with_tight_quotes(source: str, target: str) -> str:
    """The target without blanks behind an opening mark, and hyphens between a closing mark and a blank, unless the
    source has such."""
    if _HYPHEN.search(target) and not _HYPHEN_IN_SOURCE.search(source):
        target = _HYPHEN.sub("", target)
    if "\u201e" not in target and "\u201a" not in target:
        return target
    return target if _LOOSE_IN_SOURCE.search(source) else _LOOSE.sub("", target)
