"""Excel files of generated structure, built by hand, with what a reader sees of them."""

import random

from tests.server.files.formats.files import packed
from tests.server.files.formats.ooxml_documents import Built

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
TYPE = "application/vnd.openxmlformats-officedocument."


def workbook(parts: dict[str, tuple[str, str]], calculation: str = "") -> bytes:
    """A file of parts: the name of each, its type and its content."""
    types = "".join(f'<Override PartName="/{name}" ContentType="{TYPE}{of}+xml"/>' for name, (of, _) in parts.items())
    listed = f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{types}</Types>'
    main = f'<workbook xmlns="{_MAIN}"><sheets><sheet name="Data"/></sheets>{calculation}</workbook>'
    contents = [(name, content.encode()) for name, (_, content) in parts.items()]
    return packed([("[Content_Types].xml", listed), ("xl/workbook.xml", main), *contents])


def sheet(body: str, namespace: str = _MAIN) -> tuple[str, str]:
    return "spreadsheetml.worksheet", f'<x:worksheet xmlns:x="{namespace}">{body}</x:worksheet>'


def strings(body: str, namespace: str = _MAIN) -> tuple[str, str]:
    return "spreadsheetml.sharedStrings", f'<sst xmlns="{namespace}">{body}</sst>'


def table(*columns: str) -> tuple[str, str]:
    names = "".join(f'<tableColumn id="{number}" name="{name}"/>' for number, name in enumerate(columns))
    return "spreadsheetml.table", f'<table xmlns="{_MAIN}"><tableColumns>{names}</tableColumns></table>'


class Builder:
    """Draws the parts of one file."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.seen: list[str] = []
        self.unseen: list[str] = []
        self._number = 0

    def strings(self, prefix: str = "") -> str:
        return "".join(self._string(prefix) for _ in range(self._chance.randint(1, 6)))

    def _string(self, x: str) -> str:
        match self._chance.randint(0, 3):
            case 0:
                inside = f"<{x}t>{self._word()}</{x}t>"
            case 1:
                inside = f'<{x}t xml:space="preserve"> {self._word()}\n{self._word()} &amp; 5 </{x}t>'
            case 2:
                runs = (f"<{x}rPr><{x}b n='{self._next()}'/></{x}rPr>", "")
                texts = (f"<{x}r>{self._chance.choice(runs)}<{x}t>{self._word()} </{x}t></{x}r>" for _ in range(3))
                inside = "".join(texts)
            case _:
                reading = f"<{x}rPh n='{self._next()}'><{x}t>{self._word(False)}</{x}t></{x}rPh>"
                inside = f"<{x}t>{self._word()}</{x}t>{reading}<{x}phoneticPr n='{self._next()}'/>"
        return f"<{x}si n='{self._next()}'>{inside}</{x}si>"

    def sheet(self) -> str:
        cells = [
            f'<x:c t="str"><x:f>A1&amp;A2</x:f><x:v>{self._word(False)}</x:v></x:c>',
            f'<x:c t="inlineStr"><x:is><x:t>{self._word()}</x:t></x:is></x:c>',
            "<x:c><x:v>4.5</x:v></x:c>",
            f'<x:hyperlink n="{self._next()}" tooltip="See {self._word()}"/>',
            f"<x:headerFooter><x:oddHeader>&amp;L{self._word()}</x:oddHeader></x:headerFooter>",
        ]
        return "".join(self._chance.choices(cells[2:], k=2)) + "".join(cells)

    def drawing(self) -> str:
        return f'<a:p xmlns:a="{_DRAWING}"><a:r><a:t>{self._word()}</a:t></a:r></a:p>'

    def chart(self) -> str:
        return f'<c:strCache xmlns:c="{_CHART}"><c:pt><c:v>{self._word()}</c:v></c:pt></c:strCache>'

    def _word(self, is_seen: bool = True) -> str:
        word = f"word{chr(97 + self._next() % 26)}{self._number}x"
        (self.seen if is_seen else self.unseen).append(word)
        return word

    def _next(self) -> int:
        self._number += 1
        return self._number


def excel_file(seed: int) -> Built:
    """A file of a few parts."""
    chance = random.Random(seed)
    builder, namespace = Builder(chance), chance.choice((_MAIN, _STRICT))
    comments = f'<comments xmlns="{namespace}"><text><t>{builder._word(False)}</t></text></comments>'
    data = workbook(
        {
            "xl/sharedStrings.xml": strings(builder.strings(), namespace),
            "xl/worksheets/sheet1.xml": sheet(builder.sheet(), namespace),
            "xl/worksheets/sheet2.xml": sheet("<x:c><x:v>1</x:v></x:c>", namespace),
            "xl/drawings/drawing1.xml": ("drawing", builder.drawing()),
            "xl/charts/chart1.xml": ("drawingml.chart", builder.chart()),
            "xl/comments1.xml": ("spreadsheetml.comments", comments),
        }
    )
    return Built(data, builder.seen, builder.unseen)
