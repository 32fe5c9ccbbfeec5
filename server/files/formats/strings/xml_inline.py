"""The content of an element as a text with placeholders for its tags, comments and entities."""

import re
from collections.abc import Callable, Sequence, Set

from server.files.formats.spans import Span, value
from server.files.formats.strings.xml_source import Element, Token, escape, tokens, unescape
from server.files.formats.xml_files import valid_text
from server.text.base.placeholders import PlaceholderText
from server.text.base.words import has_letters

_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[^\s#&;<>][^\s&;<>]*+;")
_BLANKS = " \t\r\n"


def content_span(
    element: Element,
    newline: str,
    write: Callable[[str], str] = escape,
    read: Callable[[str], str] = unescape,
    finish: Callable[[str], str] = str,
) -> Span | None:
    """The content of an element as a span, without the blanks around it; None if it has no letters. A content that is
    one CDATA section stays one. `read` makes characters of the file to text, `write` text to characters, and `finish`
    the content of these."""
    content = element.content
    start = element.inner + len(content) - len(content.lstrip(_BLANKS))
    end = element.inner_end - (len(content) - len(content.rstrip(_BLANKS)))
    inside = _of_cdata(content.strip(_BLANKS))
    if inside is not None:
        text = read(inside.replace("&", "&amp;"))
        start, end = start + len(_CDATA), end - len(_CDATA_END)

        def written(translations: Sequence[str]) -> str:
            changed = unescape(finish(write(translations[0])))
            return valid_text(changed).replace(_CDATA_END, "]]]]><![CDATA[>").replace("\n", newline)

        return Span(start, end, (text,), written) if has_letters(text) else None
    source = read_inline(element, read=read, start=start, end=end)
    if not has_letters(source.text):
        return None
    return value(start, end, source.text, lambda text: finish(source.render(text, write)).replace("\n", newline))


def _of_cdata(content: str) -> str | None:
    """What is in a content that is one CDATA section."""
    inside = content[len(_CDATA) : -len(_CDATA_END)]
    is_one = content.startswith(_CDATA) and content.endswith(_CDATA_END) and _CDATA_END not in inside
    return inside if is_one else None


def read_inline(
    element: Element,
    keeps: Set[str] = frozenset(),
    read: Callable[[str], str] = unescape,
    start: int | None = None,
    end: int | None = None,
) -> PlaceholderText:
    """The content of `element`, or its characters from `start` to `end`. Elements of the names in `keeps` stay with all
    that they hold, and so does the `g` of a namespace (Android's <xliff:g>). `read` is that of `content_span`."""
    first = element.inner if start is None else start
    return _Reader(element.text, keeps, read).of(first, element.inner_end if end is None else end)


class _Reader:
    def __init__(self, text: str, keeps: Set[str], read: Callable[[str], str]) -> None:
        self._text, self._keeps, self._read = text, keeps, read
        self._result = PlaceholderText()
        self._kept: Token | None = None
        """The tag of an element that is kept whole, while it is open."""
        self._depth = 0

    def of(self, start: int, end: int) -> PlaceholderText:
        for token in tokens(self._text, start, end):
            if self._kept is not None:
                self._keep(self._kept, token)
            elif token.name:
                self._tag(token)
            elif token.is_text:
                self._add_text(self._text[token.start : token.end])
            elif self._text.startswith(_CDATA, token.start):
                inside = self._text[token.start + len(_CDATA) : token.end - len(_CDATA_END)]
                self._result.add_text(self._read(inside.replace("&", "&amp;")))
            else:
                self._result.add_standalone(self._text[token.start : token.end])
        return self._result

    def _tag(self, token: Token) -> None:
        raw = self._text[token.start : token.end]
        if token.is_closing:
            self._result.close(token.name, raw)
        elif token.is_empty:
            self._add_whole(token, raw)
        elif token.name in self._keeps or token.name.endswith(":g"):
            self._kept, self._depth = token, 1
        else:
            self._result.open(token.name, raw)

    def _keep(self, kept: Token, token: Token) -> None:
        if token.name and not token.is_empty:
            self._depth += -1 if token.is_closing else 1
            if not self._depth:
                self._kept = None
                self._add_whole(kept, self._text[kept.start : token.end])

    def _add_whole(self, token: Token, raw: str) -> None:
        """An element with all that it holds. A <bpt> and the <ept> of its number are the two ends of one."""
        if token.name not in ("bpt", "ept"):
            self._result.add_standalone(raw)
            return
        element = Element(self._text, token.name, token.attributes, token.start, token.end)
        number = f"{element.get('i') or element.get('id')}"
        if token.name == "bpt":
            self._result.open(number, raw)
        else:
            self._result.close(number, raw)

    def _add_text(self, raw: str) -> None:
        """Entities that a DTD declares stay as they are."""
        end = 0
        for match in _ENTITY.finditer(raw) if "&" in raw else ():
            self._result.add_text(self._read(raw[end : match.start()]))
            self._result.add_standalone(match[0])
            end = match.end()
        self._result.add_text(self._read(raw[end:]))
