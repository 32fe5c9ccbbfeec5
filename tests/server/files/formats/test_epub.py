"""Books come back whole: pages, table of contents and title translated, everything else byte for byte."""

import io
import random
import re
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from server.files.formats.base import DamagedFile, FileTooLarge
from server.files.formats.registry import open_file
from tests.server.files.formats.files import epub_of, packed

HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en">'
    '<head><title>The harbour</title><link rel="stylesheet" href="a.css"/></head><body>'
)
PAGE = (
    f"{HEAD}<h1 id='a'>The harbour</h1>\n<p>We&#160;walk <b>home</b>&#8212;in the rain<br/>"
    "and <a href='#a'>back</a>.</p>"
    "<img src='a.png' alt='A small boat'/><pre>code here</pre></body></html>"
)
CONTENTS = "<navPoint><navLabel><text>The harbour</text></navLabel></navPoint>"


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def translated(data: bytes, translate: Callable[[str], str]) -> bytes:
    opened = open_file(data, "a.epub", "de", 1_000_000)
    return opened.write([translate(text) for text in opened.texts])


def encrypted(algorithm: str, name: str) -> bytes:
    listed = (
        f'<encryption xmlns:e="e"><e:EncryptedData><e:EncryptionMethod Algorithm="{algorithm}"/><e:CipherData>'
        f'<e:CipherReference URI="{name}"/></e:CipherData></e:EncryptedData></encryption>'
    )
    return epub_of(PAGE, CONTENTS, ("META-INF/encryption.xml", listed))


def test_what_is_translated_into_itself_is_the_book() -> None:
    data = epub_of(PAGE, CONTENTS)
    assert translated(data, lambda text: text) == data


def test_pages_contents_and_titles_are_translated() -> None:
    data = epub_of(PAGE, CONTENTS)
    assert open_file(data, "a.epub", "de", 10_000).texts.count("The harbour") == 2, "the entry is that of the page"
    after = parts_of(translated(data, str.upper))
    page = after["OEBPS/a b.xhtml"].decode()
    assert "<title>THE HARBOUR</title>" in page
    assert "WE\u00a0WALK <b>HOME</b>\u2014IN THE RAIN<br/>" in page
    assert 'xml:lang="de"' in page
    assert "alt='A SMALL BOAT'" in page
    assert "<pre>code here</pre>" in page
    assert b"<text>THE HARBOUR</text>" in after["OEBPS/toc.ncx"]
    assert b"<dc:title>A TITLE</dc:title><dc:language>de</dc:language>" in after["OEBPS/content.opf"]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_translation_says_pages_are_well_formed(seed: int) -> None:
    """Named references of HTML would not be."""
    chance = random.Random(seed)

    def anything(text: str) -> str:
        tokens = [*re.split(r"(\W)", text), '\u00a0<new> & "\x00', "\n", "]]>"]
        chance.shuffle(tokens)
        return "".join(tokens)

    before = epub_of(PAGE, CONTENTS, ("OEBPS/a.css", "p {}"))
    data = translated(before, anything)
    assert data[:58] == before[:58], "its programs recognise the book by these bytes"
    after = parts_of(data)
    assert list(after) == list(parts_of(before))
    assert after["OEBPS/a.css"] == b"p {}"
    for name in ("OEBPS/a b.xhtml", "OEBPS/toc.ncx", "OEBPS/content.opf"):
        etree.fromstring(after[name])
    ours, theirs = (sorted(item.tag for item in etree.fromstring(part).iter("*"))
                    for part in (PAGE.encode(), after["OEBPS/a b.xhtml"]))  # fmt: skip
    assert ours == theirs


def test_pages_without_a_translation_keep_their_bytes() -> None:
    """Their references, too."""
    after = parts_of(translated(epub_of(PAGE, CONTENTS), lambda text: "Boot" if text == "A small boat" else text))
    assert after["OEBPS/a b.xhtml"].decode() == PAGE.replace("A small boat", "Boot").replace('lang="en"', 'lang="de"')


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_pages_keep_their_encoding(encoding: str) -> None:
    data = epub_of("", "", ("OEBPS/b.xhtml", PAGE.partition("\n")[2].encode(encoding)))
    data = packed(
        [(name, part.replace(b'href="a%20b.xhtml"', b'href="b.xhtml"')) for name, part in parts_of(data).items()]
    )
    page = parts_of(translated(data, str.upper))["OEBPS/b.xhtml"]
    assert page[:2] == PAGE.encode(encoding)[:2]
    assert "<h1 id='a'>THE HARBOUR</h1>" in page.decode(encoding)


