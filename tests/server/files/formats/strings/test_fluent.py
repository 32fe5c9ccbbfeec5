"""What of a Fluent file stays; selectors, placeables and attributes."""

import pytest

from server.files.formats.base import DamagedFile
from server.files.formats.registry import open_file
from tests.server.files.formats.strings.upper import texts, upper

MESSAGES = """### File
# note
key = Value { $x } and
    more {"{"} text
    .label = At { -brand }
    .accesskey = A
files = You have { $n ->
        [one] one { $kind ->
            [a] file
           *[b] folder
        }
       *[other] { NUMBER($n) } files
    } here
only = { $n }
-brand = Name
    .gender = neuter
block =
    First

    Second
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_but_patterns_stays(newline: str) -> None:
    expected = MESSAGES.replace('Value { $x } and\n    more {"{"} text', 'VALUE { $x } AND MORE {"{"} TEXT')
    for word in ("At {", "You have", "one {", " file\n", "folder", "files\n", "here", "First", "Second"):
        expected = expected.replace(word, word.upper())
    assert upper(MESSAGES.replace("\n", newline), ".ftl") == expected.replace("\n", newline)


def test_terms_stay_and_are_named() -> None:
    terms = "".join(f"-name-{number} = Name\n" for number in range(12))
    [note] = open_file(f"{terms}key = Value\n".encode(), "a.ftl", "de", 1000).notes
    assert note.startswith("the terms of the file were not translated (12): -name-0, -name-1, ")
    assert note.endswith("-name-9, ...")
    assert not open_file(b"key = Value\n", "a.ftl", "de", 1000).notes


@pytest.mark.parametrize(("text", "line"), [("a = b\nno message\n", 2), ("a = { $n", 1), ("a = {" * 3000, 1)])
def test_what_is_no_message_is_refused(text: str, line: int) -> None:
    with pytest.raises(DamagedFile, match=f"line {line}:|too deep"):
        texts(text, ".ftl")
