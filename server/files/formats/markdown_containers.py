"""Indented content of extensions of Markdown, which CommonMark takes for code: of footnotes, definitions, admonitions,
foldable parts and tabs (`[^1]: `, `:   `, `!!! note`, `??? note`, `=== "Tab"`)."""

import re

_INDENT = 4
_CONTAINER = re.compile(r"\[\^[^\[\]\n]{1,100}+\]:|[:~][ \t]{3}|(?:!{3}|\?{3}\+?)[ \t]++\S|={3}[!+]?[ \t]++\"")
_FENCE = re.compile(r"`{3,}|~{3,}")
_DEEPEST = 8


def without_indents(text: str) -> str:
    """The text with the lines of such content without the indents that belong to it; as many lines as before. Linear in
    len(text)."""
    if not _may_have(text):
        return text
    lines = text.split("\n")
    inside: list[int] = []
    """Indents of the content of the containers round a line."""
    fence = ""
    for number, line in enumerate(lines):
        bare = line.lstrip(" ")
        if not bare.strip():
            continue
        indent = len(line) - len(bare)
        while inside and indent < inside[-1] and not fence:
            inside.pop()
        lines[number] = line[min(indent, _INDENT * len(inside)) :]
        if mark := _FENCE.match(bare):
            fence = ("" if mark[0].startswith(fence) else fence) if fence else mark[0]
        elif not fence and len(inside) < _DEEPEST and _CONTAINER.match(bare):
            inside.append(indent + _INDENT)
    return "\n".join(lines)


def _may_have(text: str) -> bool:
    return "\n    " in text and any(sign in text for sign in ("[^", "!!!", "???", "===", ":   ", "~   "))