def test_books_that_are_protected_are_refused() -> None:
    with pytest.raises(DamagedFile, match="DRM"):
        translated(encrypted("http://www.w3.org/2001/04/xmlenc#aes256-cbc", "OEBPS/a b.xhtml"), str.upper)
    fonts = encrypted("http://www.idpf.org/2008/embedding", "OEBPS/a.otf")
    assert "THE HARBOUR" in parts_of(translated(fonts, str.upper))["OEBPS/a b.xhtml"].decode()


def test_what_is_no_book_is_refused() -> None:
    with pytest.raises(DamagedFile, match=r"no META-INF/container\.xml"):
        open_file(packed([("a.xml", "<a/>")]), "a.epub", "de", 1000)
    with pytest.raises(DamagedFile, match="list of its parts"):
        open_file(packed([("META-INF/container.xml", "<a/>")]), "a.epub", "de", 1000)


def test_tags_of_all_pages_are_counted() -> None:
    with pytest.raises(FileTooLarge, match="tags"):
        open_file(epub_of("<b>" * 150_000), "a.epub", "de", 1000)


def test_the_description_and_pages_that_are_pictures() -> None:
    """A picture beside the pages stays."""
    picture = '<svg xmlns="http://www.w3.org/2000/svg"><style>a b</style><text>The cover</text></svg>'
    item = '<item id="{0}" href="{0}.svg" media-type="image/svg+xml"/></manifest>'
    book = epub_of("<html><p>One</p></html>", "", ("OEBPS/s.svg", picture), ("OEBPS/o.svg", picture))
    parts = parts_of(book)
    package = parts["OEBPS/content.opf"].decode().replace("</manifest>", item.format("s"))
    package = package.replace("</manifest>", item.format("o")).replace("<spine>", '<spine><itemref idref="s"/>')
    package = package.replace("</metadata>", "<dc:description>About a cover</dc:description></metadata>")
    parts["OEBPS/content.opf"] = package.encode()
    after = parts_of(translated(packed(list(parts.items())), str.upper))
    assert after["OEBPS/s.svg"].decode() == picture.replace("The cover", "THE COVER")
    assert after["OEBPS/o.svg"].decode() == picture
    assert b"<dc:description>ABOUT A COVER</dc:description>" in after["OEBPS/content.opf"]


def with_package(change: Callable[[str], str], *more: tuple[str, str | bytes]) -> bytes:
    """A book whose package is changed."""
    parts = parts_of(epub_of(PAGE, CONTENTS, *more))
    parts["OEBPS/content.opf"] = change(parts["OEBPS/content.opf"].decode()).encode()
    return packed(list(parts.items()))


@given(
    st.sampled_from(["a%20b.xhtml", "a b.xhtml", "./a%20b.xhtml", "../OEBPS/a%20b.xhtml", "/OEBPS/a%20b.xhtml"]),
    st.sampled_from(["OEBPS/content.opf", "/OEBPS/content.opf", "OEBPS/c%6Fntent.opf", "./OEBPS/content.opf"]),
    st.sampled_from(["application/xhtml+xml", "text/html"]),
)
def test_parts_are_found_however_they_are_named(page: str, package: str, media_type: str) -> None:
    def changed(text: str) -> str:
        return text.replace("a%20b.xhtml", page).replace("application/xhtml+xml", media_type)

    parts = parts_of(with_package(changed, ("b.pdf", "%PDF-")))
    container = parts["META-INF/container.xml"].decode().replace("OEBPS/content.opf", package)
    other = '<rootfile full-path="b.pdf" media-type="application/pdf"/></rootfiles>'
    parts["META-INF/container.xml"] = container.replace("</rootfiles>", other).encode()
    after = parts_of(translated(packed(list(parts.items())), str.upper))
    assert "IN THE RAIN" in after["OEBPS/a b.xhtml"].decode()
    assert b"<dc:title>A TITLE" in after["OEBPS/content.opf"]


