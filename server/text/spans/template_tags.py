"""Tags of template engines and shortcodes in a text. The processes that parse files need no other row of the table, and
do not compile their patterns."""

import re
from collections.abc import Callable

from server.text.base.placeholders import PlaceholderText
from server.text.spans.search import find_spans, has_hint, joined
from server.text.spans.templates import TEMPLATES, shows_value

_TEMPLATE_BEGINNING = re.compile("|".join(dict.fromkeys(row.hint for row in TEMPLATES)))
TEMPLATE = re.compile(joined(TEMPLATES), re.DOTALL)
"""Tags of template engines and shortcodes."""


def template_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every tag of a template engine and shortcode. Linear in len(text)."""
    return list(find_spans(TEMPLATE, text)) if has_hint(_TEMPLATE_BEGINNING, text) else []


def add_templates(placeholder_text: PlaceholderText, raw: str, add_text: Callable[[str], None]) -> None:
    """Add `raw` to a text: its tags of template engines as placeholders, what is between them by `add_text`."""
    last = 0
    for start, end in template_spans(raw):
        add_text(raw[last:start])
        add_template(placeholder_text, raw[start:end])
        last = end
    add_text(raw[last:])


def add_template(placeholder_text: PlaceholderText, template: str) -> None:
    """Add a tag of a template engine: a value belongs to its sentence, other tags do not."""
    placeholder_text.add_value(template) if shows_value(template) else placeholder_text.add_control(template)
