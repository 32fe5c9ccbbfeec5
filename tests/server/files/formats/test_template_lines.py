"""Lines of Markdown that have only tags of template engines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.registry import open_file
from server.files.formats.template_lines import KEPT, without_tag_lines

TAGS = st.sampled_from([
    '{{< figure alt="A house." >}}', "{{< figure\n  alt='A house.'\n>}}", "{{% notice tip %}}", "[caption id=a]",
    "<% if late %>", "{% include\n\n'a.html' %}", "[/caption]",
])  # fmt: skip
LINES = st.one_of(TAGS, st.sampled_from(["A word.", "", "- an item", "> quoted", "    code", "See {{ value }} there."]))


@settings(max_examples=50, deadline=None)
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_they_stay_as_they_are_and_in_their_order(lines: list[str], newline: str) -> None:
    text = newline.join(line.replace("\n", newline) for line in ["A word.", "", *lines])
    opened = open_file(text.encode(), "a.md", "de", 10_000)
    translations = [source.replace("word", "Wort").replace("item", "Punkt") for source in opened.texts]
    written = opened.write(translations).decode()
    assert written.split() == text.replace("word", "Wort").replace("item", "Punkt").split()  # lines of text are joined
    at = 0
    for tag in (line.replace("\n", newline) for line in lines if line.startswith(("{{<", "{{%", "{%", "<%", "["))):
        at = written.index(tag, at) + len(tag)
    assert not any("figure" in source or "notice" in source or "caption" in source for source in opened.texts)


@settings(max_examples=50, deadline=None)
@given(st.lists(LINES, max_size=8))
def test_positions_stay(lines: list[str]) -> None:
    text = "\n".join(lines)
    read = without_tag_lines(text)
    assert len(read) == len(text)
    assert all(other in (char, KEPT) for char, other in zip(text, read, strict=True))


@pytest.mark.parametrize(
    "line", ['See {{< ref "a.md" >}} there.', "{{ page.title }}", 'See {{< ref\n"a.md"\n>}} there.']
)
def test_what_stands_in_a_sentence_is_read_with_it(line: str) -> None:
    assert without_tag_lines(line) == line