@pytest.mark.parametrize("change", [('href="a%20b.xhtml"', 'href="c.xhtml"'), ("application/xhtml+xml", "a/b")])
def test_pages_that_are_not_read_are_said(change: tuple[str, str]) -> None:
    data = with_package(lambda text: text.replace(*change))
    assert open_file(data, "a.epub", "de", 10_000).notes == [
        "1 pages in the order of reading were not translated: no XHTML, or missing"
    ]


@pytest.mark.parametrize("declared", ["en", "en-GB", "fr"])
@pytest.mark.parametrize("root", ["", ' xml:lang="en-US"'])
def test_languages_of_the_package_become_the_target_and_others_stay(declared: str, root: str) -> None:
    """The first language is the book's, whatever it is; what is in another one stays."""
    others = (
        '<dc:title xml:lang="ja">Minato title</dc:title><dc:language>ja</dc:language><dc:creator>A name</dc:creator>'
    )
    guide = '<guide><reference type="cover" title="The cover" href="a%20b.xhtml"/></guide></package>'
    data = with_package(
        lambda text: (
            text.replace("<package>", f"<package{root}>")
            .replace("<dc:language>en</dc:language>", f"<dc:language>{declared}</dc:language>{others}")
            .replace("</package>", guide)
        )
    )
    after = parts_of(translated(data, str.upper))["OEBPS/content.opf"].decode()
    assert "<dc:title>A TITLE</dc:title><dc:language>de</dc:language>" + others in after
    assert root.replace("en-US", "de") in after
    assert 'title="THE COVER"' in after
    own = with_package(
        lambda text: text.replace("<dc:title>", f'<dc:title xml:lang="{declared}">').replace(">en<", f">{declared}<")
    )
    assert b'<dc:title xml:lang="de">A TITLE<' in parts_of(translated(own, str.upper))["OEBPS/content.opf"]


def test_authors_in_the_table_of_contents_stay_and_its_references_are_characters() -> None:
    doctype = '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "ncx-2005-1.dtd">'
    parts = parts_of(
        epub_of(PAGE, "<docAuthor><text>Ada Boat</text></docAuthor><t><text>A&nbsp;caf&eacute; here</text></t>")
    )
    parts["OEBPS/toc.ncx"] = doctype.encode() + parts["OEBPS/toc.ncx"]
    after = parts_of(translated(packed(list(parts.items())), str.upper))["OEBPS/toc.ncx"].decode()
    assert "<docAuthor><text>Ada Boat</text></docAuthor><t><text>A CAF\u00c9 HERE</text></t>" in after


def test_a_description_in_html_is_read_as_a_page() -> None:
    reference = with_package(
        lambda text: text.replace("</metadata>", "<dc:description>Men &amp;amp; boats</dc:description></metadata>")
    )
    assert "Men & boats" in open_file(reference, "a.epub", "de", 10_000).texts
    escaped = (
        "&lt;p class=&quot;a b&quot;&gt;About &lt;b&gt;boats&lt;/b&gt;.&lt;/p&gt;&lt;p&gt;And &amp;amp; men.&lt;/p&gt;"
    )
    data = with_package(
        lambda text: text.replace("</metadata>", f"<dc:description>{escaped}</dc:description></metadata>")
    )
    opened = open_file(data, "a.epub", "de", 10_000)
    assert "And & men." in opened.texts
    assert opened.write(opened.texts) == data
    package = parts_of(translated(data, str.upper))["OEBPS/content.opf"]
    description = etree.fromstring(package).findtext(".//{http://purl.org/dc/elements/1.1/}description")
    assert description == '<p class="a b">ABOUT <b>BOATS</b>.</p><p>AND &amp; MEN.</p>'
    only = opened.write([text.upper() if text == "A title" else text for text in opened.texts])
    assert f"<dc:description>{escaped}</dc:description>" in parts_of(only)["OEBPS/content.opf"].decode()


def test_pictures_have_the_language_of_the_book() -> None:
    picture = '<svg xmlns="http://www.w3.org/2000/svg" xml:lang="en"><text>The cover</text></svg>'
    item = '<item id="s" href="s.svg" media-type="image/svg+xml"/></manifest>'
    data = with_package(
        lambda text: text.replace("</manifest>", item).replace("<spine>", '<spine><itemref idref="s"/>'),
        ("OEBPS/s.svg", picture),
    )
    after = parts_of(translated(data, str.upper))["OEBPS/s.svg"].decode()
    assert after == picture.replace("The cover", "THE COVER").replace('"en"', '"de"')
