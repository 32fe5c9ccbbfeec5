"""Definitions of links in Markdown, `[a]: url "Title"`: their titles and labels; and titles of admonitions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from server.files.formats.markdown_labels import Label, with_labels
from server.text.base.placeholders import without_placeholders
from server.text.base.words import has_letters

_TITLE = re.compile(r"""[ \t](?:"([^"\r\n\\]*+)"|'([^'\r\n\\]*+)'|\(([^()\r\n\\]*+)\))[ \t]*+\Z""")
_ADMONITION = re.compile(
    r""":{3,}[ \t]*+[\w-]++(?:\[([^\[\]\n]++)\]|[ \t]++([^\[\]{}\n"=]++)\Z)"""
    r"""|(?:!{3}|\?{3}\+?)[ \t]++[\w -]++"([^"\n]++)\""""
)
""" ":::tip[A title]", ":::tip A title", '!!! note "A title"'."""


@dataclass(frozen=True)
class Title:
    """A line with a title in it; only the title changes."""

    raw: str
    label: Label

    @property
    def texts(self) -> list[str]:
        return [self.label.text]

    def write(self, translations: Sequence[str]) -> str:
        return with_labels(self.raw, [self.label], translations)


class PlacedTitle(NamedTuple):
    start: int
    end: int
    content: Title


def labels_of_references(environment: Mapping[str, Any]) -> frozenset[str]:
    """The labels that the parser has found definitions of, normalised."""
    return frozenset(environment.get("references", ()))


def titles_of_references(text: str, environment: Mapping[str, Any], starts: Sequence[int]) -> Iterator[PlacedTitle]:
    """The titles of definitions of links. `starts`: where the lines of `text` begin that the parser has read."""
    for reference in (*environment.get("references", {}).values(), *environment.get("duplicate_refs", ())):
        if not reference.get("title") or "map" not in reference:
            continue
        first, stop = (starts[min(line, len(starts) - 1)] for line in reference["map"])
        raw = text[first:stop].rstrip()
        last = max(raw.rfind("\n"), raw.rfind("\r"), 0)
        if found := title_at(raw[last:], _TITLE):
            yield PlacedTitle(first + last, first + len(raw), found)


def title_of_directive(line: str) -> Title | None:
    """The title of the beginning of an admonition, if it has one."""
    return title_at(line, _ADMONITION)


def title_at(raw: str, pattern: re.Pattern[str]) -> Title | None:
    """The title that one of the groups of the pattern has."""
    match = pattern.search(raw)
    group = next((number for number, value in enumerate(match.groups(), 1) if value is not None), 0) if match else 0
    if match is None or not has_letters(match[group]):
        return None
    start, end = match.span(group)
    return Title(raw, Label(start, end, without_placeholders(match[group])))
