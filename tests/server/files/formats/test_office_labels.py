"""What a reader sees of Office files outside of paragraphs: numbers of lists, forms, equations, names of sections; and
what is said of the parts that stay."""

import io
import re

import pptx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.registry import open_file
from tests.server.files.formats.files import docx_of, packed
from tests.server.files.formats.odf_documents import opendocument
from tests.server.files.formats.ooxml_documents import TRANSITIONAL
from tests.server.files.formats.sheets import sheet, strings, workbook
from tests.server.files.formats.small import LIMIT, texts, translated
from tests.server.files.formats.test_office import parts_of

W, MATH = TRANSITIONAL["w"], "http://schemas.openxmlformats.org/officeDocument/2006/math"
WORD = "<w:p><w:r><w:t>One.</w:t></w:r></w:p>"


def with_part(name: str, content: str) -> bytes:
    return packed([*parts_of(docx_of(WORD)).items(), (name, content)])


def numbering(*levels: str) -> bytes:
    inside = "".join(f'<w:lvl><w:lvlText w:val="{level}"/></w:lvl>' for level in levels)
    return with_part("word/numbering.xml", f'<w:numbering xmlns:w="{W}">{inside}</w:numbering>')


def test_words_round_numbers_of_lists_are_translated_and_signs_stay() -> None:
    data = numbering("Article %1", "%1.%2", "o", "\uf0b7", "Q%1", "Section %1.%2 of the book", "Wingdings", "%1st")
    assert texts(data, "a.docx") == ["One.", "Article %1", "Section %1.%2 of the book"]
    after = parts_of(translated(data, "a.docx"))["word/numbering.xml"].decode()
    assert re.findall('val="([^"]*)"', after)[0::5] == ["ARTICLE %1", "SECTION %1.%2 OF THE BOOK"]


@given(st.permutations(["%1", "%2", "Part", "of"]), st.lists(st.sampled_from(["%1", "%2", "%3", "Teil", "<&>"])))
def test_a_number_of_a_list_is_never_lost(source: list[str], target: list[str]) -> None:
    data = numbering(" ".join(source))
    opened = open_file(data, "a.docx", "de", LIMIT)
    after = opened.write([opened.texts[0], " ".join(target)])
    shown = re.findall('val="([^"]*)"', parts_of(after)["word/numbering.xml"].decode())[0]
    numbers = [sorted(part for part in parts if part.startswith("%")) for parts in (source, target)]
    assert (shown == " ".join(source)) == (numbers[0] != numbers[1])


def test_placeholders_of_content_controls_are_translated() -> None:
    name = '<w:docPartPr><w:name w:val="A name"/></w:docPartPr>'
    body = f"<w:docPart>{name}<w:docPartBody>{WORD.replace('One', 'Click here')}</w:docPartBody></w:docPart>"
    glossary = f'<w:glossaryDocument xmlns:w="{W}"><w:docParts>{body}</w:docParts></w:glossaryDocument>'
    data = with_part("word/glossary/document.xml", glossary)
    after = parts_of(translated(data, "a.docx"))["word/glossary/document.xml"].decode()
    assert "CLICK HERE." in after
    assert 'w:val="A name"' in after


def test_old_forms_and_alternative_texts_of_old_drawings() -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:helpText w:type="text" w:val="Help for it"/>'
        '<w:ddList><w:listEntry w:val="{}"/></w:ddList></w:ffData></w:fldChar></w:r>'
    )
    shape = '<w:r><w:pict><v:shape xmlns:v="v" alt="A small boat" title="boat.png"/></w:pict></w:r>'
    data = docx_of(f"<w:p>{field.format('Green')}{shape}</w:p>{WORD}")
    after = parts_of(translated(data, "a.docx"))["word/document.xml"].decode()
    for expected in ('val="HELP FOR IT"', 'val="GREEN"', 'alt="A SMALL BOAT" title="boat.png"'):
        assert expected in after
    opened = open_file(data, "a.docx", "de", LIMIT)
    long = parts_of(opened.write(["very long " * 30 for _ in opened.texts]))["word/document.xml"].decode()
    assert 'val="Help for it"' in long, "Word refuses files with longer ones"


