"""Deeply nested and self-referring inputs."""

from loadtest.hostile.attempt import Attempt, hostile_input, scaled
from loadtest.hostile.inputs.archives import DOCUMENT, packed, word
from loadtest.hostile.sending import post_json, upload

XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en">'
    "<body>{}</body></file></xliff>"
)
UNIT = '<trans-unit id="1"><source>{}</source></trans-unit>'


def laughs() -> str:
    """Entities that grow tenfold with each of ten."""
    lines = ['<!ENTITY a0 "aaaaaaaaaa">']
    lines += [f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 10)]
    return f"<!DOCTYPE a [{''.join(lines)}]>"


def long_entity(share: float) -> tuple[str, str]:
    """An entity of 50 kB, and as many references to it."""
    return f'<!DOCTYPE a [<!ENTITY a "{"a" * scaled(50_000, share)}">]>', "&a;" * scaled(50_000, share)


@hostile_input("Word: entities that grow tenfold")
def word_laughs(share: float) -> Attempt:
    """A .docx file with 10^10 letters in ten entities."""
    return upload("a.docx", packed({DOCUMENT: (laughs() + "<a>&a9;</a>").encode()}))


@hostile_input("XLIFF: entities that grow tenfold")
def xliff_laughs(share: float) -> Attempt:
    """The same in an .xliff file."""
    return upload("a.xliff", (laughs() + XLIFF.format(UNIT.format("&a9;"))).encode())


@hostile_input("Word: a long entity, often")
def word_entity(share: float) -> Attempt:
    """A .docx file with an entity of 50 kB that is named 50,000 times."""
    declared, used = long_entity(share)
    return upload("a.docx", packed({DOCUMENT: f"{declared}<a>{used}</a>".encode()}))


@hostile_input("XLIFF: a long entity, often")
def xliff_entity(share: float) -> Attempt:
    """The same in an .xliff file."""
    declared, used = long_entity(share)
    return upload("a.xliff", (declared + XLIFF.format(UNIT.format(used))).encode())


@hostile_input("XLIFF: deep tags")
def xliff_deep(share: float) -> Attempt:
    """A text in 100,000 tags."""
    count = scaled(100_000, share)
    return upload("a.xliff", XLIFF.format(UNIT.format('<g id="1">' * count + "a" + "</g>" * count)).encode())


@hostile_input("Word: deep tags")
def word_deep(share: float) -> Attempt:
    """A paragraph in 300,000 tags."""
    count = scaled(300_000, share)
    return upload("a.docx", word("<w:sdt>" * count + "<w:p><w:r><w:t>a</w:t></w:r></w:p>" + "</w:sdt>" * count))


@hostile_input("Word: tables in tables")
def word_tables(share: float) -> Attempt:
    """80 tables in each other (libxml2 takes 256 levels), many times."""
    inner = "<w:tbl><w:tr><w:tc>" * 80 + "<w:p><w:r><w:t>a</w:t></w:r></w:p>" + "</w:tc></w:tr></w:tbl>" * 80
    return upload("a.docx", word(inner * scaled(5_000, share)))


@hostile_input("JSON body: deep lists")
def json_body(share: float) -> Attempt:
    """A body of two million opening brackets."""
    return post_json("/v1/translate", b"[" * scaled(2_000_000, share))


@hostile_input("JSON body: deep objects that close")
def json_objects(share: float) -> Attempt:
    """A body of objects in objects."""
    count = scaled(400_000, share)
    return post_json("/v1/translate", b'{"a":' * count + b"1" + b"}" * count)


@hostile_input("JSON file: deep lists")
def json_file(share: float) -> Attempt:
    """A .json file of lists in lists."""
    count = scaled(1_000_000, share)
    return upload("a.json", b"[" * count + b'"a"' + b"]" * count)


@hostile_input("HTML file: deep tags")
def html_deep(share: float) -> Attempt:
    """An .html file of <div> in <div>."""
    count = scaled(100_000, share)
    return upload("a.html", b"<div>" * count + b"Good morning." + b"</div>" * count)


@hostile_input("HTML file: deep inline tags")
def html_inline(share: float) -> Attempt:
    """An .html file of <b> in <i>."""
    count = scaled(50_000, share)
    return upload("a.html", b"<p>" + b"<b><i>" * count + b"Good morning." + b"</i></b>" * count)


@hostile_input("Markdown: deep brackets that close")
def markdown_deep(share: float) -> Attempt:
    """Brackets in brackets."""
    count = scaled(100_000, share)
    return upload("a.md", b"[" * count + b"a" + b"](b)" * count)
