"""What of a chat message is text to be translated, and how the answer is written from its translations.

A message is a text, whose separating lines stay as they are; or JSON as clients send many texts at a time, which is
answered in the shape that they read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from pydantic_core import to_json

from server.api.openai.placeholders import Placeholders
from server.api.openai.prompts import without_instructions
from server.api.requests.body import parse
from server.api.requests.errors import ApiError
from server.api.requests.fields import MOST_TERMS
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload_above
from server.text.protect.terms import Terms

_SEPARATOR = re.compile(
    r"^[ \t]*+[=#%@<>|~+^-]{2,10}+(?:[A-Z0-9_]{1,40}+[=#%@<>|~+^-]{2,10}+)?[ \t]*+\r?+$", re.MULTILINE
)
"""A line of signs, alone or round a word in capitals: ==WEBLATE_PART==, %%, ---."""


FIELDS: dict[str, tuple[str, ...]] = {"line": ("position",), "source": ()}
"""Fields of objects in a list that have a text -> the fields that stay beside its translation. "line": Lingarr's cues.
"source": Weblate's strings, which are answered by strings alone."""


@dataclass(frozen=True)
class Content:
    """`texts` to translate, with the `placeholders` of each. `write` makes the answer of their translations.
    `literals`, of a message that is a text, are what stands before, between and after its `texts`; else None."""

    texts: list[str]
    write: Callable[[Sequence[str]], str]
    literals: list[str] | None = None
    placeholders: tuple[Placeholders, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)
    """Terms and their translations, which come with Weblate's strings."""

    async def read_terms(self) -> Terms | None:
        """A large glossary is indexed in a thread."""
        return await offload_above(sum(map(len, self.glossary)), Terms, self.glossary) if self.glossary else None


def content_of(message: str, in_object: bool = False) -> Content:
    """`in_object`: whether an answer of many texts must be a JSON object, as OpenAI's API has it for formats of
    answers. Takes time in proportion to the message's length."""
    text = without_instructions(message)
    listed = _listed(text, in_object) if text.lstrip()[:1] in ("[", "{") else None
    return _with_placeholders(_separated(text) if listed is None else listed)


def _with_placeholders(content: Content) -> Content:
    placeholders = tuple(map(Placeholders, content.texts))

    def write(translations: Sequence[str]) -> str:
        return content.write([of.restore(text) for of, text in zip(placeholders, translations, strict=True)])

    return Content([of.text for of in placeholders], write, content.literals, placeholders, content.glossary)


def _separated(text: str) -> Content:
    """A text, cut at the lines that separate its parts."""
    texts, between, end = list[str](), [list[str]()], 0

    def add(part: str) -> None:
        if part.strip():
            texts.append(part)
            between.append([])
        else:
            between[-1].append(part)

    for match in _SEPARATOR.finditer(text):
        checkpoint()
        add(text[end : match.start()])
        between[-1].append(match[0])
        end = match.end()
    add(text[end:])
    literals = ["".join(parts) for parts in between]

    def write(translations: Sequence[str]) -> str:
        parts = (part for pair in zip(literals, translations, strict=False) for part in pair)
        return "".join(parts) + literals[-1]

    return Content(texts, write, literals)


def _listed(text: str, in_object: bool) -> Content | None:
    """The texts of a message in JSON; None for a text that only looks like it."""
    try:
        value = parse(text.encode())
    except (ApiError, UnicodeEncodeError):
        return None
    items = value.get("strings") if isinstance(value, dict) else value
    if not isinstance(items, list) or not items:
        return None
    for name, kept in FIELDS.items():
        if all(isinstance(item, dict) and _is_text(item.get(name)) for item in items):
            content = _of_objects(items, name, kept, in_object)
            return replace(content, glossary=_glossary(value.get("glossary"))) if isinstance(value, dict) else content
    if all(map(_is_text, items)):
        return Content(items, lambda translations: _written(list(translations), in_object))
    return None


def _of_objects(items: list[dict[str, Any]], text_field: str, kept: Sequence[str], in_object: bool) -> Content:
    def write(translations: Sequence[str]) -> str:
        if not kept:
            return _written(list(translations), in_object)
        beside = [{name: item[name] for name in kept if name in item} for item in items]
        pairs = zip(beside, translations, strict=True)
        return _written([{**other, text_field: text} for other, text in pairs], in_object)

    return Content([item[text_field] for item in items], write)


def _glossary(terms: object) -> dict[str, str]:
    """The terms of a list of objects with `source` and `target`, of several with one source the first. Raises ApiError
    (422) for too many."""
    glossary: dict[str, str] = {}
    for term in terms if isinstance(terms, list) else ():
        source, target = (term.get("source"), term.get("target")) if isinstance(term, dict) else (None, None)
        if _is_text(source) and _is_text(target) and source.strip() and target.strip():
            glossary.setdefault(source, target)
    if len(glossary) > MOST_TERMS:
        raise ApiError("invalid_value", f"glossary: {len(glossary)} terms, at most {MOST_TERMS}", "messages")
    return glossary


def _is_text(value: object) -> TypeGuard[str]:
    """Whether it is a string of valid Unicode; JSON can also express half a character."""
    checkpoint()
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _written(values: list[Any], in_object: bool) -> str:
    return to_json({"translations": values} if in_object else values).decode()
