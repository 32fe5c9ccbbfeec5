"""Tags of HTML inside the texts of files of strings: each pair becomes placeholders, so that the model does not read it
and it encloses the words that come from its words, as in pages and documents."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import PLACEHOLDER, PlaceholderText, TooManyPlaceholders, has_reserved

_PAIRED = frozenset({
    "a", "abbr", "b", "big", "cite", "del", "em", "font", "g", "i", "ins", "mark", "q", "s", "small", "span", "strike",
    "strong", "sub", "sup", "u",
})  # fmt: skip
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z]{1,8})(?P<rest>(?:\s[^<>]{0,1000}+)?)>")


@dataclass(frozen=True)
class TaggedTexts:
    """`texts` with placeholders for pairs of tags, and how they are made tags again."""

    texts: list[str]
    tags: dict[int, PlaceholderText]
    """By the numbers of the texts that have any."""

    def restored(self, translations: Sequence[str]) -> list[str]:
        """The translations with tags."""
        done = list(translations)
        for number, placeholder_text in self.tags.items():
            checkpoint()
            done[number] = placeholder_text.render(done[number], str)
        return done


def with_inline_tags(texts: Sequence[str]) -> TaggedTexts:
    """The texts with placeholders for their pairs of tags. A text that has placeholders already, or whose tags are not
    properly nested, stays as it is. Linear in the lengths of the texts."""
    tagged = TaggedTexts(list(texts), {})
    for number, text in enumerate(texts):
        checkpoint()
        if "</" in text and not has_reserved(text) and (read := _read(text)) is not None:
            tagged.texts[number], tagged.tags[number] = read.text, read
    return tagged


def _read(text: str) -> PlaceholderText | None:
    """The text with placeholders; None if its tags are not pairs."""
    read = PlaceholderText()
    open_names: list[str] = []
    end = 0
    try:
        for match in _TAG.finditer(text):
            if match["name"].lower() not in _PAIRED or match["rest"].endswith("/"):
                continue
            read.add_text(text[end : match.start()])
            end = match.end()
            if not match["close"]:
                open_names.append(match["name"])
                read.open(match["name"], match[0])
            elif open_names and open_names.pop() == match["name"]:
                read.close(match["name"], match[0])
            else:
                return None
    except TooManyPlaceholders:
        return None
    read.add_text(text[end:])
    return read if end and not open_names and PLACEHOLDER.search(read.text) else None
