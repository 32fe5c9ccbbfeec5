"""Lines of Markdown that CommonMark takes for text, and that belong to an extension: directives, tags of templates, and
the JavaScript modules of MDX. None is translated."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from server.text.markup.languages import as_locale, primary

MAX_LINES = 100
"""Lines in which a tag, or the brackets of an import or export, are closed; else there is no tag, and the other ends at
the next empty line."""

_DIRECTIVE = re.compile(
    r":{3,}|!{3} |\?{3}\+? |\{[ ]?[:#.][^{}]*\}$|\[\[[^\[\]]*\]\]$|\${2}$"
    r"|\[[^\[\]\n^]{1,200}+\]:[ \t]+(?=\S{0,300}[./#])\S++(?:\s+[\"'(]|\s*+\Z)"
)
""" ":::note", "!!! note", "{: .class}", "[[toc]]", "$$", and addresses of links in a paragraph."""
_TAGS = re.compile(
    r"(?:(?:\{\{<(?:[^>]++|>(?!\}\}))*+>\}\}|\{\{%(?:[^%]++|%(?!\}\}))*+%\}\}|\{%(?:[^%]++|%(?!\}))*+%\})\s*+)++\Z"
)
"""A line of nothing but tags: shortcodes of Hugo, tags of Liquid and Jinja."""
_ENDS = {"{{<": ">}}", "{{%": "%}}", "{%": "%}"}
_MODULE = re.compile(
    r"""import\s+(?:["']|\*\s+as\s|\{|[A-Za-z_$][\w$]*+\s*+(?:,\s*+[{*]|from\s*+["']))"""
    r"|export\s+(?:default\s|const\s|let\s|var\s|(?:async\s+)?function\b|class\s|\{|\*\s)"
)
_FENCE = ("```", "~~~")
_LANGUAGE = re.compile(
    r"""^((?:lang|language|locale)[ \t]*[:=][ \t]*["']?)([A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3})"""
    r"""(?=["']?[ \t]*(?:\r?$|\#))""",
    re.MULTILINE,
)


def is_directive(line: str) -> bool:
    """Whether a line of a paragraph is none of its text, whatever stands round it."""
    return bool(_DIRECTIVE.match(line) or _TAGS.match(line))


def kept_lines(lines: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines of imports, of exports, and of tags that have several lines."""
    if not any(line.lstrip().startswith(("import", "export", "{")) for line in lines):
        return frozenset()
    ends = {end: [at for at, line in enumerate(lines) if end in line] for end in _ENDS.values()}
    numbers: list[int] = []
    is_fenced = False
    at = 0
    while at < len(lines):
        line = lines[at].lstrip()
        if line.startswith(_FENCE):
            is_fenced = not is_fenced
        is_start = at == 0 or not lines[at - 1].strip() or (bool(numbers) and numbers[-1] == at - 1)
        if not is_fenced and is_start and _MODULE.match(lines[at]):
            end = _module_end(lines, at)
        else:
            end = at if is_fenced else _tag_end(lines, at, ends)
        numbers += range(at, end)
        at = max(end, at + 1)
    return frozenset(numbers)


def _tag_end(lines: Sequence[str], start: int, ends: Mapping[str, Sequence[int]]) -> int:
    """The number of the line after a tag that begins with this line and has several; `start` where there is none."""
    line = lines[start].lstrip()
    end = next((end for opening, end in _ENDS.items() if line.startswith(opening)), "")
    index = bisect_left(ends[end], start) if end and end not in line else 0
    if not end or end in line or index == len(ends[end]) or ends[end][index] - start > MAX_LINES:
        return start
    stop = ends[end][index] + 1
    return start if any("{{" in line or "{%" in line for line in lines[start + 1 : stop]) else stop


def _module_end(lines: Sequence[str], start: int) -> int:
    """The number of the empty line that ends the module, outside of brackets if they are closed at all."""
    depth, first_empty = 0, len(lines)
    for at in range(start, len(lines)):
        if not lines[at].strip():
            first_empty = min(first_empty, at)
            if depth <= 0:
                return at
        if at - start > MAX_LINES:
            return first_empty
        depth += sum(lines[at].count(bracket) for bracket in "({[") - sum(lines[at].count(b) for b in ")}]")
    return len(lines) if depth <= 0 else first_empty


def front_in_language(front: str, source: str, target: str) -> str:
    """Front matter whose language, if it is `source`, is `target`. Both may be ""."""
    if not source:
        return front

    def written(match: re.Match[str]) -> str:
        if primary(match[2]) != primary(source):
            return match[0]
        return match[1] + (as_locale(target) if "_" in match[2] else target)

    return _LANGUAGE.sub(written, front)
