"""Lines of a text file that have only tags of template engines and shortcodes: they stay as they are, and are no part
of a paragraph."""

import itertools
import re
from bisect import bisect_right

from server.text.spans.template_tags import template_spans
from server.text.spans.templates import shows_value

KEPT = "\U0010fffe"  # a noncharacter of Unicode
_FENCES = ("```", "~~~")
_NO_BREAK = re.compile(r"[^\n]")


def without_tag_lines(text: str) -> str:
    """A text of the same length with KEPT in place of these lines, except the spaces at their ends. Tags of several
    lines are among them if nothing else is on their lines. Values are no such tags. Linear in len(text)."""
    tags = [(start, end) for start, end in template_spans(text) if not shows_value(text[start:end])]
    if not tags:
        return text
    hidden: list[str] = []
    last = 0
    for start, end in tags:
        hidden += (text[last:start], _NO_BREAK.sub(KEPT, text[start:end]))
        last = end
    lines, hidden_lines = text.split("\n"), "".join([*hidden, text[last:]]).split("\n")
    is_kept = [_is_covered(line, other) for line, other in zip(lines, hidden_lines, strict=True)]
    starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))
    for start, end in tags:
        first, after = bisect_right(starts, start) - 1, bisect_right(starts, end - 1)
        if after - first > 1 and not all(is_kept[first:after]):
            is_kept[first:after] = [False] * (after - first)
    return "\n".join(_kept(line) if kept else line for line, kept in zip(lines, is_kept, strict=True))


def _is_covered(line: str, hidden: str) -> bool:
    """Whether a line is nothing but tags; an empty line may be inside of one."""
    return not hidden.replace(KEPT, "").strip() and not line.lstrip().startswith(_FENCES)


def _kept(line: str) -> str:
    bare = line.strip()
    start = len(line) - len(line.lstrip())
    return line[:start] + KEPT * len(bare) + line[start + len(bare) :]
