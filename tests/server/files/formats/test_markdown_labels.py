"""Words of images and links are texts; the syntax stays whatever their translations have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.markdown_labels import labels_of, with_labels
from server.files.formats.registry import open_file
from tests.growth import assert_linear


def upper(text: str) -> str:
    file = open_file(text.encode(), "a.md", "de", 10_000)
    return file.write([each.upper() for each in file.texts]).decode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See ![a dog](dog.png) here.", "SEE ![A DOG](dog.png) HERE."),
        ("![a dog](dog.png)", "![A DOG](dog.png)"),
        ('![a dog](dog.png "his name")', '![A DOG](dog.png "HIS NAME")'),
        ("[more](a.html 'all of it')", "[MORE](a.html 'ALL OF IT')"),
        ('[![a badge](b.svg)](c.html "more")', '[![A BADGE](b.svg)](c.html "MORE")'),
        ("![](dog.png) and ![2](b.png) stay", "![](dog.png) AND ![2](b.png) STAY"),
        ("[one][a] and ![two][a]", "[ONE][a] AND ![TWO][a]"),
    ],
)
def test_labels_are_translated(text: str, shown: str) -> None:
    assert upper(text) == shown


@given(st.text("ab \"'[]()\\\n!", max_size=20), st.text("ab \"'[]()\\\n!", max_size=20))
def test_a_translation_breaks_no_syntax(alt: str, title: str) -> None:
    raw = '![one dog](dog.png "his name")'
    done = with_labels(raw, list(labels_of(raw)), [alt, title])
    assert len(list(labels_of(done))) == 2 or not (any(map(str.isalpha, alt)) and any(map(str.isalpha, title)))
    assert done.startswith("![")
    assert '](dog.png "' in done
    assert done.endswith('")')


def test_labels_are_found_in_linear_time() -> None:
    def read(text: str) -> None:
        list(labels_of(f"![{text}]({text})"))

    assert_linear(read, ("a", '"', " ", "'", ' "a"', "\\"), count=8, ordinary=None)
