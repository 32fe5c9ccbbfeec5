"""What of a .properties file stays, and in which encoding it is written."""

import javaproperties
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.registry import open_file
from tests.server.files.formats.strings.upper import texts, upper


def test_all_but_values_stays() -> None:
    text = "# A: note\\\n! b = c\n\na.title : Yes\r\n  b\\ key\\:=  \\\n   Two \\\n\t lines\\!\nc d\nn=1\nempty\n=x\\"
    assert texts(text, ".properties") == ["Yes", "Two lines!", "d", "x"]
    assert upper(text, ".properties") == (
        "# A: note\\\n! b = c\n\na.title : YES\r\n  b\\ key\\:=  \\\n   TWO LINES!\nc D\nn=1\nempty\n=X\\"
    )


@pytest.mark.parametrize(
    ("codec", "text", "expected"),
    [
        ("ascii", "a=Gr\\u00fc\\u00dfe", b"a=Gr\\u00FC\\u00DFe \\u00FC\\u20AC\\uD83D\\uDE00"),
        ("iso8859-1", "a=Gr\u00fc\u00dfe", "a=Gr\u00fc\u00dfe \u00fc\\u20AC\\uD83D\\uDE00".encode("iso8859-1")),
        ("utf-8", "a=Gr\u00fc\u00dfe", "a=Gr\u00fc\u00dfe \u00fc\u20ac\U0001f600".encode()),
        ("utf-8-sig", "a=Gr\u00fc\u00dfe", "\ufeffa=Gr\u00fc\u00dfe \u00fc\u20ac\U0001f600".encode()),
    ],
)
def test_a_file_stays_in_its_encoding(codec: str, text: str, expected: bytes) -> None:
    opened = open_file(text.encode(codec), "a.properties", "de", 1000)
    assert opened.texts == ["Gr\u00fc\u00dfe"]
    assert opened.write([f"{opened.texts[0]} \u00fc\u20ac\U0001f600"]) == expected


def test_apostrophes_are_doubled_in_patterns_with_arguments_only() -> None:
    text = "a=It''s {0}\nb=It''s me\nc=It's {0}\nd=Yes {0}\n"
    assert texts(text, ".properties") == ["It's {0}", "It''s me", "It's {0}", "Yes {0}"]
    opened = open_file(text.encode(), "a.properties", "fr", 1000)
    written = opened.write(["l'a {0}", "l'a", "l'a {0}", "l'a {0}"])
    assert written == b"a=l''a {0}\nb=l'a\nc=l'a {0}\nd=l''a {0}\n"


PIECES = ["a", "b", "=", ":", " ", "\t", "\n", "\r\n", "\\", "\\\\", "\\\n  ", "#", "!", "\\u0041", "\\n", "\f"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_file_is_read_as_by_another_program(text: str) -> None:
    """Keys as well: a value that is translated is the value of its key."""
    before, after = (
        [
            (entry.key, entry.value.upper())
            for entry in javaproperties.parse(content)
            if isinstance(entry, javaproperties.KeyValue)
        ]
        for content in (text, upper(text, ".properties"))
    )
    assert before == after
