"""HTML and XML: markup stays byte for byte, except tags inside a sentence, which move with their words, and visible
attributes of HTML, which are translated.

A document is split at its block tags; between them are texts with placeholders for inline tags
(`server.text.base.placeholders`). No tree is built, so no markup is repaired, reordered or lost.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import PlaceholderText
from server.text.base.words import has_letters
from server.text.markup.attributes import (
    Inner,
    Slotted,
    extract_values,
    fill_slots,
    has_slots,
    slot,
    unescaped,
    without_data,
)
from server.text.markup.escaping import escape_html, escape_xml, xml_texts
from server.text.markup.foreign import foreign_elements, language_of
from server.text.markup.languages import PageLanguage, primary
from server.text.markup.tokens import Kind, Token, element_end, find_inline_in_xml, is_opening, tokens_of
from server.text.spans.template_tags import add_templates
from server.text.spans.templates import shows_value

INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "input", "ins", "kbd", "label", "mark", "math", "nobr", "object", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp",
    "small", "span", "strike",
    "strong", "sub", "sup", "svg", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
"""HTML elements inside a sentence; every other tag ends a sentence."""
UNTRANSLATED = frozenset({
    "code", "kbd", "math", "object", "pre", "rp", "rt", "rtc", "samp", "script", "style", "svg", "textarea", "var",
})  # fmt: skip
"""HTML elements whose content stays as it is; of "svg", what is no text of its picture."""
_TEXTS_OF_PICTURES = frozenset({"text", "title", "desc"})
_INLINE_IN_PICTURES = frozenset({"a", "tspan", "textpath"})
_PAGE_IN_PICTURE = "foreignobject"
_MARK = re.compile(r"[\[(]?(?:\d{1,3}(?:[,\u2013-]\d{1,3}){0,3}|[*\u2020\u2021\u00a7]{1,3}|[a-z])[\])]?")
_BEFORE_MARK = re.compile(r"(?:[^\W\d_]{4}|[.,;:!?)\]\"'\u2019\u201d\u00bb])\Z")
_LONGEST_MARK = 8
"""Tags and texts of the mark of a note."""
_DEEPEST = 3
"""Pages inside each other that are read, the outer one included."""
_NO_TRANSLATE = re.compile(
    r"""(?:\s|["'])translate\s*=\s*["']?no\b|\sclass\s*=\s*(?:["'][^"']*\bnotranslate\b|notranslate\b)""", re.IGNORECASE
)
_LINE_ENDS = re.compile(r"[ \t]*+\r?\n\s*+")
_CONTROLS = ("{%", "{{", "{#", "<%", "<?", "@", "{!", "[%")
"""Beginnings of tags of template engines."""


@dataclass(frozen=True)
class Block:
    """A text between block tags, and the spaces around it."""

    before: str
    placeholder_text: PlaceholderText
    after: str
    raw: str

    def render(self, translation: str, escape: Callable[[str], str]) -> str:
        """The block with `translation`; an unchanged text keeps its raw markup."""
        if translation == self.placeholder_text.text:
            return self.raw
        return self.before + self.placeholder_text.render(translation, escape) + self.after


@dataclass(frozen=True)
class Markup:
    """Raw markup and blocks in the order of the document; tags have slots for the `values` of attributes."""

    parts: Sequence[str | Block]
    kind: Kind = "html"
    values: Sequence[Slotted] = ()
    num_foreign: int = 0
    """Elements in other languages than the page's, which stay."""

    @property
    def texts(self) -> list[str]:
        """The texts to translate: blocks with placeholders, then values of attributes."""
        blocks = [part.placeholder_text.text for part in self.parts if isinstance(part, Block)]
        return [*blocks, *(text for value in self.values for text in value.texts)]

    def write(self, translations: Sequence[str], escape: Callable[[str], str] | None = None) -> str:
        """The document with `translations` of `texts`, which `escape` writes between tags. Raises ValueError if their
        number differs."""
        if len(translations) != len(self.texts):
            raise ValueError(f"{len(translations)} translations for {len(self.texts)} texts")
        escape = escape or (escape_html if self.kind == "html" else escape_xml)
        remaining = iter(translations)
        document = "".join(
            part if isinstance(part, str) else part.render(next(remaining), escape) for part in self.parts
        )
        return fill_slots(document, self.values, list(remaining), escape)


@dataclass
class _Reader:
    """Builds raw parts and blocks from tokens."""

    kind: Kind
    parts: list[str | Block] = field(default_factory=list)
    placeholder_text: PlaceholderText = field(default_factory=PlaceholderText)
    raw: list[str] = field(default_factory=list)
    values: list[Slotted] = field(default_factory=list)

    def text(self, raw: str) -> None:
        self.raw.append(raw)
        add_templates(self.placeholder_text, raw, self._add_html if self.kind == "html" else self._add_xml)

    def _is_after_control(self) -> bool:
        """Whether a tag of a template engine that shows nothing is before this."""
        parts = self.placeholder_text.parts
        before = self.placeholder_text.raw.get(parts[-1], "") if parts else ""
        return before.startswith(_CONTROLS) and not shows_value(before)

    def _add_html(self, raw: str) -> None:
        if (blanks := _LINE_ENDS.match(raw)) and self._is_after_control():
            self.placeholder_text.raw[self.placeholder_text.parts[-1]] += blanks[0]  # lines of tags stay lines
            raw = raw[blanks.end() :]
        self.placeholder_text.add_text(unescaped(raw))

    def _add_xml(self, raw: str) -> None:
        for part, is_entity in xml_texts(raw):
            self.placeholder_text.add_standalone(part) if is_entity else self.placeholder_text.add_text(part)

    def inline(self, token: Token) -> None:
        self.raw.append(token.raw)
        if token.name == "wbr" and self.placeholder_text.parts and self.placeholder_text.parts[-1][-1:].isalnum():
            return  # no word is read with it
        if not token.name and shows_value(token.raw):
            self.placeholder_text.add_value(token.raw)
        elif not token.name or token.is_empty:
            self.placeholder_text.add_standalone(token.raw)
        elif token.is_close:
            self.placeholder_text.close(token.name, token.raw)
        else:
            self.placeholder_text.open(token.name, token.raw)

    def standalone(self, raw: str) -> None:
        self.raw.append(raw)
        self.placeholder_text.add_standalone(raw)

    def block(self, raw: str) -> None:
        self.flush()
        self.parts.append(raw)

    def flush(self) -> None:
        """End the block: a block to translate if it has letters, otherwise a raw part."""
        if any(map(has_letters, self.placeholder_text.parts)):
            first, last = self.raw[0], self.raw[-1]
            before = first[: len(first) - len(first.lstrip())] if self.kind == "html" else ""
            after = last[len(last.rstrip()) :] if self.kind == "html" else ""
            after = "" if self._has_written(after) else after
            self._strip(before, after)
            self.parts.append(Block(before, self.placeholder_text, after, "".join(self.raw)))
        else:
            self.parts.append("".join(self.raw))
        self.placeholder_text, self.raw = PlaceholderText(), []

    def _has_written(self, after: str) -> bool:
        """Whether the last tag has the blanks behind it."""
        parts = [part for part in self.placeholder_text.parts if part]
        return bool(after) and self.placeholder_text.raw.get(parts[-1], "").endswith(after)

    def _strip(self, before: str, after: str) -> None:
        parts = [part for part in self.placeholder_text.parts if part]
        if before and parts[0].startswith(" "):
            parts[0] = parts[0][1:]
        if after and parts[-1].endswith(" "):
            parts[-1] = parts[-1][:-1]
        self.placeholder_text.parts = parts


def read_markup(
    text: str, kind: Kind = "html", ignored: Iterable[str] = (), language: str | None = None, source_language: str = ""
) -> Markup:
    """Split a document into markup and texts. `ignored`: names of further elements whose content stays as it is.
    `language` takes the place of the page's own, `source_language` or that of its root.
    Raises MalformedMarkup for XML that is not well-formed, and
    TooManyPlaceholders."""
    return _read(text, kind, frozenset(ignored), language, source_language, 1)


def _read(
    text: str, kind: Kind, ignored: frozenset[str], language: str | None, source_language: str, depth: int
) -> Markup:
    """`depth`: pages inside each other, this one included."""
    values: list[Slotted] = []
    has_own_slots = not has_slots(text)
    tokens = list(tokens_of(without_data(text, values) if has_own_slots else text, kind))
    translates_values = kind == "html" and has_own_slots
    inline = find_inline_in_xml(tokens) if kind == "xml" else None
    untranslated = ignored | (UNTRANSLATED if kind == "html" else frozenset())
    page_language = PageLanguage(primary(source_language) or language_of(tokens), language) if language else None
    reader = _Reader(kind, values=values)

    def read_inner(inner: str) -> Markup:
        return _read(inner, kind, ignored, language, source_language, depth + 1)

    reads_pages = translates_values and depth < _DEEPEST
    foreign = foreign_elements(tokens) if kind == "html" else {}
    index = 0
    while index < len(tokens):
        checkpoint()
        token = tokens[index]
        is_kept = index in foreign or (bool(token.name) and _NO_TRANSLATE.search(token.raw) is not None)
        if page_language and token.name and not (token.is_close or is_kept or token.name in untranslated):
            token = dataclasses.replace(token, raw=page_language.written(token.raw, token.name))
        if translates_values and token.name and not token.is_close and not is_kept:
            taken = extract_values(token.raw, token.name, reader.values, read_inner if reads_pages else None)
            token = token if taken is token.raw else dataclasses.replace(token, raw=taken)
        is_inline = token.name in INLINE or token.name == "" if inline is None else index in inline
        if token.name is None:
            reader.text(token.raw)
        elif is_opening(token) and (token.name in untranslated or is_kept):
            end = element_end(tokens, index)
            raw = "".join(inner.raw for inner in tokens[index + 1 : end])
            if reads_pages and token.name == "svg" and not is_kept and "svg" not in ignored:
                picture = Inner(raw, _picture(tokens[index + 1 : end], read_inner))
                raw = slot(reader.values, picture) if picture.texts else raw
            raw = token.raw + raw
            reader.standalone(raw) if is_inline else reader.block(raw)
            index = end
            continue
        elif end := _mark_end(tokens, index) if token.name == "sup" and is_inline else 0:
            reader.standalone("".join(inner.raw for inner in tokens[index:end]))
            index = end
            continue
        elif is_inline:
            reader.inline(token)
        else:
            reader.block(token.raw)
        index += 1
    reader.flush()
    return Markup([part for part in reader.parts if part], kind, reader.values, len(foreign))


def _mark_end(tokens: Sequence[Token], start: int) -> int:
    """The index after the mark of a note, <sup>1</sup>, that begins at `start` behind a word; 0 for other elements. The
    2 of "m2" belongs to its word."""
    before = tokens[start - 1] if start else None
    raw: list[str] = []
    is_link = False
    for index in range(start + 1, min(len(tokens), start + _LONGEST_MARK)):
        token = tokens[index]
        if token.name == "sup":
            content = "".join(raw).strip()
            is_sure = is_link or content[:1] in ("[", "(")
            follows = before is not None and before.name is None and _BEFORE_MARK.search(before.raw[-4:]) is not None
            return index + 1 if token.is_close and _MARK.fullmatch(content) and (is_sure or follows) else 0
        is_link |= token.name == "a"
        raw += [token.raw] if token.name is None else []
    return 0


def _picture(tokens: Sequence[Token], read_page: Callable[[str], Markup]) -> Markup:
    """The content of an SVG picture: its texts and descriptions, and the pages in it."""
    reader = _Reader("html")
    index = 0
    while index < len(tokens):
        token = tokens[index]
        reader.block(token.raw)
        index += 1
        if not is_opening(token) or token.name not in _TEXTS_OF_PICTURES | {_PAGE_IN_PICTURE}:
            continue
        end = element_end(tokens, index - 1)
        has_end = end > index and tokens[end - 1].is_close
        inner = tokens[index : end - has_end]
        raw = "".join(each.raw for each in inner)
        index = end - has_end
        if _NO_TRANSLATE.search(token.raw) or (token.name == _PAGE_IN_PICTURE and has_slots(raw)):
            reader.block(raw)
        elif token.name == _PAGE_IN_PICTURE:
            page = Inner(raw, read_page(raw))
            reader.block(slot(reader.values, page) if page.texts else raw)
        else:
            for each in inner:
                if each.name is None:
                    reader.text(each.raw)
                else:
                    is_inline = not each.name or each.name in _INLINE_IN_PICTURES
                    reader.inline(each) if is_inline else reader.block(each.raw)
            reader.flush()
    reader.flush()
    return Markup([part for part in reader.parts if part], "html", reader.values)
