"""OpenDocument files come back whole: every byte but those of what was translated."""

import contextlib
import io
import random
import re
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pptx
import pytest
from lxml import etree

from server.files.formats.base import DamagedFile, FileTooLarge, NoText
from server.files.formats.registry import open_file
from server.text.base.placeholders import is_placeholder
from tests.server.files.formats.files import packed
from tests.server.files.formats.odf_documents import odf_file, opendocument, part
from tests.server.files.formats.test_office import presentation

LIMIT = 1_000_000
MANY = pytest.mark.parametrize("seed", range(60))
IN_ORDER = re.compile(r".*\}(?:bookmark|reference-mark|change|annotation)(?:-start|-end)?")


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def translated(data: bytes, translate: Callable[[str], str], language: str = "de") -> bytes:
    """The file itself if it has no text."""
    try:
        opened = open_file(data, "a.odt", language, LIMIT)
    except NoText:
        return data
    return opened.write([translate(text) for text in opened.texts])


def texts_of(body: str, kind: str = "text") -> list[str]:
    return texts_in(opendocument(body, kind=kind))


def texts_in(data: bytes) -> list[str]:
    with contextlib.suppress(NoText):
        return list(open_file(data, "a.odt", "de", LIMIT).texts)
    return []


def elements(content: bytes) -> Iterator[Any]:
    return (element for element in etree.fromstring(content).iter() if element.get("n"))


def around(element: Any) -> str:
    return next((ancestor.get("n") for ancestor in element.iterancestors() if ancestor.get("n")), "")


def paragraph_of(element: Any) -> str:
    return next((ancestor.get("n") for ancestor in element.iterancestors() if ancestor.tag.endswith(("}p", "}h"))), "")


@MANY
def test_what_is_translated_into_itself_is_the_file(seed: int) -> None:
    file = odf_file(seed)
    assert translated(file.data, lambda text: text) == file.data


@MANY
def test_whatever_the_translation_says_all_elements_stay_where_they_were(seed: int) -> None:
    """Also where placeholders are lost, come twice, or in any order."""
    file, chance = odf_file(seed), random.Random(seed)

    def anything(text: str) -> str:
        tokens = [token for token in re.split(r"(\W)", text) if token]
        for _ in range(chance.randint(0, 3)):
            change, place = chance.randint(0, 3), chance.randrange(len(tokens))
            if change == 0:
                chance.shuffle(tokens)
            elif change == 1 and is_placeholder(tokens[place]):
                tokens[place] = "lost"
            elif change == 2:
                tokens.insert(place, chance.choice(tokens))
            else:
                tokens.insert(place, "\n" if chance.random() < 0.3 else ' <new> & "\x00')
        return "".join(tokens)

    before, after = parts_of(file.data), parts_of(translated(file.data, anything))
    assert list(before) == list(after)
    for name in ("content.xml", "styles.xml"):
        ours, theirs = list(elements(before[name])), list(elements(after[name]))
        assert Counter((our.tag, our.get("n"), around(our)) for our in ours) == Counter(
            (their.tag, their.get("n"), around(their)) for their in theirs
        )
        orders = [
            sorted((paragraph_of(item), place) for place, item in enumerate(every) if IN_ORDER.fullmatch(item.tag))
            for every in (ours, theirs)
        ]
        numbers = [
            [every[place].get("n") for _, place in order] for order, every in zip(orders, (ours, theirs), strict=True)
        ]
        assert numbers[0] == numbers[1]


@MANY
def test_what_a_reader_sees_is_translated_and_nothing_else(seed: int) -> None:
    file = odf_file(seed)
    offered = Counter(re.findall(r"word[a-z][0-9]+x", " ".join(texts_in(file.data))))
    assert offered == Counter(file.seen)
    after = b" ".join(parts_of(translated(file.data, str.upper)).values()).decode(errors="replace")
    assert not any(word in after for word in file.seen)
    assert all(word.upper() in after for word in file.seen)
    assert all(word in after for word in file.unseen)


@MANY
def test_other_parts_keep_their_packed_bytes_and_the_type_is_first(seed: int) -> None:
    file = odf_file(seed)
    after = translated(file.data, str.upper)
    assert after[:77] == file.data[:77], "its programs recognise the file by these bytes"
    before, changed = (zipfile.ZipFile(io.BytesIO(data)) for data in (file.data, after))
    assert [(info.filename, info.compress_type) for info in before.infolist()] == [
        (info.filename, info.compress_type) for info in changed.infolist()
    ]
    assert before.read("Pictures/a.png") == changed.read("Pictures/a.png")


def test_spaces_are_read_as_programs_read_them() -> None:
    body = "<text:p>\n  One<text:s/>two <text:s text:c='4'/>three\n four<text:tab/>five</text:p>"
    assert texts_of(body) == ["One two three four\tfive"]
    after = parts_of(translated(opendocument(body), str.upper))["content.xml"].decode()
    assert "TWO<text:s text:c='4'/> THREE" in after
    assert "FOUR<text:tab/>FIVE" in after


@pytest.mark.parametrize(
    ("language", "western", "asian"),
    [("de", b'fo:language="de" fo:country="none"', b'"zh"'), ("pt-BR", b'fo:language="pt" fo:country="BR"', b'"zh"'),
     ("ja", b'fo:language="en" fo:country="US"', b'"ja"')],
)  # fmt: skip
def test_the_language_is_the_targets(language: str, western: bytes, asian: bytes) -> None:
    after = parts_of(translated(opendocument("<text:p>Words</text:p>"), str.upper, language))
    assert western in after["styles.xml"]
    assert b"style:language-asian=" + asian in after["styles.xml"]
    assert f"<dc:language>{language}</dc:language>".encode() in after["meta.xml"]


