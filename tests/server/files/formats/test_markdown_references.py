"""Definitions of links, what refers to them, titles of admonitions, wiki links and values of JSX."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from server.files.formats.markdown_references import title_of_directive
from server.files.formats.registry import open_file
from tests.growth import assert_linear


def upper(text: str, suffix: str = ".md") -> str:
    file = open_file(text.encode(), f"a{suffix}", "de", 10_000)
    return file.write([each.upper() for each in file.texts]).decode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('[a]: /u "The title"\n', '[a]: /u "THE TITLE"\n'),
        ("[a]: <u v> 'The title'\n", "[a]: <u v> 'THE TITLE'\n"),
        ("[a]: /u\n     (The title)  \n", "[a]: /u\n     (THE TITLE)  \n"),
        ('> [a]: /u "The title"\n', '> [a]: /u "THE TITLE"\n'),
        ('Yes.\n\n[a]: /u "The title"\n\nNo.\n', 'YES.\n\n[a]: /u "THE TITLE"\n\nNO.\n'),
        ('Yes.\n\n[a]: /u\n[b]: /v "2"\n', 'YES.\n\n[a]: /u\n[b]: /v "2"\n'),
        ('[a]: /u "One"\n[a]: /u "Two"\n', '[a]: /u "ONE"\n[a]: /u "TWO"\n'),
        ("See [the map].\n\n[the map]: /u\n", "SEE [THE MAP][the map].\n\n[the map]: /u\n"),
        ("See [the map][] and [x].\n\n[The  Map]: /u\n", "SEE [THE MAP][the map] AND [X].\n\n[The  Map]: /u\n"),
        ("See [[Page]] and [[page|the page]].", "SEE [[Page]] AND [[page|THE PAGE]]."),
        ("See ]] and [[.", "SEE ]] AND [[."),
        (":::tip[A title]\n\nYes.\n\n:::\n", ":::tip[A TITLE]\n\nYES.\n\n:::\n"),
        ("::: warning Look out\nYes.\n:::\n", "::: warning LOOK OUT\nYES.\n:::\n"),
        ('!!! note inline "A title"\n    Yes.\n', '!!! note inline "A TITLE"\n    YES.\n'),
        ('??? "A title"\n    Yes.\n', '??? "A title"\n    YES.\n'),
        ('::: {.note title="x y"}\nYes.\n:::\n', '::: {.note title="x y"}\nYES.\n:::\n'),
        ('A <img alt="dog" src="b"> runs.', 'A <img alt="DOG" src="b"> RUNS.'),
        ('See <Button onClick={() => f({a: "b c"})} /> here.', 'SEE <Button onClick={() => f({a: "b c"})} /> HERE.'),
        ('A <Tab label="dog" id="x y" /> here.', 'A <Tab label="DOG" id="x y" /> HERE.'),
        ('<Tab label="dog">yes</Tab>\n', '<Tab label="DOG">YES</Tab>\n'),
        ('<track label="dog"> <i label="dog"> yes', '<track label="DOG"> <i label="dog"> YES'),
        ("Yes {/* a note */} and no.", "YES {/* a note */} AND NO."),
    ],
)
def test_only_what_is_read_changes(text: str, shown: str) -> None:
    assert upper(text) == shown


PARTS = st.sampled_from(
    ["[a]", "[b c]", "[b c][]", "[x][a]", "[[a|b]]", "[[a]]", "]]", "a ", "\n", '[a]: /u "T"\n', "[b c]: /v\n", "![a]",
     "\n\n", "::: note T\n", "<i x={() => 1}>", "{/* n */}", "`c`", "*", "> ", "- ", "    "]
)  # fmt: skip


@given(st.lists(PARTS, max_size=12).map("".join))
def test_links_stay_links(text: str) -> None:
    """What is translated as it is keeps all bytes; else a renderer finds as many links, of the same addresses."""
    try:
        file = open_file(text.encode(), "a.md", "de", 10_000)
    except ValueError:
        return
    assert file.write(file.texts).decode() == text
    written = file.write([f"{each} q" for each in file.texts]).decode()
    assert sorted(addresses(written)) == sorted(addresses(text))


def addresses(text: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    return [
        str(child.attrs.get("href", child.attrs.get("src"))) for child in inner if child.type in ("link_open", "image")
    ]


def test_titles_are_found_in_linear_time() -> None:
    def read(text: str) -> None:
        title_of_directive(f":::note {text}")
        title_of_directive(f"!!! {text}")

    assert_linear(read, ("a", '"', " ", "[", "]", ":::a", "!!! "), count=12, ordinary=None)
