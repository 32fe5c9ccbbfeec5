"""Word files of generated structure, built by hand, with what a reader sees of them."""

import random
from dataclasses import dataclass, field

from tests.server.files.formats.files import packed

TRANSITIONAL = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
}
STRICT = {
    "w": "http://purl.oclc.org/ooxml/wordprocessingml/main",
    "a": "http://purl.oclc.org/ooxml/drawingml/main",
    "c": "http://purl.oclc.org/ooxml/drawingml/chart",
}
OTHERS = {
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
}
TYPE = "application/vnd.openxmlformats-officedocument."
FORMATS = ("", "", "<{w}:rPr><{w}:b/></{w}:rPr>", '<{w}:rPr><{w}:lang {w}:val="en-US"/></{w}:rPr>',
           '<{w}:rPr><{w}:vertAlign {w}:val="subscript"/></{w}:rPr>')  # fmt: skip
POINTS = ("bookmarkStart", "bookmarkEnd", "commentRangeStart", "commentRangeEnd", "proofErr", "permStart")
IN_RUNS = ("footnoteReference", "lastRenderedPageBreak", "sym", "noBreakHyphen", "softHyphen", "commentReference", "cr",
           "tab", "br", "ptab")  # fmt: skip
CONTAINERS = ("hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "dir", "bdo", "fldSimple", "field", "ruby")
LEAVES = ("run", "run", "run", "mixed", "point", "in run", "picture", "page break", "removed", "computed", "loose",
          "box", "empty")  # fmt: skip


@dataclass
class Built:
    """A file, the words in it that a reader sees, and those that are not to be translated."""

    data: bytes
    seen: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)


