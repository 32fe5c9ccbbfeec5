"""Blocks of Markdown's extensions that hold no text: modules of MDX, tags of templates, front matter."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import FileOptions
from server.files.formats.markdown_blocks import MAX_LINES, is_directive, kept_lines
from server.files.formats.registry import open_file
from tests.growth import assert_linear

MODULES = [
    "import Tabs from '@theme/Tabs';", 'import "./style.css"', "import * as all from 'x'", "import A, { B } from 'x'",
    "import {\n  Some,\n\n  Others\n} from 'x'", "export const title = 'A title';",
    "export default ({ children }) => children",
    "export function Note() {\n  return (\n    <p>a note</p>\n  )\n}", "export { a as b } from 'y'",
    "import A from 'a'\nimport B from 'b'",
]  # fmt: skip
TAGS = [
    '{{< figure src="a.jpg" title="A cover" >}}', f'{{{{< ref "{"a-long-path/" * 20}" >}}}}', "{{% notice note %}}",
    "{{% /notice %}}", '{{< figure src="a.jpg"\n    title="A cover of it"\n>}}', "{% include a.html title='A note' %}",
    "{{< a >}} {{< /a >}}", "{{</* no */>}}", "{% raw %}{% endraw %}", '{{< b title="1 > 0" >}}',
]  # fmt: skip
TEXTS = [
    "import the goods.", "Export of goods", "export goods {all}", "{% is none, nor is", "We {{ walk }} home.",
    "a {{< b >}} c",
]  # fmt: skip
BLOCKS = st.lists(st.tuples(st.booleans(), st.sampled_from(MODULES + TAGS), st.sampled_from(TEXTS)), max_size=6)


def upper(text: str) -> str:
    """In capitals, but for tags of template engines."""
    return "".join(part if part.startswith("{{") else part.upper() for part in re.split(r"(\{\{.*?\}\})", text))


@settings(max_examples=40, deadline=None)
@given(BLOCKS, st.sampled_from(["\n", "\r\n"]))
def test_only_text_is_translated(blocks: list[tuple[bool, str, str]], newline: str) -> None:
    parts = ["We walk home.", *(text if is_text else raw for is_text, raw, text in blocks)]
    expected = ["WE WALK HOME.", *(upper(text) if is_text else raw for is_text, raw, text in blocks)]
    data = "\n\n".join(parts).replace("\n", newline).encode()
    opened = open_file(data, "a.mdx", "de", 100_000)
    assert opened.write([text.upper() for text in opened.texts]).decode() == "\n\n".join(expected).replace(
        "\n", newline
    )


def test_a_tag_of_a_block_is_not_joined_with_its_text() -> None:
    data = b"{{% notice %}}\nAlways wear\ngloves.\n{{% /notice %}}\n\n- {{< a >}}\n- one\n"
    opened = open_file(data, "a.md", "de", 1000)
    assert list(opened.texts) == ["Always wear gloves.", "one"]
    assert opened.write(["B", "1"]) == b"{{% notice %}}\nB\n{{% /notice %}}\n\n- {{< a >}}\n- 1\n"


def test_a_module_that_never_closes_ends_at_an_empty_line() -> None:
    for filler in (0, 2 * MAX_LINES):
        lines = ["export const a = {", "", "Text.", *["More."] * filler]
        assert kept_lines(lines) == {0}
    assert kept_lines(["```", "import 'a'", "```", "", "import 'a'"]) == {4}


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("---\nlang: en\ntitle: en\n---\n", "---\nlang: de\ntitle: en\n---\n"),
        ("---\r\nlanguage: 'en-US' # x\r\n---\r\n", "---\r\nlanguage: 'de' # x\r\n---\r\n"),
        ("+++\nlocale = \"en_GB\"\n+++\n", "+++\nlocale = \"de_DE\"\n+++\n"),
        ("---\nlang: fr\nlang_x: en\n---\n", "---\nlang: fr\nlang_x: en\n---\n"),
        ("", "lang: en\n\n"),
    ],
)  # fmt: skip
def test_the_language_of_front_matter(front: str, expected: str) -> None:
    body = "<p lang='en'>Yes</p>\n" if front else "lang: en\n\n<p lang='en'>Yes</p>\n"
    opened = open_file((front + body).encode(), "a.md", "de", 1000, FileOptions(source_language="en"))
    assert opened.write(opened.texts).decode() == expected + '<p lang="de">Yes</p>\n'


def test_lines_are_recognised_in_linear_time() -> None:
    def run(text: str) -> None:
        lines = text.split("\n")
        kept_lines(lines)
        for line in lines:
            is_directive(line)

    tokens = (
        "import {", "export const ", "\n", "\n\n", "(", ")", "{{<", ">}}", "{{%", "%}}", "{%", "%}", ">", "%", "}", " ",
        "import a, ", "```\n", "'", "a",
    )  # fmt: skip
    assert_linear(run, tokens, ordinary=None)
