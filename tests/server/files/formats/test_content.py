"""A file without a name has the format of its content."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import FileError, UnsupportedFile
from server.files.formats.content import suffix_by_content
from server.files.formats.registry import FORMATS, open_file, suffix_of
from tests.server.files.some import small_files

SMALL = small_files()
SAME = {".htm": ".html", ".mdx": ".md", ".xlf": ".xliff", ".yml": ".yaml", ".ssa": ".ass", ".ndjson": ".jsonl"}
"""Suffixes of one format."""


def _shouted(data: bytes, name: str) -> bytes:
    opened = open_file(data, name, "de", 10**6)
    return opened.write([text.upper() for text in opened.texts])


@pytest.mark.parametrize("nameless", ["file", "blob", "upload.bin"])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_every_format_is_recognised_without_a_name(name: str, nameless: str) -> None:
    suffix = suffix_of(name, SMALL[name])
    assert FORMATS[suffix_of(nameless, SMALL[name])].opener == FORMATS[suffix].opener
    if not SMALL[name].startswith(b"PK"):  # archives have the time of their writing
        assert _shouted(SMALL[name], nameless) == _shouted(SMALL[name], name)


@pytest.mark.parametrize("bom", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "name",
    sorted(name for name in SMALL if not name.endswith(("xliff", "xlf", "eml", "pdf")) and SMALL[name][:2] != b"PK"),
)
def test_neither_line_ends_nor_byte_order_marks_hide_a_format(name: str, newline: str, bom: str) -> None:
    data = SMALL[name].decode().replace("\n", newline).encode(bom)
    suffix = suffix_of(name, data)
    assert suffix_by_content(data) == SAME.get(suffix, suffix)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("---\ntitle: A garden\n---\nText.\n", ".md"),
        ("---\r\ntitle: A garden\r\n---\r\nText.\r\n", ".md"),
        ("+++\ntitle = 'A garden'\n+++\nText.\n", ".md"),
        ("00:00:01,000 --> 00:00:02,000\nYes.\n", ".srt"),
        ("# Licence\n" * 900 + '\nmsgid ""\nmsgstr ""\n', ".po"),
        ("<!-- a note -->\n<p>Yes.</p>", ".html"),
        ('<?xml version="1.0"?>\n<!-- x -->\n<xliff version="2.0"/>', ".xliff"),
        ("key;text\na.b;Yes\n", ".csv"),
        ('{"a": "Yes"}\n', ".json"),
        ('{"a": "Yes"}\n\n{"a": "No"}\n', ".jsonl"),
        ('{"a":\n"Yes"}\n', ".json"),
        ("0:00:01.000,0:00:02.000\nYes.\n", ".sbv"),
        ("; A note\n[Script Info]\n[Events]\n", ".ass"),
        ("[ti:A song]\n[00:12.00]Yes\n", ".lrc"),
        ("[10:30] Yes\n", ".txt"),
        ("% A note\n\\documentclass{article}\n", ".tex"),
        ("[1] See the book, page 5.\n[2] See there.", ".txt"),
        ("[Yes]", ".txt"),
        ("Good morning, dear neighbour.\nHow are you, sir?\n", ".txt"),
        ("Yes.\n\n- one\n- two\n", ".txt"),
        ("<3 you\n", ".txt"),
        ("Received: by a\n (x)\nFrom: a@b.c\nTo: d@e.f\n\nYes.\n", ".eml"),
        ("From: the sea\n\nYes: we came.\n", ".txt"),
        ("Dear all,\n\nthe station is closed.\n", ".txt"),
        ("%PDF-1.7 ...", ".pdf"),
        ("{\\rtf1 a}", ".rtf"),
        ("a.title=Yes\na.text=No\n", ".properties"),
        ("# A note\n! Another\na.title = Yes \\\n    and no\n\nb=c\n", ".properties"),
        ("title = Yes\ntext = You have { $n } files\n", ".ftl"),
        ("title = Yes\n    .label = No\n", ".ftl"),
        ("-brand = Yes\ntitle = Yes\n", ".ftl"),
        ("---\nen:\n  title: Yes\n", ".yaml"),
        ("---\ntitle: Yes\ntext: No\n", ".yaml"),
        ("# A note\nEnglish:\n  - one\n", ".yaml"),
        ("title: Yes\ntext: No\n", ".yaml"),
        ("Dear Ada: yes\nor no\n", ".txt"),
        ("Note: Yes.\nTip: No.\n", ".txt"),
        ("- one\n- two\n", ".txt"),
        ('/* "a" */ // b\n"title" = "Yes";\n', ".strings"),
        ('{"a": {"sourceLanguage": 1}}', ".json"),
        ('{"a": "@b"}', ".json"),
        ("<root><x/></root>", ".txt"),
        ("", ".txt"),
    ],
)
def test_content(text: str, suffix: str) -> None:
    assert suffix_by_content(text.encode()) == suffix


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04 a broken archive", "archive"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01", "neither text"),
        (b"a, b, c\nd, e, f\ng, h, i\n", "table or text"),
        (b"<?xml version='1.0'?><rss/>", "<rss>"),
        (b"<?xml version='1.0'?><root/>", "<root>"),
        (b"title = Yes\ntext = No\n", "Fluent"),
    ],
)
def test_what_is_not_evidently_text_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(UnsupportedFile, match=message):
        suffix_of("file", data)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"\n", b"---\n", b"<!--", b"-", b'"', b"# ", b"a,b\n", b"\t", b"[", b"](", b"1\n", b"\xff"])
    )
)
def test_any_content_has_a_format_or_a_reason(parts: list[bytes]) -> None:
    try:
        answer = suffix_by_content(b"".join(parts))
    except FileError as error:
        answer = str(error)
    assert answer.startswith(".") or answer.endswith("send it with its name")


@pytest.mark.parametrize("unit", ['"', "<!-", "\n", "#\n", "[", "a,", "\t\n", "```", "<?", "[a](", "**a", " ", "1"])
def test_only_the_beginning_of_a_file_is_read(unit: str) -> None:
    """A long file costs what a short one does: the answer is that of its beginning."""
    assert suffix_by_content((unit * 2**20).encode()[: 2**20]) == suffix_by_content((unit * 2**18).encode()[: 2**18])
