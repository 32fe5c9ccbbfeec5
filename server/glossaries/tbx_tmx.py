"""Entries of a glossary as TBX (<martif> and <tbx>, ISO 30042) and as TMX: the pairs of two languages.

Languages are compared without their regions, in their scripts (`base_language`). The translation of an entry is its
first term, or segment, in the target language; every term in the source language has it. Codes inside of segments are
left out.
"""

import xml.parsers.expat
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from server.runtime.checkpoints import checkpoint
from server.text.base.language_tags import base_language

ROOTS = {"tbx": frozenset({"martif", "tbx"}), "tmx": frozenset({"tmx"})}
_ENTRIES = frozenset({"termEntry", "conceptEntry", "tu"})
_SECTIONS = frozenset({"langSet", "langSec", "tuv"})
_TEXTS = frozenset({"term", "seg"})
_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})
_CHUNK = 2**16


class MalformedTerms(ValueError):
    """No TBX or TMX; the message has the reason."""


def read_terms(
    data: bytes, roots: frozenset[str], source: str, target: str, keeps_spaces: bool = False
) -> Iterator[tuple[str, str]]:
    """Pairs of a term and its translation out of a file in UTF-8, in their order. Runs of spaces and line breaks are
    one space, unless it `keeps_spaces`. Raises MalformedTerms."""
    reader = _Reader(roots, source, target, keeps_spaces)
    try:
        start = 0
        while start < len(data):
            checkpoint()
            end = start + max(_CHUNK, start - reader.position)
            reader.feed(data[start:end])
            yield from reader.taken()
            start = end
        reader.end()
    except xml.parsers.expat.ExpatError as error:
        raise MalformedTerms(f"they are no well-formed XML: {error}") from None
    yield from reader.taken()


class _Reader:
    def __init__(self, roots: frozenset[str], source: str, target: str, keeps_spaces: bool) -> None:
        self._roots, self._source, self._target = roots, source, target
        self._keeps_spaces = keeps_spaces
        self._parser = xml.parsers.expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._stop
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_entity
        self._parser.AttlistDeclHandler = self._refuse_attributes
        self._pairs: list[tuple[str, str]] = []
        self._of_language: dict[str, list[str]] = {}
        """The terms of the entry that is open."""
        self._language = ""
        self._parts: list[str] | None = None
        """The text of the term that is open."""
        self._num_codes = 0
        self._has_root = False

    @property
    def position(self) -> int:
        """Where the tag or comment begins whose end is not read yet. Expat before 2.6 reads it again with every call:
        calls that double what is read keep the time linear."""
        return max(0, self._parser.CurrentByteIndex)

    def feed(self, data: bytes) -> None:
        self._parser.Parse(data, False)

    def end(self) -> None:
        self._parser.Parse(b"", True)

    def taken(self) -> list[tuple[str, str]]:
        """The pairs that came since the last call."""
        pairs, self._pairs = self._pairs, []
        return pairs

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self._has_root and name not in self._roots:
            expected = " or ".join(f"<{root}>" for root in sorted(self._roots))
            raise MalformedTerms(f"the root is <{name[:60]}>, not {expected}")
        self._has_root = True
        if name in _ENTRIES:
            self._of_language = {}
        elif name in _SECTIONS:
            code = attributes.get("xml:lang") or attributes.get("lang") or ""
            self._language = base_language(code)
        elif name in _TEXTS:
            self._parts, self._num_codes = [], 0
        elif name in _CODES:
            self._num_codes += 1

    def _stop(self, name: str) -> None:
        if name in _ENTRIES:
            targets = self._of_language.get(self._target, ())
            self._pairs += [(term, targets[0]) for term in self._of_language.get(self._source, ()) if targets]
        elif name in _TEXTS and self._parts is not None:
            text = "".join(self._parts)
            text = text.strip() if self._keeps_spaces else " ".join(text.split())
            self._parts = None
            if text:
                self._of_language.setdefault(self._language, []).append(text)
        elif name in _CODES:
            self._num_codes -= 1

    def _characters(self, text: str) -> None:
        if self._parts is not None and not self._num_codes:
            self._parts.append(text)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise MalformedTerms(f"they have an entity of their own: &{name[:60]};")

    def _refuse_attributes(self, element: str, *_: object) -> None:
        raise MalformedTerms(f"they declare attributes of their own, for <{element[:60]}>; save them without a DOCTYPE")


def write_tbx(entries: Mapping[str, str], source: str, target: str) -> str:
    """A file of TBX-Basic (ISO 30042:2019) with a concept for each entry."""

    def section(language: str, term: str) -> str:
        return f"<langSec xml:lang={quoteattr(language)}><termSec><term>{escape(term)}</term></termSec></langSec>"

    concepts = "".join(
        f'<conceptEntry id="c{number}">{section(source, term)}{section(target, translation)}</conceptEntry>\n'
        for number, (term, translation) in enumerate(entries.items(), 1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<tbx type="TBX-Basic" style="dca" xml:lang={quoteattr(source)} xmlns="urn:iso:std:iso:30042:ed-2">\n'
        "<tbxHeader><fileDesc><sourceDesc><p>A glossary</p></sourceDesc></fileDesc></tbxHeader>\n"
        f"<text><body>\n{concepts}</body></text>\n</tbx>\n"
    )
