"""OpenDocument files of generated structure, built by hand, with what a reader sees of them."""

import random

from tests.server.files.formats.files import packed, with_mimetype
from tests.server.files.formats.ooxml_documents import Built

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = {
    "office": f"{_OASIS}office:1.0", "text": f"{_OASIS}text:1.0", "table": f"{_OASIS}table:1.0",
    "draw": f"{_OASIS}drawing:1.0", "style": f"{_OASIS}style:1.0", "fo": f"{_OASIS}xsl-fo-compatible:1.0",
    "svg": f"{_OASIS}svg-compatible:1.0", "dc": "http://purl.org/dc/elements/1.1/",
    "presentation": f"{_OASIS}presentation:1.0", "form": f"{_OASIS}form:1.0",
    "loext": "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0",
}  # fmt: skip
_DECLARED = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
FIELDS = ("text:page-number", "text:date", "text:author-name", "text:bookmark-ref", "text:sequence", "text:placeholder")
POINTS = ("text:bookmark", "text:bookmark-start", "text:bookmark-end", "text:reference-mark-start", "text:change-start",
          "text:change-end", "text:change", "office:annotation-end")  # fmt: skip
SPANS = ("text:span", "text:a", "text:meta", "text:text-input", "loext:content-control", "ruby")
INLINES = ("words", "words", "words", "spaces", "tab", "line break", "field", "point", "note", "box", "comment",
           "picture", "page break", "empty", "in a word")  # fmt: skip


def part(root: str, body: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<office:{root} {_DECLARED}>{body}</office:{root}>'


def opendocument(body: str, styles: str = "", kind: str = "text") -> bytes:
    """A file with this in its body."""
    content = part("document-content", f"<office:body><office:{kind}>{body}</office:{kind}></office:body>")
    meta = part(
        "document-meta", "<office:meta><dc:title>A title</dc:title><dc:language>en-US</dc:language></office:meta>"
    )
    properties = '<style:text-properties fo:language="en" fo:country="US" style:language-asian="zh"/>'
    default = f'<office:styles><style:default-style style:family="paragraph">{properties}</style:default-style>'
    parts = packed(
        [
            ("content.xml", content),
            ("meta.xml", meta),
            ("Pictures/a.png", b"\x89PNG" * 40),
            ("styles.xml", part("document-styles", f"{default}</office:styles>{styles}")),
        ]
    )
    return with_mimetype(parts, f"application/vnd.oasis.opendocument.{kind}")


class Builder:
    """Draws a document. Every element but `text:s` has a number of its own."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.seen: list[str] = []
        self.unseen: list[str] = []
        self._number = 0

    def blocks(self, depth: int) -> str:
        kinds = self._chance.choices(("p", "p", "h", "list", "table", "number", "deleted", "section"), k=3)
        return "".join(self._block(kind, depth) for kind in kinds)

    def _block(self, kind: str, depth: int) -> str:
        match kind:
            case "list":
                return self._element("text:list", self._element("text:list-item", self._paragraph(depth)))
            case "table":
                cell = self._element("table:table-cell", self._paragraph(depth), 'office:value-type="string"')
                return self._element("table:table", self._element("table:table-row", cell))
            case "number":
                shown = f"<text:p>{self._word(False)}</text:p>"
                attributes = self._chance.choice(('office:value-type="date"', 'table:formula="of:=[.A1]"'))
                cell = self._element("table:table-cell", shown, attributes)
                return self._element("table:table", self._element("table:table-row", cell))
            case "deleted":
                inside = f"<text:deletion><text:p>{self._word(False)}</text:p></text:deletion>"
                return f"<text:tracked-changes>{inside}</text:tracked-changes>"
            case "section" if depth < 2:
                return self._element("text:section", self.blocks(depth + 1))
            case "h":
                return self._element("text:h", self._inlines(depth), 'text:outline-level="1"')
            case _:
                return self._paragraph(depth)

    def _paragraph(self, depth: int) -> str:
        return self._element("text:p", self._inlines(depth))

    def _inlines(self, depth: int) -> str:
        kinds = self._chance.choices(INLINES + (SPANS if depth < 3 else ()), k=self._chance.randint(0, 6))
        return "".join(self._inline(kind, depth) for kind in kinds)

    def _inline(self, kind: str, depth: int) -> str:
        match kind:
            case "words":
                return self._chance.choice(("", " ", "\n  ")) + self._word() + self._chance.choice(("", ". ", " &lt; "))
            case "in a word":
                return self._word() + self._element("text:span", "2") + "O"
            case "spaces":
                return ' <text:s text:c="3"/>'
            case "tab" | "line break":
                return self._element("text:" + kind.replace(" ", "-"))
            case "page break":
                return self._element("text:soft-page-break")
            case "field":
                return self._element(self._chance.choice(FIELDS), self._word(False))
            case "point":
                return self._element(self._chance.choice(POINTS))
            case "comment":
                return self._element("office:annotation", f"<dc:creator/><text:p>{self._word(False)}</text:p>")
            case "picture":
                named = f"<svg:desc>The {self._word()}</svg:desc><svg:title>picture.png</svg:title>"
                return self._element("draw:frame", self._element("draw:image") + named, self._anchor())
            case "empty":
                return self._element("text:span", self._chance.choice(("", "<draw:frame/>")))
            case "ruby":
                base = self._element("text:ruby-base", self._inlines(depth + 1))
                return self._element("text:ruby", base + f"<text:ruby-text>{self._word(False)}</text:ruby-text>")
            case "note" if depth < 2:
                body = self._element("text:note-body", self.blocks(depth + 1))
                return self._element("text:note", f"<text:note-citation>1</text:note-citation>{body}")
            case "box" if depth < 2:
                inside = self._element("draw:text-box", self.blocks(depth + 1))
                return self._element("draw:frame", inside, self._anchor())
            case "note" | "box":
                return ""
            case "loext:content-control":
                choice = ""
                if self._chance.random() < 0.5:
                    shown = f'loext:display-text="The {self._word()}" loext:value="x"'
                    choice = self._element("loext:list-item", "", shown)
                return self._element(kind, choice + self._inlines(depth + 1))
            case _:
                return self._element(kind, self._inlines(depth + 1))

    def _anchor(self) -> str:
        return f'text:anchor-type="{self._chance.choice(("as-char", "char", "paragraph"))}"'

    def _element(self, name: str, inside: str = "", attributes: str = "") -> str:
        tag = f'{name} n="{self._next()}" t="a>b" {attributes}'.strip()
        return f"<{tag}>{inside}</{name}>" if inside else f"<{tag}/>"

    def _word(self, is_seen: bool = True) -> str:
        word = f"word{chr(97 + self._next() % 26)}{self._number}x"
        (self.seen if is_seen else self.unseen).append(word)
        return word

    def _next(self) -> int:
        self._number += 1
        return self._number


def odf_file(seed: int) -> Built:
    builder = Builder(random.Random(seed))
    body = builder.blocks(0)
    header = f"<style:header>{builder.blocks(1)}</style:header>"
    styles = f"<office:master-styles><style:master-page>{header}</style:master-page></office:master-styles>"
    return Built(opendocument(body, styles), builder.seen, builder.unseen)
