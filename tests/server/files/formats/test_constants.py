"""Values that programs read, in files of texts."""

import json

import pytest

from server.files.formats.constants import is_formula
from server.files.formats.registry import open_file


@pytest.mark.parametrize("text", ["=SUM(A1:A2)", '=IF(A1="yes";"a";"b")', "=A1&B2", "= $B$3", "+SUM(A1)", " =AVG.X(a)"])
def test_formulas_of_a_table_stay(text: str) -> None:
    assert is_formula(text)
    opened = open_file(f'We walk home.;"{text.replace(chr(34), chr(34) * 2)}"\n'.encode(), "a.csv", "de", 1000)
    assert list(opened.texts) == ["We walk home."]


@pytest.mark.parametrize("text", ["= the sum", "-Save as", "=", "+ more (two)", "@Jane (home)", "A=B(c)"])
def test_text_is_no_formula(text: str) -> None:
    assert not is_formula(text)


def test_constants_stay() -> None:
    data = "a=true\nb=False alarm\nc=null\nd=True\n"
    assert list(open_file(data.encode(), "a.properties", "de", 1000).texts) == ["False alarm", "True"]
    values = json.dumps(["true", "false", "true story", "undefined"])
    assert list(open_file(values.encode(), "a.json", "de", 1000).texts) == ["true story"]


ABBREVIATIONS = (
    "*[HTML]: Hyper text\n*[CSS]: Style sheet\n[ref]: https://example.org 'A title'\n[img]: a.png\n\n"
    "[1]: is one house\n"
)


def test_abbreviations_and_addresses_keep_their_lines() -> None:
    opened = open_file(f"See HTML.\n\n{ABBREVIATIONS}".encode(), "a.md", "de", 1000)
    written = opened.write([text.upper() for text in opened.texts]).decode()
    expected = ABBREVIATIONS.replace("Hyper text", "HYPER TEXT").replace("Style sheet", "STYLE SHEET")
    assert written == "SEE HTML.\n\n" + expected.replace("[1]: is one house", "[1]: IS ONE HOUSE")