def cell(value: str, attributes: str = "") -> str:
    return f'<table:table-cell office:value-type="string" {attributes}><text:p>{value}</text:p></table:table-cell>'


def test_words_that_formulas_compare_with_stay() -> None:
    formula = 'table:formula="of:=COUNTIF([.A1:.A9];&quot;Open&quot;)" office:value-type="float"'
    cells = cell("open") + cell("Closed") + f"<table:table-cell {formula}><text:p>2 cells</text:p></table:table-cell>"
    assert texts_of(f"<table:table><table:table-row>{cells}</table:table-row></table:table>", "spreadsheet") == [
        "Closed"
    ]


def test_what_stays_is_said() -> None:
    formula = "<table:table-cell table:formula='of:=[.A1]=\"Yes\"'/>"
    data = opendocument(
        f"<text:p>One<office:annotation><text:p>x</text:p></office:annotation></text:p>{cell('Yes')}{formula}"
    )
    notes = open_file(data, "a.ods", "de", LIMIT).notes
    assert [note.split()[0] for note in notes] == ["1", "comments"]


def test_a_cell_and_its_value_are_one_text() -> None:
    data = opendocument(cell("Sold out", 'office:string-value="Sold out"'), kind="spreadsheet")
    assert open_file(data, "a.ods", "de", LIMIT).texts == ["Sold out"]
    after = parts_of(translated(data, lambda text: '"Ausverkauft" & <mehr>'))["content.xml"]
    value = etree.fromstring(after).find(".//{*}table-cell")
    assert value is not None
    assert [item for name, item in value.items() if name.endswith("string-value")] == ["".join(value.itertext())]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("META-INF/manifest.xml", "<m:m xmlns:m='m'><m:encryption-data/></m:m>"), ("content.xml", "x")], "encrypted"),
        ([("settings.xml", "<a/>")], "it has no content.xml"),
        ([("content.xml", "<a>" * 300 + "</a>" * 300)], "inside each other"),
        ([("content.xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")], "declares entities"),
        ([("content.xml", part("a", "<text:p>" * 20 + "</text:p>" * 20))], "more than 10 deep"),
    ],
)
def test_what_is_refused(parts: list[tuple[str, str | bytes]], message: str) -> None:
    with pytest.raises(DamagedFile, match=message):
        open_file(packed(parts), "a.odt", "de", LIMIT)


def test_sheets_of_many_cells_are_bounded() -> None:
    """Empty and numeric cells cost their bytes alone; cells of words are counted."""
    numbers = '<table:table-cell office:value-type="float"><text:p>1</text:p></table:table-cell>' * 5000
    data = opendocument(f"<table:table><table:table-row>{numbers}{cell('A word')}</table:table-row></table:table>")
    assert open_file(data, "a.ods", "de", LIMIT).texts == ["A word"]
    with pytest.raises(FileTooLarge, match="texts"):
        open_file(opendocument("".join(cell(f"a{n}") for n in range(5000))), "a.ods", "de", 20_000)


PAGE = (
    "<h1>The harbour</h1><p>We <b>walk home</b> in the <a href='http://a.b/'>rain</a>.<br>Late.</p><ul><li>One</ul>"
    "<table border=1><tr><td>In a cell<td>4.5</table>"
)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where LibreOffice keeps its settings."""
    return f"-env:UserInstallation=file://{tmp_path_factory.mktemp('profile')}"


def convert(files: Sequence[Path], kind: str, profile: str) -> list[Path]:
    """The files as LibreOffice writes them in another format."""
    command = [
        "soffice",
        "--headless",
        profile,
        "--convert-to",
        kind,
        "--outdir",
        str(files[0].parent),
        *map(str, files),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return [file.with_suffix("." + kind.partition(":")[0]) for file in files]


def words_in(file: Path) -> str:
    if file.suffix != ".pptx":
        return file.read_text("utf-8-sig")
    shapes = [shape for slide in pptx.Presentation(str(file)).slides for shape in slide.shapes]
    return "\n".join(shape.text_frame.text for shape in shapes if shape.has_text_frame)


needs_calc = pytest.mark.skipif(not list(Path("/").glob("usr/lib*/libreoffice/program/libsclo.so")), reason="no Calc")


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
@pytest.mark.parametrize(
    ("name", "data", "kind", "seen"),
    [
        ("page.html", PAGE.encode(), "odt:writer8", "txt:Text"),
        ("slides.pptx", presentation(), "odp", "pptx"),
        pytest.param("sheet.csv", b'A word,"Sold, out",4\nMore,=1+1,2024-01-02\n', "ods", "csv", marks=needs_calc),
    ],
)
def test_libreoffice_reads_the_same_words_translated(
    name: str, data: bytes, kind: str, seen: str, tmp_path: Path, profile: str
) -> None:
    """In files that it has written itself."""
    (tmp_path / name).write_bytes(data)
    [before] = convert([tmp_path / name], kind, profile)
    opened = open_file(before.read_bytes(), before.name, "de", LIMIT)
    assert opened.write(opened.texts) == before.read_bytes()
    after = before.with_stem("after")
    after.write_bytes(opened.write([text.upper() for text in opened.texts]))
    words, words_after = map(words_in, convert([before, after], seen, profile))
    assert words_after == words.upper() != words
