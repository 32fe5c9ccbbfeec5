"""Markdown: syntax stays, also that of extensions."""

import pytest

from tests.server.files.formats.small import translated

MARKDOWN = """---
title: keep me
---
# A *big* title

A paragraph with `code` and a [link *here*](https://x.org "t")
on two lines.  
A hard break, and \\*no\\* emphasis 2 * 3.

- one
- two
  1. inner **bold** text

> quoted text
> goes on

| Head | Two |
|------|-----|
| cell | `x` |

```python
print("keep")
```

    indented code

<div>raw</div>

[ref]: https://example.org
"""


def test_markdown() -> None:
    written = translated(MARKDOWN.encode(), "a.md").decode()
    assert written == (
        MARKDOWN.replace("title: keep me", "title: KEEP ME")
        .replace("A *big* title", "A *BIG* TITLE")
        .replace(
            'A paragraph with `code` and a [link *here*](https://x.org "t")\non two lines.',
            'A PARAGRAPH WITH `code` AND A [LINK *HERE*](https://x.org "T") ON TWO LINES.',
        )
        .replace("A hard break, and \\*no\\* emphasis 2 * 3.", "A HARD BREAK, AND \\*NO\\* EMPHASIS 2 * 3.")
        .replace("- one\n- two\n  1. inner **bold** text", "- ONE\n- TWO\n  1. INNER **BOLD** TEXT")
        .replace("| Head | Two |", "| HEAD | TWO |")
        .replace("| cell |", "| CELL |")
        .replace("> quoted text\n> goes on", "> QUOTED TEXT\n> GOES ON")
        .replace("<div>raw</div>", "<div>RAW</div>")
    )


EXTENSIONS = """:::note Title

- [ ] to do, see [x] there
- [x] done
  at last

!!! tip
    indented text
    goes on

:::warning
some text
:::

term
: a definition
  goes on
: another

It costs $5, not $6; let $x_a$ be $$y$$ here.

$$
\\alpha
$$

$$y$$ is not $$z$$

[[toc]]

{: .class}

<details><summary title="a tip">more
about it</summary>
<!-- a comment -->

> <p>quoted</p>

</details>
"""


def test_extensions_of_markdown() -> None:
    written = translated(EXTENSIONS.encode(), "a.md").decode()
    assert written == (
        EXTENSIONS.replace(":::note Title", ":::note TITLE")
        .replace("to do, see [x] there", "TO DO, SEE [X] THERE")
        .replace("done\n  at last", "DONE AT LAST")
        .replace("indented text\n    goes on", "INDENTED TEXT GOES ON")
        .replace("some text", "SOME TEXT")
        .replace("$$y$$ is not $$z$$", "$$y$$ IS NOT $$z$$")
        .replace("term\n: a definition\n  goes on\n: another", "TERM\n: A DEFINITION GOES ON\n: ANOTHER")
        .replace('title="a tip">more\nabout it<', 'title="A TIP">MORE ABOUT IT<')
        .replace("It costs $5, not $6; let $x_a$ be $$y$$ here.", "IT COSTS $5, NOT $6; LET $x_a$ BE $$y$$ HERE.")
    )


@pytest.mark.parametrize("end", ["\r\n", "\r"])
@pytest.mark.parametrize("block", ["<div>raw</div>", "<![CDATA["])
def test_any_ends_of_lines(end: str, block: str) -> None:
    """Those of old Macs, too; a block of HTML may not end."""
    text = MARKDOWN.partition("---\n# ")[2].replace("<div>raw</div>", block)
    expected = translated(text.encode(), "a.md").decode()
    assert expected != text
    assert translated(text.replace("\n", end).encode(), "a.md").decode() == expected.replace("\n", end)


def test_a_carriage_return_is_the_end_of_a_line_beside_others() -> None:
    assert translated(b"\r\r# One\n\nTwo.\n\n<![CDATA[", "a.md") == b"\r\r# ONE\n\nTWO.\n\n<![CDATA["
