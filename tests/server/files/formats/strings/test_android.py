"""What of Android's strings.xml is translated, and how it is escaped."""

import pytest

from server.files.formats.base import DamagedFile
from server.files.formats.registry import open_file
from tests.server.files.formats.strings.upper import texts, upper

RESOURCES = r"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:x">
    <!-- note -->
    <string name="a">Hello <b>big</b> \'you\' &amp; me\nnew</string>
    <string name="b" translatable="false">keep</string>
    <string name="c">@string/a</string><string name="d">?attr/name</string>
    <string name="e">
        Has <xliff:g id="n" example="five">%1$d</xliff:g>
        files
    </string>
    <string name="f"><![CDATA[<i>hi</i> there & x]]></string>
    <plurals name="g"><item quantity="one">one</item><item quantity="other">many</item></plurals>
    <string-array name="h"><item>first</item><item>@string/a</item></string-array>
    <string-array name="i" translatable="false"><item>keep</item></string-array>
    <color name="red">red</color><item name="j" type="string">item</item><item name="k" type="id">id</item>
</resources>
"""


def test_all_but_strings_stays() -> None:
    expected = RESOURCES.replace(
        r"Hello <b>big</b> \'you\' &amp; me\nnew", r"HELLO <b>BIG</b> \'YOU\' &amp; ME\nNEW"
    ).replace(
        'Has <xliff:g id="n" example="five">%1$d</xliff:g>\n        files',
        'HAS <xliff:g id="n" example="five">%1$d</xliff:g> FILES',
    )
    for part in ("<i>hi</i> there & x", ">one<", ">many<", ">first<", ">item<"):
        expected = expected.replace(part, part.upper())
    assert upper(RESOURCES, ".xml") == expected


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r"It\'s \"you\"", 'It\'s "you"'),
        (r'"two  blanks" and   one', "two  blanks and one"),
        (r"\u0041\u00e9\uD83D\uDE00\@\?\\", "A\u00e9\U0001f600@?\\"),
        (r'"It\'s" "fine"', "It's fine"),
        ("a<!-- note -->b", "a\U000f8000b"),
    ],
)
def test_escapes_are_read(raw: str, text: str) -> None:
    assert texts(f'<resources><string name="a">{raw}</string></resources>', ".xml") == [text]


@pytest.mark.parametrize(
    ("translation", "raw"),
    [("@a", r"\@a"), ("?a", r"\?a"), (" a  b ", r"\u0020a \u0020b\u0020"), ("'\"\\\n\t<", r"\'\"\\\n\t&lt;")],
)
def test_escapes_are_written(translation: str, raw: str) -> None:
    opened = open_file(b'<resources><string name="a">Yes</string></resources>', "strings.xml", "de", 1000)
    assert opened.write([translation]).decode() == f'<resources><string name="a">{raw}</string></resources>'


def test_other_xml_is_refused() -> None:
    with pytest.raises(DamagedFile, match="its root is <rss>, not <resources>"):
        texts("<rss/>", ".xml")
    assert texts('<tmx><header srclang="en"/><body/></tmx>', ".xml") == []


@pytest.mark.parametrize(
    "content",
    [
        """<![CDATA[Read <a href="https://a.b/?x=1&y='2'" target='_blank'>our page</a> & don\\'t]]>""",
        """Read &lt;a href=\\"https://a.b\\"&gt;our page&lt;/a&gt;""",
        """&lt;font color='#f00'&gt;our page&lt;/font&gt;""",
    ],
)
def test_attributes_of_tags_in_text_keep_their_quotation_marks(content: str) -> None:
    source = f'<resources><string name="a">{content}</string></resources>'
    opened = open_file(source.encode(), "strings.xml", "de", 1000)
    [text] = opened.texts
    assert opened.write([text.replace("page", "site")]).decode() == source.replace("page", "site")
