"""Excel files come back whole, and nothing that is compared with a translated cell has other words than it."""

import io
import random
import re
import zipfile
from collections import Counter
from collections.abc import Callable

import pytest
from lxml import etree

from server.files.formats.base import DamagedFile, FileTooLarge, OpenedFile
from server.files.formats.registry import open_file
from tests.server.files.formats.files import packed
from tests.server.files.formats.sheets import excel_file, sheet, strings, table, workbook

MANY = pytest.mark.parametrize("seed", range(40))


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def opened(data: bytes) -> OpenedFile:
    return open_file(data, "a.xlsx", "de", 1_000_000)


def translated(data: bytes, translate: Callable[[str], str]) -> dict[str, bytes]:
    file = opened(data)
    return parts_of(file.write([translate(text) for text in file.texts]))


def numbered(part: bytes) -> Counter[tuple[str, str]]:
    return Counter((item.tag, item.get("n")) for item in etree.fromstring(part).iter() if item.get("n"))


@MANY
def test_what_is_translated_into_itself_is_the_file(seed: int) -> None:
    file = excel_file(seed)
    assert opened(file.data).write(opened(file.data).texts) == file.data


@MANY
def test_what_a_reader_sees_is_translated_and_nothing_else(seed: int) -> None:
    file = excel_file(seed)
    offered = Counter(re.findall(r"word[a-z][0-9]+x", " ".join(opened(file.data).texts)))
    assert offered == Counter(set(file.seen) & set(offered))
    after = b" ".join(translated(file.data, str.upper).values()).decode(errors="replace")
    used = b" ".join(parts_of(file.data).values()).decode(errors="replace")
    assert not any(word in after for word in file.seen)
    assert all(word.upper() in after for word in file.seen if word in used)
    assert all(word in after for word in file.unseen if word in used)


@MANY
def test_whatever_the_translation_says_all_elements_stay(seed: int) -> None:
    file, chance = excel_file(seed), random.Random(seed)

    def anything(text: str) -> str:
        tokens = [*re.split(r"(\W)", text), ' <new> & "\x00', "\n"]
        chance.shuffle(tokens)
        return "".join(tokens[: chance.randint(1, len(tokens))])

    before, after = parts_of(file.data), translated(file.data, anything)
    assert list(before) == list(after)
    for name in ("xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"):
        lost = ("b",)  # the formatting of a run without words
        ours, theirs = ({key: n for key, n in numbered(part).items() if not key[0].endswith(lost)} for part in
                        (before[name], after[name]))  # fmt: skip
        assert ours == theirs
    for name in ("xl/worksheets/sheet2.xml", "xl/comments1.xml", "[Content_Types].xml"):
        assert before[name] == after[name]


def test_lines_and_spaces_of_cells_stay() -> None:
    data = workbook({"xl/sharedStrings.xml": strings("<si><t xml:space='preserve'> One\ntwo </t></si>")})
    assert opened(data).texts == [" One\ntwo "]
    after = translated(data, str.upper)["xl/sharedStrings.xml"]
    assert b'<t xml:space="preserve"> ONE\nTWO </t>' in after


def cells(*words: str) -> tuple[str, str]:
    return strings("".join(f"<si><t>{word}</t></si>" for word in words))


@pytest.mark.parametrize(
    "compared",
    [
        '<x:f>COUNTIF(A:A,"Open")</x:f>', "<x:formula>A1=&quot;OPEN&quot;</x:formula>", '<x:filter val="Open"/>',
        '<x:formula1>"Open, Closed"</x:formula1>', '<x:customFilter operator="equal" val="Open"/>',
    ],
)  # fmt: skip
def test_words_that_are_compared_with_cells_stay(compared: str) -> None:
    data = workbook({"xl/sharedStrings.xml": cells("Open", "Openly"), "xl/worksheets/sheet1.xml": sheet(compared)})
    assert opened(data).texts == ["Openly"]
    assert any("kept" in note for note in opened(data).notes)
    assert b"<t>Open</t>" in translated(data, str.upper)["xl/sharedStrings.xml"]


