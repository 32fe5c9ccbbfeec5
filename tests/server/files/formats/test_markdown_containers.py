"""Indented content of footnotes, admonitions and tabs is text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.markdown_containers import without_indents
from server.files.formats.registry import open_file
from tests.growth import assert_linear


def upper(text: str) -> str:
    file = open_file(text.encode(), "a.md", "de", 10_000)
    return file.write([each.upper() for each in file.texts]).decode()


CODE = "{% highlight ruby %}\nputs a\n{% endhighlight %}"
FENCE = "    ```py\n    no\n    ```\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('??? note "A"\n\n    Yes.\n', '??? note "A"\n\n    YES.\n'),
        (
            '=== "Tab"\n\n    Yes.\n\n    ```py\n    no\n    ```\n',
            '=== "TAB"\n\n    YES.\n\n    ```py\n    no\n    ```\n',
        ),
        ("!!! note\n\n    - Yes.\n\n        code\n\n    No.\n", "!!! note\n\n    - YES.\n\n        CODE\n\n    NO.\n"),
        ("[^1]: Yes, no.\n\n    No.\n\n        code\n\nOn.\n", "[^1]: YES, NO.\n\n    NO.\n\n        code\n\nON.\n"),
        ("Term\n:   Yes.\n\n    No.\n", "TERM\n:   YES.\n\n    NO.\n"),
        ("- Yes.\n\n    !!! note\n\n        No.\n", "- YES.\n\n    !!! note\n\n        NO.\n"),
        ("Yes.\n\n    code\n", "YES.\n\n    code\n"),
        ("```\n!!! note\n\n    code\n```\n\n    code\n", None),
        ("| a |\n|---|\n| yes \\| no |\n", "| A |\n|---|\n| YES \\| NO |\n"),
        (
            "{% highlight ruby %}\nputs a\n{% endhighlight %}\n\nYes.\n",
            "{% highlight ruby %}\nputs a\n{% endhighlight %}\n\nYES.\n",
        ),
        ("[Yes](#){ .button }\n", "[YES](#){ .button }\n"),
        ("Yes (1).\n{ .annotate }\n", "YES (1).\n{ .annotate }\n"),
        ("<kbd>Enter</kbd> saves.", "<kbd>Enter</kbd> SAVES."),
    ],
)
def test_only_what_is_read_changes(text: str, shown: str | None) -> None:
    if shown is not None:
        assert upper(text) == shown
    else:
        assert without_indents(text) == text


LINES = [
    "!!! note",
    '=== "T"',
    "[^1]: We",
    ":   We",
    "We walk.",
    "- We",
    "```",
    "",
    "    ",
    "| a |",
    "<p>We</p>",
]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(LINES)), max_size=10))
def test_what_is_read_stays_in_its_place(parts: list[tuple[int, str]]) -> None:
    text = "\n".join("    " * level + line for level, line in parts)
    read = without_indents(text)
    assert [line.strip() for line in read.split("\n")] == [line.strip() for line in text.split("\n")]
    try:
        file = open_file(text.encode(), "a.md", "de", 10_000)
    except ValueError:
        return
    assert file.write(file.texts).decode() == text
    written = file.write([each.replace("We", "Wir") for each in file.texts]).decode()
    assert "".join(written.replace("Wir", "We").split()) == "".join(text.split())


def test_indents_are_removed_in_linear_time() -> None:
    assert_linear(without_indents, ("\n", "    ", "!!! a", "[^1]: ", "```", "a", '=== "'), count=12, ordinary=None)
