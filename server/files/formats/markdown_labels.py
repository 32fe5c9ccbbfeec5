"""Words inside of Markdown's images and links: what stands for a picture, and titles. Each is a text of its own."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from server.text.base.placeholders import PLACEHOLDER, without_placeholders
from server.text.base.words import has_letters
from server.text.markup.attributes import ATTRIBUTE, is_visible

_IMAGE = re.compile(r"!\[([^\[\]\n\\]*+)\]\(")
_TITLE = re.compile(r"""\s(?:"([^"\n\\]*+)"|'([^'\n\\]*+)')\s*\)\Z""")
_SPECIAL = re.compile(r"[\[\]\\\"'()<>&]")


class Label(NamedTuple):
    """The text from `start` to `end` of an image or of the end of a link."""

    start: int
    end: int
    text: str


def labels_of(raw: str) -> Iterator[Label]:
    """The labels of an image, `![a dog](dog.png "Rex")`, of the end of a link, `](a.html "More")`, or of a tag of HTML,
    `<img alt="a dog">`."""
    if raw.startswith("<"):
        yield from _labels_of_tag(raw)
        return
    for match in (_IMAGE.match(raw), _TITLE.search(raw)):
        if match is None:
            continue
        group = next(number for number, value in enumerate(match.groups(), 1) if value is not None)
        if has_letters(match[group]):
            yield Label(*match.span(group), without_placeholders(match[group]))


def _labels_of_tag(raw: str) -> Iterator[Label]:
    """The values that readers see and that have no references to characters."""
    for match in ATTRIBUTE.finditer(raw):
        start, end = match.span("value")
        if is_visible(match[1].lower(), "", {}, raw) and raw[start] in "\"'" and "&" not in match["value"]:
            text = raw[start + 1 : end - 1]
            if has_letters(text):
                yield Label(start + 1, end - 1, without_placeholders(text))


def with_labels(raw: str, labels: Sequence[Label], translations: Sequence[str]) -> str:
    """The image or link with other labels. A label stays that would get signs of the syntax that its source has not."""
    parts: list[str] = []
    end = 0
    for label, translation in zip(labels, translations, strict=True):
        written = " ".join(PLACEHOLDER.sub("", translation).split())
        is_safe = written and not {*_SPECIAL.findall(written)} - {*label.text}
        parts += (raw[end : label.start], written if is_safe else label.text)
        end = label.end
    return "".join([*parts, raw[end:]])
