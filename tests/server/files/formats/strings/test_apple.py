"""What of a .strings file stays."""

import pytest

from server.files.formats.base import DamagedFile
from tests.server.files.formats.strings.upper import texts, upper

STRINGS = """/* "no" = "text"; */ // "no" = "text";
"a \\" = b" = "Yes \\"you\\"\\U00e9\\n";

key="two
lines" ; "c" = word;
"shorthand";
"""


def test_all_but_values_stays() -> None:
    assert texts(STRINGS, ".strings") == ['Yes "you"\u00e9\n', "two\nlines", "word"]
    assert upper(STRINGS, ".strings") == (
        STRINGS.replace('Yes \\"you\\"\\U00e9', 'YES \\"YOU\\"\u00c9')
        .replace("two\nlines", "TWO\\nLINES")
        .replace("word", '"WORD"')
    )


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        ('"a" = "b";\n\n/* c */ "d" "e";\n', "line 3 begins"),
        ('"a" = "b"', "line 1 begins"),
        ("bplist00", "property list"),
        ('<?xml version="1.0"?><plist/>', "property list"),
        (b"\xff\xfe\x00", "UTF-16"),
    ],
)
def test_what_is_no_list_of_strings_is_refused(text: str | bytes, expected_message: str) -> None:
    with pytest.raises(DamagedFile, match=expected_message):
        texts(text, ".strings")