class Builder:
    """Draws the parts of one file. Every element but runs and texts has a number of its own."""

    def __init__(self, chance: random.Random, namespaces: dict[str, str], prefix: str) -> None:
        self._chance, self._namespaces, self._w = chance, {**namespaces, **OTHERS}, prefix
        self.seen: list[str] = []
        self.unseen: list[str] = []
        self._number = 0

    def part(self, root: str, body: str, root_prefix: str = "") -> str:
        prefixes = {self._w if name == "w" else name: uri for name, uri in self._namespaces.items()}
        declared = " ".join(f'xmlns:{name}="{uri}"' for name, uri in prefixes.items())
        name = f"{root_prefix or self._w}:{root}"
        start = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'
        return f"{start}<{name} {declared}>{body}</{name}>"

    def blocks(self, depth: int) -> str:
        kinds = self._chance.choices(("p", "p", "p", "tbl", "sdt"), k=self._chance.randint(1, 3))
        return "".join(self._block(kind, depth) for kind in kinds)

    def chart(self) -> str:
        names = "".join(f"<c:pt><c:v>{self._word()}</c:v></c:pt>" for _ in range(2))
        title = f"<c:tx><c:rich><a:p><a:r><a:t>{self._word()}</a:t></a:r></a:p></c:rich></c:tx>"
        numbers = "<c:val><c:numRef><c:numCache><c:pt><c:v>4.5</c:v></c:pt></c:numCache></c:numRef></c:val>"
        return (
            f"<c:chart>{title}<c:cat><c:strRef><c:strCache>{names}</c:strCache></c:strRef></c:cat>{numbers}</c:chart>"
        )

    def _block(self, kind: str, depth: int) -> str:
        inner = self._paragraph(depth) if kind == "p" or depth >= 3 else self.blocks(depth + 1)
        match kind:
            case "tbl":
                return self._element("tbl", self._element("tr", self._element("tc", inner)))
            case "sdt":
                return self._element("sdt", self._element("sdtPr") + self._element("sdtContent", inner))
            case _:
                return inner

    def _paragraph(self, depth: int) -> str:
        properties = self._chance.choice(("", f"<{self._w}:pPr><{self._w}:keepNext/></{self._w}:pPr>"))
        return self._element("p", properties + self._inlines(depth))

    def _inlines(self, depth: int, is_nested: bool = False) -> str:
        kinds = self._chance.choices(LEAVES + (CONTAINERS if depth < 3 else ()), k=self._chance.randint(0, 6))
        return "".join(self._inline(kind, depth) for kind in kinds if not (is_nested and kind == "loose"))

    def _inline(self, kind: str, depth: int) -> str:
        w = self._w
        match kind:
            case "run":
                return self._run(self._text())
            case "mixed":
                return self._run(self._text() + f"<{w}:tab/>" + self._text() + self._drawing("inline") + self._text())
            case "point":
                return self._element(self._chance.choice(POINTS))
            case "in run":
                return self._run(self._element(self._chance.choice(IN_RUNS)))
            case "picture":
                return self._run(self._drawing(self._chance.choice(("inline", "anchor"))))
            case "page break":
                return self._run(f'<{w}:br {w}:type="page" n="{self._next()}"/>')
            case "removed":
                name = self._chance.choice(("del", "moveFrom"))
                text = "delText" if name == "del" else "t"
                return self._element(name, self._run(f"<{w}:{text}>{self._word(False)}</{w}:{text}>"))
            case "computed":
                inside = self._run(f"<{w}:t>{self._word(False)}</{w}:t>")
                if self._chance.random() < 0.5:
                    return self._element("fldSimple", inside, f'{w}:instr=" PAGE "')
                return self._field("DATE", inside)
            case "loose":
                return self._run(self._element("fldChar", "", f'{w}:fldCharType="end"'))
            case "box":
                return self._box(depth) if depth < 3 else ""
            case "empty":
                return f"<{w}:r/>"
            case "field":
                return self._field("HYPERLINK", self._inlines(depth + 1, is_nested=True))
            case "fldSimple":
                return self._element(kind, self._inlines(depth + 1, is_nested=True), f'{w}:instr=" REF a "')
            case "sdt":
                return self._element(
                    "sdt",
                    self._element("sdtPr") + self._element("sdtContent", self._inlines(depth + 1, is_nested=True)),
                )
            case "smartTag" | "customXml":
                return self._element(kind, self._element(f"{kind}Pr") + self._inlines(depth + 1, is_nested=True))
            case "ruby":
                base = self._element("rubyBase", self._run(self._text()))
                return self._run(self._element("ruby", self._element("rubyPr") + self._element("rt") + base))
            case _:
                return self._element(kind, self._inlines(depth + 1, is_nested=True))

    def _box(self, depth: int) -> str:
        inside = self.blocks(depth + 1)
        choice = f"<mc:Choice><wps:txbx><{self._w}:txbxContent>{inside}</{self._w}:txbxContent></wps:txbx></mc:Choice>"
        box = f"<v:textbox><{self._w}:txbxContent>{inside}</{self._w}:txbxContent></v:textbox>"
        fallback = f"<mc:Fallback><{self._w}:pict>{box}</{self._w}:pict></mc:Fallback>"
        return self._run(f"<mc:AlternateContent>{choice}{fallback}</mc:AlternateContent>")

    def _field(self, instruction: str, inside: str) -> str:
        w = self._w

        def character(kind: str) -> str:
            return self._run(self._element("fldChar", "", f'{w}:fldCharType="{kind}"'))

        code = self._run(f'<{w}:instrText n="{self._next()}"> {instruction} </{w}:instrText>')
        return character("begin") + code + character("separate") + inside + character("end")

    def _drawing(self, kind: str) -> str:
        description = f"The {self._word()}" if self._chance.random() < 0.5 else "picture.png"
        inside = f'<wp:{kind}><wp:docPr n="{self._next()}" descr="{description}" id="1"/></wp:{kind}>'
        return self._element("drawing", inside)

    def _run(self, inside: str) -> str:
        w = self._w
        return f"<{w}:r>{self._chance.choice(FORMATS).format(w=w)}{inside}</{w}:r>"

    def _text(self) -> str:
        space = self._chance.choice(("", " "))
        sign = self._chance.choice(("", ".", " &amp; 5"))
        return f'<{self._w}:t xml:space="preserve">{space}{self._word()}{sign}{space}</{self._w}:t>'

    def _element(self, name: str, inside: str = "", attributes: str = "") -> str:
        tag = f'{self._w}:{name} n="{self._next()}" {attributes}'.strip()
        return f"<{tag}>{inside}</{self._w}:{name}>" if inside else f"<{tag}/>"

    def _word(self, is_seen: bool = True) -> str:
        word = f"word{chr(97 + self._next() % 26)}{self._number}x"
        (self.seen if is_seen else self.unseen).append(word)
        return word

    def _next(self) -> int:
        self._number += 1
        return self._number


def word_file(seed: int) -> Built:
    """A file of a few parts."""
    chance = random.Random(seed)
    builder = Builder(chance, chance.choice((TRANSITIONAL, STRICT)), chance.choice(("w", "x1")))
    parts = {
        "word/document.xml": ("wordprocessingml.document.main", builder.part("document", builder.blocks(0))),
        "word/header7.xml": ("wordprocessingml.header", builder.part("hdr", builder.blocks(2))),
        "word/notes.xml": ("wordprocessingml.footnotes", builder.part("footnotes", builder.blocks(2))),
        "word/charts/chart1.xml": ("drawingml.chart", builder.part("chartSpace", builder.chart(), "c")),
    }
    types = "".join(
        f'<Override PartName="/{name}" ContentType="{TYPE}{item}+xml"/>' for name, (item, _) in parts.items()
    )
    encoding = chance.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16"))
    listed = f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{types}</Types>'
    data = packed(
        [("[Content_Types].xml", listed), *((name, text.encode(encoding)) for name, (_, text) in parts.items())]
    )
    return Built(data, builder.seen, builder.unseen)