@pytest.mark.parametrize(("setting", "is_text"), [("<m:nor/>", True), ('<m:nor m:val="0"/>', False), ("", False)])
def test_words_in_equations(setting: str, is_text: bool) -> None:
    run = f"<m:r><m:rPr>{setting}</m:rPr><m:t>speed of {{}}</m:t></m:r><m:r><m:t>velocity</m:t></m:r>"
    equation = f'<m:oMath xmlns:m="{MATH}">{run}</m:oMath>'
    data = docx_of(f"<w:p><w:r><w:t>Where </w:t></w:r>{equation.format('light')}<w:r><w:t> is large.</w:t></w:r></w:p>")
    assert ("speed of light" in texts(data, "a.docx")) == is_text
    after = parts_of(translated(data, "a.docx"))["word/document.xml"].decode()
    assert ("SPEED OF LIGHT" in after) == is_text
    assert "<m:t>velocity</m:t>" in after
    assert " IS LARGE." in after


def test_names_of_sections_and_shows_and_masters_of_handouts() -> None:
    file = io.BytesIO()
    presentation = pptx.Presentation()
    presentation.slides.add_slide(presentation.slide_layouts[0]).shapes.title.text = "A title"
    presentation.save(file)
    parts = parts_of(file.getvalue())
    names = '<p:custShow name="Short show" id="0"/><x:section xmlns:x="x" name="Beginning"/></p:presentation>'
    parts["ppt/presentation.xml"] = parts["ppt/presentation.xml"].replace(b"</p:presentation>", names.encode())
    text = f'<p:x xmlns:p="p" xmlns:a="{TRANSITIONAL["a"]}"><a:p><a:r><a:t>{{}} words</a:t></a:r></a:p></p:x>'
    parts["ppt/handoutMasters/handoutMaster1.xml"] = text.format("Handout").encode()
    types = parts["[Content_Types].xml"].decode()
    kind = "application/vnd.openxmlformats-officedocument.presentationml.handoutMaster+xml"
    override = f'<Override PartName="/ppt/handoutMasters/handoutMaster1.xml" ContentType="{kind}"/></Types>'
    parts["[Content_Types].xml"] = types.replace("</Types>", override).encode()
    after = parts_of(translated(packed(list(parts.items())), "a.pptx"))
    assert (
        names.replace("Short show", "SHORT SHOW").replace("Beginning", "BEGINNING")
        in after["ppt/presentation.xml"].decode()
    )
    assert after["ppt/handoutMasters/handoutMaster1.xml"].decode() == text.format("Handout").replace(
        "Handout words", "HANDOUT WORDS"
    )


@pytest.mark.parametrize(
    ("element", "notes"),
    [
        ('<w:altChunk r:id="a"/>', ["files that are inserted into the text were not translated"]),
        ('<w:object><o:OLEObject xmlns:o="o"/></w:object>', ["embedded objects were not translated"]),
        ("<w:p/>", []),
    ],
)
def test_what_stays_is_said(element: str, notes: list[str]) -> None:
    data = docx_of(WORD + element.replace("r:id", "id"))
    assert open_file(data, "a.docx", "de", LIMIT).notes == notes


@pytest.mark.parametrize(
    ("formula", "is_said"),
    [
        ('IF(C2="open","still open","now closed")', True),
        ('IF(C2,"still open",1)', True),
        ('A1&amp;" is the day"', True),
        ('HYPERLINK("http://a.b/c")', False),
        ('IF(C2="open",1,2)', False),
        ('COUNTIF(C2:C4,"open")', False),
        ('VLOOKUP("apples",A1:B20,2,0)', False),
        ('TEXT(A9,"yyyy-mm-dd hh:mm AM/PM")', False),
        ("SUM(A1:A2)", False),
    ],
)
def test_words_that_formulas_show_are_said(formula: str, is_said: bool) -> None:
    note = "words inside of formulas were not translated"
    string = strings("<si><t>A word</t></si>")
    book = workbook({"xl/sharedStrings.xml": string, "xl/worksheets/sheet1.xml": sheet(f"<x:f>{formula}</x:f>")})
    assert (note in open_file(book, "a.xlsx", "de", LIMIT).notes) == is_said
    cell = f"<table:table-cell table:formula='of:={formula.replace(',', ';')}'/><text:p>A word</text:p>"
    table = f"<table:table><table:table-row>{cell}</table:table-row></table:table>"
    assert (note in open_file(opendocument(table), "a.ods", "de", LIMIT).notes) == is_said
