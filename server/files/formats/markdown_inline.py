"""What is inside of a paragraph of Markdown: code, links, images, emphasis, formulas, HTML."""

import bisect
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from server.files.formats.markdown_labels import Label, labels_of, with_labels
from server.text.base.placeholders import PlaceholderText
from server.text.spans.placeholders import NOT_NAMED
from server.text.spans.template_tags import TEMPLATE, add_template

_LONGEST_CODE = 2000
_BRACES = r"\{[^{}]{0,200}+(?:\{[^{}]{0,200}+\}[^{}]{0,200}+){0,4}\}"
"""A value of an attribute of JSX, which may have signs of HTML."""
_INLINE = re.compile(
    r"(?P<ticks>`++)"  # code
    r"|(?P<wiki>!?\[\[[^\[\]|\n]{1,200}+\|)(?=[^\[\]\n]{1,300}+\]\])"
    r"|(?P<unwiki>\]\])"
    r"|(?P<short>\[)(?=(?P<label>[^\[\]\n`*_<!^\\]{1,200}+)\](?P<empty>\[\])?(?![\[(:]))"
    r"|(?P<lone>!\[[^\[\]\n]{0,500}+\]\((?:data:[^()\s]*+|[^()\n]{0,1000}+)\)"  # an image
    r"|\\[!-/:-@\[-`{-~]"  # an escaped character
    r"|\${2}[^$]{1,1000}\${2}|(?<![\w$])\$(?=[^\s$])[^$\n]{1,300}(?<=\S)\$(?![\w$])"  # a formula
    r"|\{/\*(?:[^*]|\*(?!/)){0,1000}+\*/\}"  # a comment of JSX
    r"|<(?P<kept>kbd|code|samp|var|math|script|style)(?:\s[^<>]{0,200}+)?>[^<>]{0,1000}+</(?P=kept)>"
    rf"|<{NOT_NAMED}[A-Za-z!/](?>{_BRACES}|[^<>]){{0,1000}}>"  # HTML, an address
    r"|\[\^[^\[\]\n]{1,100}+\])"  # a footnote
    rf"|(?P<template>{TEMPLATE.pattern})"
    r"|(?P<link>\[)(?=[^\[\]]{1,1000}+\](?:\([^()\n]{0,1000}+\)|\[[^\]\n]{0,200}+\]))"
    r"|(?P<unlink>\](?:\([^()\n]{0,1000}+\)|\[[^\]\n]{0,200}+\]))"
    r"|(?P<emphasis>\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~|==)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, or a part of one; `labels` of its images and links by their placeholders."""

    placeholder_text: PlaceholderText
    labels: dict[str, list[Label]] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        return [self.placeholder_text.text, *(label.text for labels in self.labels.values() for label in labels)]

    def write(self, translations: Sequence[str]) -> str:
        translation, *others = translations
        raw = dict(self.placeholder_text.raw)
        for placeholder, labels in self.labels.items():
            own, others = others[: len(labels)], others[len(labels) :]
            raw[placeholder] = with_labels(raw[placeholder], labels, own)
        return replace(self.placeholder_text, raw=raw).render(translation, str)


def read_inline(content: str, references: Set[str] = frozenset()) -> Paragraph:
    """`references`: labels of the definitions of links, by which words in brackets are links."""
    placeholder_text, end = PlaceholderText(), 0
    code, labels = _CodeSpans(content), dict[str, list[Label]]()
    while match := _INLINE.search(content, end):
        placeholder_text.add_text(content[end : match.start()])
        end = match.end()
        if match["ticks"]:
            start, end = code.after(*match.span())
            placeholder_text.add_text(content[match.start() : start])
            if end > start:
                placeholder_text.add_standalone(content[start:end])
        elif match["short"] and content[match.start() - 1 : match.start()] == "]":  # may be the label of a link
            end = match.end("label") + 1
            placeholder_text.add_standalone(content[match.start() : end])
        elif match["short"] and _normalized(match["label"]) in references:
            placeholder_text.open("link", "[")
            placeholder_text.add_text(match["label"])
            placeholder_text.close("link", f"][{match['label']}]")
            end = match.end("empty") if match["empty"] else match.end("label") + 1
        elif match["short"]:
            placeholder_text.open("link", "[") if match["empty"] else placeholder_text.add_text("[")
        elif match["wiki"]:
            placeholder_text.open("wiki", match[0])
        elif match["unwiki"]:
            is_open = placeholder_text.has_open("wiki")
            placeholder_text.close("wiki", "]]") if is_open else placeholder_text.add_text("]")
            end -= not is_open
        elif match["lone"]:
            placeholder_text.add_standalone(match[0])
            if match[0].startswith(("!", "<")) and (found := list(labels_of(match[0]))):
                labels[placeholder_text.parts[-1]] = found
        elif match["template"]:
            add_template(placeholder_text, match[0])
        elif match["link"]:
            placeholder_text.open("link", match[0])
        elif match["unlink"]:
            placeholder_text.close("link", match[0])
            if found := list(labels_of(match[0])):
                labels[placeholder_text.parts[-1]] = found
        else:
            _emphasis(placeholder_text, match, content)
    placeholder_text.add_text(content[end:])
    return Paragraph(placeholder_text, labels)


def _normalized(label: str) -> str:
    """A label as the parser compares it."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)


class _CodeSpans:
    """Code spans: each ends at the next run of backticks of the same length."""

    def __init__(self, content: str) -> None:
        self._runs: dict[int, list[int]] = {}  # length -> starts
        for run in re.finditer("`+", content):
            self._runs.setdefault(len(run[0]), []).append(run.start())

    def after(self, start: int, end: int) -> tuple[int, int]:
        """(start, end) of the code span, backticks included, that begins in the run of backticks from `start` to `end`.
        If no run has the same length, the span begins with fewer of them. (end, end) without a span."""
        for length in range(end - start, 0, -1):
            starts = self._runs.get(length, ())
            index = bisect.bisect_left(starts, end)
            if index < len(starts) and 0 < starts[index] - end <= _LONGEST_CODE:
                return end - length, starts[index] + length
        return end, end


def _emphasis(placeholder_text: PlaceholderText, match: re.Match[str], content: str) -> None:
    """Emphasis opens before a word and closes after one; elsewhere its characters are text."""
    before, after = content[match.start() - 1 : match.start()], content[match.end() : match.end() + 1]
    if before.strip() and placeholder_text.has_open(match[0]):
        placeholder_text.close(match[0], match[0])
    elif after.strip():
        placeholder_text.open(match[0], match[0])
    else:
        placeholder_text.add_text(match[0])
