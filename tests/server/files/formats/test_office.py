"""Office files come back whole: every byte but those of what was translated, every element inside of what it was in."""

import copy
import io
import itertools
import random
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docx
import pptx
import pytest
from docx.enum.text import WD_BREAK
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from lxml import etree
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from server.files.formats.base import FileTooLarge
from server.files.formats.registry import open_file
from server.text.base.placeholders import is_placeholder
from tests.server.files.formats.files import docx_of
from tests.server.files.formats.ooxml_documents import word_file

LIMIT = 1_000_000
MANY = pytest.mark.parametrize("seed", range(60))
TEXT = ("r", "t", "rPr")
IN_ORDER = ("bookmarkStart", "bookmarkEnd", "commentRangeStart", "commentRangeEnd", "permStart")


def _local_name(element: Any) -> str:
    """The name of an element without its namespace; "" for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_parts(data: bytes, parts: dict[str, str]) -> bytes:
    """The archive with more parts."""
    packed = io.BytesIO(data)
    with zipfile.ZipFile(packed, "a") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


def elements(part: bytes) -> Iterator[Any]:
    """All but runs, their formatting and text."""
    for item in etree.fromstring(part).iter():
        if _local_name(item) not in TEXT and not any(_local_name(around) == "rPr" for around in item.iterancestors()):
            yield item


def around(element: Any) -> tuple[str, str]:
    """The nearest element that is no run: its name and number."""
    outer = next((ancestor for ancestor in element.iterancestors() if _local_name(ancestor) not in TEXT), None)
    return ("", "") if outer is None else (_local_name(outer), outer.get("n", ""))


def paragraph_of(element: Any) -> str:
    """The number of the paragraph around."""
    return next((ancestor.get("n", "") for ancestor in element.iterancestors() if _local_name(ancestor) == "p"), "")


def fields(part: bytes) -> Counter[tuple[str, ...]]:
    """The numbers of what begins, divides and ends every field."""
    result = Counter[tuple[str, ...]]()
    is_open: dict[str, list[list[str]]] = {}
    for element in elements(part):
        if _local_name(element) in ("fldChar", "instrText"):
            paragraph = paragraph_of(element)
            kind = next((value for name, value in element.items() if name.endswith("fldCharType")), "")
            stack = is_open.setdefault(paragraph, [])
            if kind == "begin":
                stack.append([])
            if stack:
                stack[-1].append(element.get("n", ""))
            if kind == "end" and stack:
                result[tuple(stack.pop())] += 1
    return result


def translated(data: bytes, translate: Callable[[str], str]) -> bytes:
    opened = open_file(data, "a.docx", "de", LIMIT)
    return opened.write([translate(text) for text in opened.texts])


@MANY
def test_what_is_translated_into_itself_is_the_file(seed: int) -> None:
    file = word_file(seed)
    assert translated(file.data, lambda text: text) == file.data


@MANY
def test_whatever_the_translation_says_all_elements_stay_where_they_were(seed: int) -> None:
    """Also where placeholders are lost, come twice, or in any order."""
    file, chance = word_file(seed), random.Random(seed)

    copies: dict[str, int] = {}
    whole = " ".join(part.replace(b"\x00", b"").decode(errors="replace") for part in parts_of(file.data).values())

    def anything(text: str) -> str:
        tokens = [token for token in re.split(r"(\W)", text) if token]
        for _ in range(chance.randint(0, 3)):
            change = chance.randint(0, 3)
            place = chance.randrange(len(tokens))
            if change == 0:
                chance.shuffle(tokens)
            elif change == 1 and is_placeholder(tokens[place]):
                tokens[place] = "lost"
            elif change == 2:
                tokens.insert(place, chance.choice(tokens))
            else:
                tokens.insert(place, "\n" if chance.random() < 0.3 else " <new> ")
        for _ in range(3):
            name = f"new{len(copies)}n"
            tokens.insert(chance.randint(0, len(tokens)), f" {name} ")
            copies[name] = whole.count(re.findall(r"word[a-z][0-9]+x", text)[0])
        return "".join(tokens)

    before, after = parts_of(file.data), parts_of(translated(file.data, anything))
    assert before.keys() == after.keys()
    written = " ".join(part.replace(b"\x00", b"").decode(errors="replace") for part in after.values())
    assert {name: written.count(name) for name in copies} == copies, "every word is written once"
    for name, part in before.items():
        ours, theirs = list(elements(part)), list(elements(after[name]))
        assert Counter((our.tag, our.get("n")) for our in ours) == Counter(
            (their.tag, their.get("n")) for their in theirs
        )
        assert Counter((our.tag, our.get("n"), around(our)) for our in ours) == Counter(
            (their.tag, their.get("n"), around(their)) for their in theirs
        )
        orders = [
            sorted((paragraph_of(item), place) for place, item in enumerate(every) if _local_name(item) in IN_ORDER)
            for every in (ours, theirs)
        ]
        numbers = [
            [every[place].get("n") for _, place in order] for order, every in zip(orders, (ours, theirs), strict=True)
        ]
        assert numbers[0] == numbers[1]
        assert fields(part) == fields(after[name])


@MANY
def test_what_a_reader_sees_is_translated_and_nothing_else(seed: int) -> None:
    file = word_file(seed)
    opened = open_file(file.data, "a.docx", "de", LIMIT)
    offered = Counter(re.findall(r"word[a-z][0-9]+x", " ".join(opened.texts)))
    assert set(file.seen) == set(offered)
    assert all(count == 1 for count in offered.values()), "the copies of a box are one text"
    after = (
        b" ".join(parts_of(translated(file.data, str.upper)).values()).replace(b"\x00", b"").decode(errors="replace")
    )
    for word in file.seen:
        assert word not in after
        assert word.upper() in after
    for word in file.unseen:
        assert word in after


@MANY
def test_bytes_round_a_translated_paragraph_stay(seed: int) -> None:
    file = word_file(seed)
    opened = open_file(file.data, "a.docx", "de", LIMIT)
    number = random.Random(seed).randrange(len(opened.texts))
    texts = list(opened.texts)
    words = re.findall(r"word[a-z][0-9]+x", texts[number])
    texts[number] = texts[number].upper()
    before, after = parts_of(file.data), parts_of(opened.write(texts))
    for name, part in before.items():
        if not any(word in part.replace(b"\x00", b"").decode(errors="replace") for word in words):
            assert after[name] == part
            continue
        old, new = (item.decode("utf-16" if item[:2] == b"\xff\xfe" else "utf-8") for item in (part, after[name]))
        for start, end in outermost_paragraphs(old):
            if not any(word in old[start:end] for word in words):
                assert old[start:end] in new
        gaps = [old[end:start] for (_, end), (start, _) in itertools.pairwise(outermost_paragraphs(old))]
        assert all(gap in new for gap in gaps)


def formatted(size: int, name: str = "noProof") -> str:
    """Formatting of `size` bytes that cannot be seen."""
    return f'<w:rPr><w:{name} w:val="{"a" * size}"/></w:rPr>'


@pytest.mark.parametrize(
    ("language", "changed"),
    [("de", 'w:val="de" w:eastAsia="ja-JP" w:bidi="ar-SA"'), ("en", ""), ("ja-JP", ""), ("he", 'w:bidi="he"')],
)
def test_the_styles_of_word_have_the_language_of_the_translation(language: str, changed: str) -> None:
    styles = '<w:docDefaults><w:lang w:val="en-US" w:eastAsia="ja-JP" w:bidi="ar-SA"/></w:docDefaults>'
    given = with_parts(
        docx_of("<w:p><w:r><w:t>words</w:t></w:r></w:p>"),
        {"word/styles.xml": f"<w:styles {nsdecls('w')}>{styles}</w:styles>"},
    )
    opened = open_file(given, "a.docx", language, LIMIT)
    assert parts_of(opened.write(["words"]))["word/styles.xml"] == parts_of(given)["word/styles.xml"]
    written = parts_of(opened.write(["WORDS"]))["word/styles.xml"].decode()
    assert (changed in written) if changed else written == parts_of(given)["word/styles.xml"].decode()


NOTE = '<w:r><w:footnoteReference w:id="1"/></w:r>'


@pytest.mark.parametrize("name", ["noProof", "lang"])
@pytest.mark.parametrize("visible", ["", "<w:b/>"])
@pytest.mark.parametrize("place", [0, 7, 199])
def test_large_formatting_that_cannot_be_seen_is_not_repeated(place: int, visible: str, name: str) -> None:
    """Neither for texts of the plain formatting nor for those of another."""
    runs = [f"<w:r><w:rPr>{visible}</w:rPr><w:t>word </w:t></w:r>{NOTE}" for _ in range(200)]
    runs[place] = (
        f"<w:r>{formatted(20_000, name).replace('</w:rPr>', f'{visible}</w:rPr>')}<w:t>word </w:t></w:r>{NOTE}"
    )
    plain = f"<w:r><w:t>{'most of it ' * 200}</w:t></w:r>"
    data = docx_of(f"<w:p>{''.join(runs)}{plain}</w:p>")
    before, after = (parts_of(file)["word/document.xml"] for file in (data, translated(data, str.upper)))
    assert len(after) < 1.5 * len(before)
    assert after.count(b"WORD") == 200


def test_large_formatting_of_many_pieces_is_refused() -> None:
    """Each piece may be written with a copy of it."""
    pieces = '<w:t>word </w:t><w:footnoteReference w:id="1"/>' * 2000
    with pytest.raises(FileTooLarge, match="formatting"):
        open_file(docx_of(f"<w:p><w:r>{formatted(400_000)}{pieces}</w:r></w:p>"), "a.docx", "de", LIMIT)


def outermost_paragraphs(part: str) -> list[tuple[int, int]]:
    """Where paragraphs are that are in no other."""
    results: list[tuple[int, int]] = []
    depth = start = 0
    for match in re.finditer(r"<(/?)\w+:p(?: [^>]*[^/])?>", part):
        if match[1]:
            depth -= 1
            if not depth:
                results.append((start, match.end()))
        else:
            start = match.start() if not depth else start
            depth += 1
    return results


def field(instruction: str, result: str) -> str:
    kinds = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    begin, separate, end = kinds
    code = f"<w:r><w:instrText>{instruction}</w:instrText></w:r>"
    return f"{begin}{code}{separate}<w:r><w:t>{result}</w:t></w:r>{end}"


def report() -> bytes:
    """A Word file as programs read it: pages, page numbers, a link, content controls, changes, a table, a header."""
    document, packed = docx.Document(), io.BytesIO()
    document.add_heading("The harbour", 1)
    document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
    document.add_table(1, 1).cell(0, 0).text = "In a cell"
    document.sections[0].header.paragraphs[0].text = "The header"
    for body in (
        f'<w:r><w:t xml:space="preserve">Page </w:t></w:r>{field("PAGE", "1")}',
        "<w:r><w:t>Chapter one</w:t><w:br w:type='page'/><w:t>Chapter two</w:t></w:r>",
        "<w:sdt><w:sdtContent><w:r><w:t>Controlled words</w:t></w:r></w:sdtContent></w:sdt>",
        f"<w:ins w:id='1' w:author='a'><w:r><w:t>Inserted words</w:t></w:r></w:ins>{field('HYPERLINK a', 'a link')}",
    ):
        document.element.body.insert(1, parse_xml(f"<w:p {nsdecls('w')}>{body}</w:p>"))
    document.save(packed)
    return packed.getvalue()


def presentation() -> bytes:
    """Slides with a chart, a table, shapes in a group and notes."""
    made, packed = pptx.Presentation(), io.BytesIO()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "The title"
    data: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["Apples here", "Pears there"]
    data.add_series("Fruit sold", (1, 2))
    place = (Inches(1), Inches(2), Inches(4), Inches(2))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *place, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "The chart"
    slide.shapes.add_table(1, 1, *place).table.cell(0, 0).text = "In a cell"
    slide.shapes.add_group_shape().shapes.add_textbox(*place).text_frame.text = "In a group"
    slide.notes_slide.notes_text_frame.text = "A note"
    made.save(packed)
    return packed.getvalue()


def test_charts_and_groups_of_slides_are_translated() -> None:
    data = presentation()
    assert open_file(data, "a.pptx", "de", LIMIT).write(open_file(data, "a.pptx", "de", LIMIT).texts) == data
    opened = open_file(data, "a.potx", "de", LIMIT)
    slide = pptx.Presentation(io.BytesIO(opened.write([text.upper() for text in opened.texts]))).slides[0]
    shapes = list(slide.shapes)
    chart = next(shape.chart for shape in shapes if shape.has_chart)
    assert chart.chart_title.text_frame.text == "THE CHART"
    assert [list(plot.categories) for plot in chart.plots] == [["APPLES HERE", "PEARS THERE"]]
    assert [entry.name for entry in chart.plots[0].series] == ["FRUIT SOLD"]
    assert slide.notes_slide.notes_text_frame.text == "A NOTE"
    assert next(shape for shape in shapes if shape.has_table).table.cell(0, 0).text == "IN A CELL"


def test_masters_are_translated_but_for_the_places_of_texts() -> None:
    """Words that every slide shows; nobody sees what stands in a place for a slide's own text."""
    made, packed = pptx.Presentation(), io.BytesIO()
    place = (Inches(1), Inches(2), Inches(4), Inches(2))
    for shapes, text in ((made.slide_master.shapes, "For all of us"), (made.slide_layouts[5].shapes, "For some of us")):
        shape = copy.deepcopy(made.slides.add_slide(made.slide_layouts[6]).shapes.add_textbox(*place)._element)
        shape.txBody.p_lst[0].add_r().text = text
        shapes._spTree.append(shape)
    made.slide_master.placeholders[0].text_frame.text = "Click to edit"
    made.save(packed)
    opened = open_file(packed.getvalue(), "a.pptx", "de", LIMIT)
    assert sorted(opened.texts) == ["For all of us", "For some of us"]
    after = pptx.Presentation(io.BytesIO(opened.write([text.upper() for text in opened.texts])))
    assert after.slide_master.shapes[-1].text_frame.text in {text.upper() for text in opened.texts}
    assert after.slide_master.placeholders[0].text_frame.text == "Click to edit"


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize(("data", "name"), [(report(), "a.docx"), (presentation(), "a.pptx")])
def test_libreoffice_opens_what_is_written(data: bytes, name: str, tmp_path: Path) -> None:
    """With as many pages and pictures as before, and every word translated."""
    opened = open_file(data, name, "de", LIMIT)
    files = [tmp_path / f"{when}{name[1:]}" for when in ("before", "after")]
    for file, texts in zip(files, (opened.texts, [text.upper() for text in opened.texts]), strict=True):
        file.write_bytes(opened.write(texts))
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/profile", "--convert-to"]
    for kind in ["pdf", "txt:Text"] if name == "a.docx" else ["pdf"]:
        subprocess.run([*command, kind, "--outdir", tmp_path, *files], check=True, capture_output=True)
    results = []
    for file in files:
        pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", file.with_suffix(".pdf").read_bytes()))
        written = file.with_suffix(".txt")
        results.append((pages, written.read_text("utf-8-sig") if written.exists() else ""))
    (pages, before), (pages_after, after) = results
    assert pages == pages_after > 0
    assert after == before.upper()
