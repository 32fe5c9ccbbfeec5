"""Markup comes back as it was; inline tags move with their words."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.text.base.placeholders import PlaceholderText, is_placeholder, nested
from server.text.markup.markup import read_markup
from server.text.markup.tokens import MalformedMarkup
from server.text.split.messages import find_arguments

PAGE = """<!DOCTYPE html>
<html lang="en"><head><title>A page</title><style>p > a { color: red }</style>
<script>if (a < b) { document.write("<p>no</p>"); }</script></head>
<body class='x'><!-- a <b>comment</b> -->
<h1 id=top>Good &amp; bad</h1>
<p>The <b>big</b> dog<br>ran   home &lt;quickly&gt;.
   It <a href="/x?a=1&amp;b=2">was <i>late</i></a>.</p>
<ul><li>One<li>Two</ul><p translate="no">Not this <b>one</b></p>
<pre>keep  this</pre><p>Run <code>ls <b>-la</b></code> now.</p><p>
<img src="a.png" alt="x"></p></body></html>
"""


def shown(text: str) -> str:
    """Marks as something that can be read."""
    return "".join(f"[{ord(char) - 0xF0000:x}]" if is_placeholder(char) else char for char in text)


def test_a_page_is_cut_at_its_blocks() -> None:
    texts = [shown(text) for text in read_markup(PAGE).texts]
    assert texts == [
        "A page",
        "Good & bad",
        "The [0]big[4000] dog",
        "ran home <quickly>. It [0]was [1]late[4001][4000].",
        "One",
        "Two",
        "Run [8000] now.",
        "x",
    ]


def test_nothing_translated_is_the_page_itself() -> None:
    page = read_markup(PAGE)
    assert page.write(page.texts) == PAGE


def test_translated_words_take_their_tags_along() -> None:
    page = read_markup("<p>The <b>big</b> dog &amp; I</p>")
    [text] = page.texts
    bold, end = [char for char in text if is_placeholder(char)]
    assert page.write([f"Ich & der {bold}gro\u00dfe <{end} Hund"]) == "<p>Ich &amp; der <b>gro\u00dfe &lt;</b> Hund</p>"


def test_the_language_of_the_page() -> None:
    assert read_markup('<html class="a" lang="en"><p>Hi</p>', language="de").write(["Hallo"]) == (
        '<html class="a" lang="de"><p>Hallo</p>'
    )


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("a [ b ] c", "a [ b ] c"),
        ("] b [", "[ b ]"),
        ("[ { ] }", "[ { } ]"),
        ("{ [ } ]", "{ [ ] }"),
        ("} ] { [", "{ [ ] }"),
    ],
)
def test_nesting(parts: str, expected: str) -> None:
    marks = {"[": "\U000f0000", "]": "\U000f4000", "{": "\U000f0001", "}": "\U000f4001"}
    back = {mark: char for char, mark in marks.items()}
    result = nested([marks.get(part, part) for part in parts.split()])
    assert " ".join(back.get(part, part) for part in result) == expected


@given(st.permutations(range(8)))
def test_any_order_of_placeholders_becomes_well_formed(order: list[int]) -> None:
    placeholder_text = PlaceholderText()
    for name in "abcd":
        placeholder_text.open(name, f"<{name}>")
    for name in "dcba":
        placeholder_text.close(name, f"</{name}>")
    marks = placeholder_text.text
    rendered = placeholder_text.render(" w ".join(marks[place] for place in order), str)
    assert sorted(re.findall(r"</?.>", rendered)) == sorted(f"<{s}{name}>" for name in "abcd" for s in ("", "/"))
    read_markup(rendered, "xml")  # raises if it is not well-formed


def test_xml_text_with_tags_inside_is_one_text() -> None:
    source = '<?xml version="1.0"?><a x="1">\n <t>Hello <x id="1"/> <g>big &amp; small</g>!</t>\n <n>5</n><e/>\n</a>'
    page = read_markup(source, "xml")
    assert [shown(text) for text in page.texts] == ["Hello [8000] [1]big & small[4001]!"]
    assert page.write(page.texts) == source
    [text] = read_markup("Tom &eacute; &#65; &amp;copy", "xml").texts
    assert shown(text) == "Tom [8000] A &copy"


def test_ignored_elements_stay() -> None:
    page = read_markup("<d><p>Press <key>Enter</key> now</p><raw>Not this</raw></d>", "xml", ignored=["key", "raw"])
    assert [shown(text) for text in page.texts] == ["Press [8000] now"]
    assert page.write(["Jetzt " + page.texts[0][6]]) == "<d><p>Jetzt <key>Enter</key></p><raw>Not this</raw></d>"


@pytest.mark.parametrize("text", ["<a><b></a></b>", "<a>", "</a>"])
def test_xml_must_be_well_formed(text: str) -> None:
    with pytest.raises(MalformedMarkup):
        read_markup(text, "xml")


ODD = ["<", ">", "<b>", "</b>", "<p>", "</p>", "<i x='", "<!--", "-->", "&amp;", "&", "\U000f0000", "a", " ", "\n", '"']
ODD += ["<script>", "</script>", "<br>", "<code>", "</code>", "<![CDATA[", "<img alt='a'>", '<b title="a>b">']


@given(st.lists(st.sampled_from(ODD), max_size=20))
def test_any_html_keeps_its_tags(parts: list[str]) -> None:
    text = "".join(parts)
    page = read_markup(text)
    written = page.write(page.texts)
    pattern = r"</?(?:b|p|br|code)>|<img alt='a'>|<b title=\"a>b\">"
    assert re.findall(pattern, written) == re.findall(pattern, text)
    assert written.count("\U000f0000") == text.count("\U000f0000")


TAGS = ("{% if a %}", "{% set x = 1 %}", "{# n #}", "<% end %>")


@example(["We walk.", TAGS[0], "\n"])
@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from([*TAGS, "{{ v }}", "We walk.", "<b>no</b>", "\n", " \n  ", " ", "<p>"]), max_size=12))
def test_lines_of_tags_stay_lines(parts: list[str]) -> None:
    """What is behind a tag that shows nothing stays, also where the text beside it is translated."""
    document = "".join(parts)
    markup = read_markup(document)
    assert markup.write(markup.texts) == document
    written = markup.write([text.upper() for text in markup.texts])
    assert re.sub(r"\s+", " ", written).lower() == re.sub(r"\s+", " ", document).lower()
    assert written.count("\n") <= document.count("\n")
    for tag in TAGS:
        assert written.count(f"{tag}\n") == document.count(f"{tag}\n")


def test_a_message_of_angular_keeps_its_syntax() -> None:
    document = "<b>{n, plural, =0 {no dogs} =1 {one dog} other {{{n}} dogs}}</b>"
    [text] = read_markup(document).texts
    [argument] = find_arguments(text)
    assert [text[start:end][-4:] for start, end in argument.texts] == ["dogs", " dog", "dogs"]