def with_table(formula: str = "", header: str = "Name") -> bytes:
    return workbook(
        {
            "xl/sharedStrings.xml": cells(header, "Age", "Words"),
            "xl/worksheets/sheet1.xml": sheet(f"<x:f>{formula}</x:f>"),
            "xl/tables/table1.xml": table("Name", "Age"),
        }
    )


@pytest.mark.parametrize(
    "translate", [str.upper, lambda text: text + ' & "<x>"', lambda text: "equal", lambda text: ""]
)
def test_columns_of_tables_are_named_as_their_cells(translate: Callable[[str], str]) -> None:
    """Excel calls the file damaged otherwise, and where two columns have one name."""
    parts = translated(with_table(), translate)
    words = ["".join(item.itertext()) for item in etree.fromstring(parts["xl/sharedStrings.xml"])]
    names = [item.get("name") for item in etree.fromstring(parts["xl/tables/table1.xml"]).iter("{*}tableColumn")]
    assert words[:2] == names
    assert len({name.casefold() for name in names if name}) == 2
    assert words[2] == translate("Words")


def test_columns_that_formulas_name_stay() -> None:
    assert opened(with_table("SUM(T1[Age])")).texts == ["Words"]


def test_columns_with_formatted_headers_stay() -> None:
    rich = "</t></si><si><r><t>Na</t></r><r><rPr><b/></rPr><t>me</t></r></si><si><t>"
    assert opened(with_table(header=rich)).texts == ["Age", "Words"]


@pytest.mark.parametrize(("kind", "is_computed"), [("str", True), ("n", False)])
def test_formulas_with_words_are_computed_again(kind: str, is_computed: bool) -> None:
    formula = f'<x:c t="{kind}"><x:f>A1</x:f><x:v>Words</x:v></x:c>'
    parts = {"xl/sharedStrings.xml": cells("Words"), "xl/worksheets/sheet1.xml": sheet(formula)}
    data = workbook(parts, '<calcPr calcId="191029"/>')
    after = translated(data, str.upper)
    assert (b'<calcPr fullCalcOnLoad="1" calcId="191029"/>' in after["xl/workbook.xml"]) == is_computed
    assert b"<x:v>Words</x:v>" in after["xl/worksheets/sheet1.xml"]


def test_messages_stay_short() -> None:
    """Excel calls a file damaged whose messages are longer than it permits."""
    message = '<x:dataValidation promptTitle="Answer" prompt="Choose a word"/>'
    data = workbook({"xl/worksheets/sheet1.xml": sheet(message)})
    after = translated(data, lambda text: text.upper() * 4)["xl/worksheets/sheet1.xml"]
    assert b'prompt="CHOOSE A WORDCHOOSE' in after
    assert b'promptTitle="ANSWERANSWER' in after
    assert b'promptTitle="Answer"' in translated(data, lambda text: text * 6)["xl/worksheets/sheet1.xml"]


def test_sheets_of_many_cells_are_bounded() -> None:
    many = "".join(f"<si><t>a{number}</t></si>" for number in range(5000))
    with pytest.raises(FileTooLarge, match="texts"):
        open_file(workbook({"xl/sharedStrings.xml": strings(many)}), "a.xlsx", "de", 20_000)


def test_what_is_no_workbook_is_refused() -> None:
    with pytest.raises(DamagedFile, match=r"no xl/workbook\.xml"):
        opened(packed([("a.xml", "<a/>")]))


def test_escaped_carriage_returns_are_line_ends() -> None:
    """Programs that export tables write them so."""
    text = "<si><t>The first line._x000D_\nThe <b/>second line.</t></si>".replace("<b/>", "")
    rich = "<si><r><rPr><b/></rPr><t>Bold_x000D_\n</t></r><r><t>and plain.</t></r></si>"
    data = workbook({"xl/sharedStrings.xml": strings(text + rich)})
    file = opened(data)
    assert file.texts[0] == "The first line.\r\nThe second line."
    assert not any("_x000D_" in text for text in file.texts)
    assert file.write(file.texts) == data
    after = parts_of(file.write([text.upper() for text in file.texts]))["xl/sharedStrings.xml"].decode()
    assert "THE FIRST LINE._x000D_\nTHE SECOND LINE." in after
    assert after.count("_x000D_\n") == 2
