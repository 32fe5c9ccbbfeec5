"""Files of every format made of generated texts, and ordinary ones."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.growth import ORDINARY
from tests.server.files.formats.files import (
    balanced,
    docx_of,
    epub_of,
    idml_of,
    mail_of,
    odt_of,
    pdf_of,
    pptx_of,
    xliff_of,
    xlsx_of,
)

_CATALOGUE_LINE = re.compile(r'''#.*|(?:msg\w+(?:\[\d\])? )?"(?:[^"\\]|\\.)*+"''')


@dataclass(frozen=True)
class Sample:
    """`tokens` that the format's parser knows, an `ordinary` text of them, and how a text becomes a file."""

    tokens: tuple[str, ...]
    ordinary: str
    build: Callable[[str], bytes]


def _utf8(text: str) -> bytes:
    return text.replace("\x00", "0").encode()


def _json(text: str) -> bytes:
    """A list with what comes before the last line, if there are lines."""
    whole, _, _ = text.rpartition(",\n")
    return _utf8(f'[{whole}, "end"]' if whole else f'[{text} "end"]')


def _json_lines(text: str) -> bytes:
    """Lines that are no JSON become strings."""

    def line_of(line: str) -> str:
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return json.dumps(line)
        return line

    return _utf8("\n".join(line_of(line) for line in text.split("\n") if line.strip()))


def _catalogue(text: str) -> bytes:
    """Lines that do not belong to a catalogue become strings."""

    def line_of(line: str) -> str:
        return line if not line or _CATALOGUE_LINE.fullmatch(line) else '"' + re.sub(r'["\\\\]', "", line) + '"'

    return _utf8('msgid ""\nmsgstr ""\n' + "\n".join(map(line_of, text.split("\n"))))


def _bundle(text: str) -> bytes:
    whole, _, _ = text.rpartition(",\n")
    return _utf8(f'{{{whole}, "end": "End"}}' if whole else f'{{{text} "end": "End"}}')


def _string_catalogue(text: str) -> bytes:
    whole, _, _ = text.rpartition(",\n")
    return _utf8(f'{{"sourceLanguage": "en", "strings": {{{whole or text}}}, "version": "1.0"}}')


def _xml(before: str, after: str) -> Callable[[str], bytes]:
    return lambda text: f"{before}{balanced(text)}{after}".encode()


_LINES = ORDINARY.strip().split(". ")
_DIALOGUE = "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,"
_CUE = "00:00:01,000 --> 00:00:02,000\n"

SAMPLES = {
    ".txt": Sample(("a", " ", "\n", "\r\n", "\u00e9"), ORDINARY, _utf8),
    ".md": Sample(
        (
            "# ", "a ", "**", "*", "_", "`", "``", "```\n", "[", "]", "(", ")", "![", "](x)", "> ", "- ", "1. ", "\n",
            "\n\n", "    ", "|", "|-|-|\n", "| a | b |\n", "<b>", "</b>", "<!--", "-->", "$", "$$", "~~", "[^1]",
            "[a]: b\n", "\\", "---\n", "===\n", "Word. ", "\t", "\\|", "<div>\n", "&amp;", "[a](b)", "[a][b]", "\\`",
            "---", "+++\n", "\r\n", "*[a]: b\n", "title: a\n", "[a]: ./", "](data:a,",
        ),
        f"# A title\n\n{ORDINARY}\n- {_LINES[0]} and *more*\n- {_LINES[1]} with `code`\n\n"
        "| a | b |\n|---|---|\n| c | d |\n\n",
        _utf8,
    ),
    ".html": Sample(
        (
            "<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<a href='x'>", "</a>", "<br>", "<!--", "-->", "&amp;", "&",
            "<",
            ">", '"', "'", "<img alt='an image'>", "<script>", "</script>", "<p translate=no>", "text ", "=", "\n",
        ),
        f"<h1>Title</h1>\n<p>{ORDINARY} and <b>bold</b></p>\n",
        _utf8,
    ),
    ".srt": Sample(
        (
            "-->", _CUE, "\n", "\r\n", "<i>", "</i>", "1\n", "text ", "- ", "{\\an8}", "{", "\\", "<", ">", "<b.c",
            "aa ",
            "\r", "\n\n", "{i}", "<00:01>", ":",
        ),
        f"1\n{_CUE}{_LINES[0]}\n<i>{_LINES[1][:40]}</i>\n\n",
        lambda text: _utf8(f"1\n{_CUE}text\n\n{text}"),
    ),
    ".vtt": Sample(
        (
            "-->", _CUE, "\n", "\r\n", "<c.x>", "</c>", "NOTE\n", "text ", "- ", "&amp;", "&#0;", "&#", "99", "&", "<",
            ">",
            "<v Bob>", "\n\n", "<00:01>", ";",
        ),
        f"1\n{_CUE}{_LINES[0]} &amp; on\n<i>{_LINES[1][:40]}</i>\n\n",
        lambda text: _utf8(f"WEBVTT\n\n{text}"),
    ),
    ".sbv": Sample(
        (
            "0:00:01.000,0:00:02.000\n", ",", "\n", "\r\n", "<i>", "</i>", "text ", "- ", "{\\an8}",
            "{", ":", "0", "\n\n",
        ),
        f"0:00:01.000,0:00:02.000\n{_LINES[0]}\n{_LINES[1][:40]}\n\n",
        lambda text: _utf8(f"0:00:01.000,0:00:02.000\ntext\n\n{text}"),
    ),
    ".ass": Sample(
        (
            _DIALOGUE, "\n", "\r\n", "{\\i1}", "{\\i0}", "{", "}", "\\N", "\\h", "\\n", "\\", "{\\k9}", "{\\p1}",
            "text ", "- ", ",", "{note}", "[Events]\n", "[Other]\n", "Format: a,b\n", "Comment: ", "Dialogue: ",
            "{\\k9}a ", "[",
        ),
        f"{_DIALOGUE}{_LINES[0]}\\Nand {{\\i1}}{_LINES[1][:40]}{{\\i0}}\n",
        lambda text: _utf8(f"[Script Info]\n\n[Events]\n{_DIALOGUE}text\n{text}"),
    ),
    ".jsonl": Sample(
        ('"', "\\", '"a"', '\n"a b"\n', '\n{"a": "b"}\n', "\n[]\n", "\n", "\n9\n", "true", "[", "]", "{", "}", "text "),
        f'{{"text": "{_LINES[0]}"}}\n{{"text": "{_LINES[1]}"}}\n',
        _json_lines,
    ),
    ".xliff": Sample(
        (
            "<trans-unit>", "</trans-unit>", "<source>", "</source>", "<target>", "</target>", '<g id="1">', "</g>",
            "<x/>", "<mrk>", "</mrk>", '<group translate="no">', "</group>", "text", "<!-- c -->", "<file>", "&",
            "<segment>", "</segment>",
        ),
        f'<trans-unit id="1"><source>{_LINES[0]} <g id="1">more</g></source></trans-unit>\n',
        lambda text: xliff_of(balanced(text)),
    ),
    ".po": Sample(
        (
            'msgid "a"\n', 'msgstr ""\n', '"more"\n', '""\n', 'msgid_plural "b"\n', 'msgstr[0] ""\n', 'msgstr[1] ""\n',
            "# note\n", "#: a.c:1\n", "\n", "\\n", '\\"', "\\\\", "text ", "a-", "-", "!", 'msgctxt "c"\n', "#~ ",
            'msgid "a"\nmsgstr ""\n', 'msgid ""\nmsgstr ""\n"Language: x\\n"\n',
        ),
        f'#: a.c:1\nmsgid "{_LINES[0]}"\nmsgstr ""\n\n#: a.c:2\nmsgid "{_LINES[1]}"\nmsgstr "done"\n\n',
        _catalogue,
    ),
    ".csv": Sample(
        ('"', '""', ",", ";", "\n", "\r\n", "a", "text ", "1", '"q, r"', "\t", "|"),
        '4711,Chair,oak and wool,"seats four, ""so"" they say",89,\n',
        _utf8,
    ),
    ".tsv": Sample(("\t", '"', "\n", "a", "1", "text "), "4711\tChair\toak and wool\tseats four\t89\n", _utf8),
    ".json": Sample(
        (
            '"a",', '"b", ', "[1],", "{},", "1,", '"\\n\\"x",', "null,", '"\\u00e9",', "9", "1e9,", '{"k": "v"},', "\\",
            "   ", ",\n",
        ),
        f'"{_LINES[0]}", {{"key": "{_LINES[1]}", "n": 12}},\n',
        _json,
    ),
    ".docx": Sample(
        (
            "<w:p>", "</w:p>", "<w:r>", "</w:r>", "<w:t>a</w:t>", "<w:r><w:t>a</w:t></w:r>", "<w:tab/>", "<w:br/>",
            "<w:rPr><w:b/></w:rPr>", '<w:rPr><w:i/><w:lang w:val="x"/></w:rPr>', '<w:hyperlink id="1">',
            "</w:hyperlink>",
            "<w:drawing/>", "<w:ins>", "</w:ins>", "<w:pict>", "</w:pict>", "<w:pPr/>", "<w:rPr>", "</w:rPr>", "text",
            "<w:t>", "</w:t>", "<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r>", "<!-- c -->", "<w:tbl>", "</w:tbl>", "&",
        ),
        '<w:p w:rsidR="00A1"><w:pPr><w:jc w:val="left"/></w:pPr><w:r><w:rPr><w:b/></w:rPr><w:t>'
        f"{_LINES[0]}</w:t></w:r><w:r><w:t>{_LINES[1]}</w:t></w:r></w:p>",
        lambda text: docx_of(balanced(text)),
    ),
    ".pptx": Sample(
        (
            "<a:p>", "</a:p>", "<a:r>", "</a:r>", "<a:t>a</a:t>", "<a:r><a:t>a</a:t></a:r>", "<a:br/>",
            "<a:fld>", "</a:fld>",
            '<a:rPr b="1"/>', '<a:rPr lang="x"/>', "<a:endParaRPr/>", "<a:pPr/>", "<a:rPr>", "</a:rPr>", "<a:t>",
            "</a:t>",
            "text", '<a:r><a:rPr b="1"/><a:t>a</a:t></a:r>',
        ),
        f'<a:p><a:pPr/><a:r><a:rPr lang="en" b="1"/><a:t>{_LINES[0]}</a:t></a:r>'
        f"<a:r><a:t>{_LINES[1]}</a:t></a:r></a:p>",
        lambda text: pptx_of(balanced(text)),
    ),
    ".properties": Sample(
        (
            "a=text\n", "key : value\n", "a.b ", "\\", "\\\n", "\\\r\n", "  ", "\\u00e9", "\\u", "\n", "\r", "#", "!",
            "=", ":", "\t",
            "text", "''", "'", "{0}", "\f", "\\n",
        ),
        f"# note\na.title = {_LINES[0]}\na.text = {_LINES[1]} \\\n    and so on {{0}}\n\n",
        _utf8,
    ),
    ".yaml": Sample(
        (
            "a: ", "text\n", "- ", "  ", "\n", '"', "'", "|\n", ">\n", ">-\n", "  text\n", "[", "]", "{", "}", ", ",
            "&a ",
            "*a", "!x ", "!!str ", "# note\n", "---\n", "...\n", "? ", ": ", "en:\n", "\\n", "yes\n", "\r\n", "\t",
            "a: text\n",
            "  a: 'text'\n", "%YAML 1.1\n", "<<: ", ":a\n",
        ),
        f'- title: "{_LINES[0]}"\n  text: {_LINES[1]}\n  long: |\n    {_LINES[0]}\n    {_LINES[1]}\n',
        _utf8,
    ),
    ".arb": Sample(
        ('"a": "text",', '"b": ', '"@a": {},', '"@@locale": "en",', "{", "}", "[1],", '"', "\\", "1,", ",\n", "null,",
        " "),
        f'"a": "{_LINES[0]}", "@a": {{"description": "{_LINES[1]}"}},\n',
        _bundle,
    ),
    ".xcstrings": Sample(
        (
            '"a text": {},', '"b": {"localizations": {"en": {"stringUnit": {"state": "new", "value": "text"}}}},', "{",
            "}",
            '"c": {"localizations": {}},', '"d": {"shouldTranslate": false},', '"localizations": ', '"', ",\n", "\n  ",
            "[]",
            '"e": {"localizations": {"de": {"stringUnit": {"state": "new", "value": ""}}}},', '"stringUnit": ', "1",
            ",",
        ),
        f'"{_LINES[0]}": {{"localizations": {{"en": {{"stringUnit": {{"value": "{_LINES[1]}"}}}}}}}},\n',
        _string_catalogue,
    ),
    ".strings": Sample(
        (
            '"a" = "text";\n', '"', '" = "', '";\n', "/*", "*/", "//", "\n", "\\", '\\"', "a = b;", ";", "=", "\\U00e9",
            "\\101", " ",
            "*", "/", "text",
        ),
        f'/* note */\n"a.title" = "{_LINES[0]}";\n"a.text" = "{_LINES[1]} \\"so\\"";\n\n',
        _utf8,
    ),
    ".ftl": Sample(
        (
            "a = text\n", "b =\n", "    text\n", "    .c = text\n", "{", "}", "{ $n }", "{ $n ->\n", "    [one] text\n",
            "   *[other] text\n", "    }\n", "-t = text\n", "# note\n", "### note\n", '{"', '"}', "\n", "\r\n", " ",
            "[", "*", ".",
            "{ -t }", 'F(a: "b")', "{ $n ->\n *[a] text\n }", "text",
        ),
        f"# note\ntitle = {_LINES[0]}\ntext =\n    {_LINES[1]}\n    .label = {_LINES[0]}\n\n",
        _utf8,
    ),
    ".xml": Sample(
        (
            "<string>", "</string>", "<string>text</string>", '<plurals name="p">', "</plurals>", "<item>", "</item>",
            "<b>", "</b>",
            "<string-array>", "</string-array>", "<x:g>", "</x:g>", "\\'", '"', "\\", "\\u00e9", "@a/b", "  ", "\n",
            "<br/>", "&",
            "text", "<!-- c -->", '<string translatable="false">',
        ),
        f'<string name="a">{_LINES[0]} <b>more</b></string>\n<plurals name="p"><item>{_LINES[1]}</item></plurals>\n',
        _xml('<resources xmlns:x="x">', "</resources>"),
    ),
    ".resx": Sample(
        (
            "<data>", "</data>", "<value>", "</value>", "<data><value>text</value></data>", '<data type="x">',
            "<comment>",
            "</comment>", "&", "text", "\n", "<!-- c -->", '<data name="&gt;&gt;a">', "<value/>", "<b>", "</b>",
        ),
        f'<data name="a"><value>{_LINES[0]}</value><comment>{_LINES[1]}</comment></data>\n',
        _xml("<root>", "</root>"),
    ),
    ".ts": Sample(
        (
            "<context>", "</context>", "<message>", "</message>", '<message numerus="yes">', "<source>", "</source>",
            "<source>text</source>", "<translation>", "</translation>", "<translation/>", "<numerusform>",
            "</numerusform>", "text",
            '<translation type="unfinished">', '<translation type="vanished">', "&", "\n", "    ", "<byte/>",
            "<!-- c -->",
        ),
        f'<context><message><source>{_LINES[0]}</source><translation type="unfinished"/></message></context>\n',
        _xml('<TS version="2.1">', "</TS>"),
    ),
    ".tmx": Sample(
        (
            "<tu>", "</tu>", '<tuv lang="en">', '<tuv lang="de">', "</tuv>", "<seg>", "</seg>", "<seg>text</seg>",
            '<bpt i="1">',
            "</bpt>", '<ept i="1">', "</ept>", "<ph/>", "<hi>", "</hi>", "text", "&", "\n", "<!-- c -->",
            '<tu srclang="fr">',
            '<tu><tuv lang="en"><seg>text</seg></tuv></tu>',
        ),
        f'<tu><tuv lang="en"><seg>{_LINES[0]} <hi>{_LINES[1]}</hi></seg></tuv></tu>\n',
        _xml('<tmx><header srclang="en"/><body>', "</body></tmx>"),
    ),
    ".tbx": Sample(
        (
            "<termEntry>", "</termEntry>", '<langSet lang="en">', "</langSet>", "<tig>", "</tig>", "<term>", "</term>",
            "<term>text</term>", "<ntig>", "</ntig>", "<termGrp>", "</termGrp>", "<descrip>", "</descrip>", "text", "&",
            "\n",
            "<termEntry><langSet><tig><term>text</term></tig></langSet></termEntry>",
        ),
        f"<termEntry><langSet><tig><term>{_LINES[0]}</term></tig></langSet></termEntry>\n",
        _xml('<martif type="TBX"><text><body>', "</body></text></martif>"),
    ),
    ".xlsx": Sample(
        (
            "<si>", "</si>", "<is>", "</is>", "<t>a</t>", "<r>", "</r>", "<rPr><b/></rPr>", "<rPh>", "</rPh>", "text ",
            "<si><t>a</t></si>", '<f>"a"&amp;"b, c"', "</f>", '<filter val="a"/>', '<customFilter val="', "<f>", '"',
            '<hyperlink tooltip="a b">', "</hyperlink>", "&", "[", "<c>", "</c>", '<c t="str">', "<v>", "</v>",
            "<!-- c -->", "<phoneticPr/>", "val=", "<filter ", "<cacheField ",
        ),
        f"<si><t>{_LINES[0]}</t></si><si><r><rPr><b/></rPr><t>{_LINES[1]}</t></r><r><t>more</t></r></si>",
        lambda text: xlsx_of(balanced(text)),
    ),
    ".idml": Sample(
        (
            "<ParagraphStyleRange>", "</ParagraphStyleRange>", "<CharacterStyleRange>", "</CharacterStyleRange>",
            "<Content>a</Content>", "<Content>", "</Content>", "<Br/>", "<Note>", "</Note>", "<Properties>a",
            "</Properties>", "<CharacterStyleRange><Content>a</Content></CharacterStyleRange>", "text ", "\t",
            '<CharacterStyleRange FontStyle="Bold">', "<HyperlinkTextSource>", "</HyperlinkTextSource>", "<!-- c -->",
        ),
        '<ParagraphStyleRange><CharacterStyleRange FontStyle="Bold"><Content>'
        f"{_LINES[0]}</Content><Br/></CharacterStyleRange><CharacterStyleRange><Content>{_LINES[1]}</Content>"
        "</CharacterStyleRange></ParagraphStyleRange>",
        lambda text: idml_of(balanced(text)),
    ),
    ".pdf": Sample(
        (
            "(a) Tj ", "(word-) Tj ", "0 -14 Td ", "1 0 0 1 9 700 Tm ", "T* ", "[(a) 9 (b)] TJ ", "BT ", "ET ",
            "q ", "Q ",
            "/F1 12 Tf ", "/F1 24 Tf ", "(\\n) Tj ", "( ) Tj ", "(a) ' ", "<41> Tj ", "% c\n", "1 0 0 1 0 0 cm ", "(",
        ),
        "".join(f"0 -14 Td ({line}) Tj\n" for line in _LINES),
        pdf_of,
    ),
    ".eml": Sample(
        (
            "> ", ">", "-- \n", "a ", "\n", "\n\n", "\r\n", "--b\n", "--b--\n", "Content-Type: text/html\n\n", "=20",
            "=\n",
            "Content-Type: multipart/mixed; boundary=b\n\n", "- ", "1. ", "<b>", " \n", "=?utf-8?q?a?=", "Word. ", "\t",
        ),
        f"--b\n\n{_LINES[0]} and so\non. {_LINES[1][:50]}\n\n> quoted\n",
        mail_of,
    ),
    ".epub": Sample(
        (
            "<p>", "</p>", "<b>", "</b>", "<br/>", "<!--", "-->", "&#160;", "<navLabel><text>a</text></navLabel>", "&",
            "<img alt='an image'/>", "<text>", "</text>", "text ", "<dc:title>", "</dc:title>", "<dc:language>a",
            "</dc:language>", "<script>", "</script>", "<?a ?>", "\n",
        ),
        f"<h1>{_LINES[0]}</h1>\n<p>{_LINES[1]} and <b>bold</b></p>\n",
        lambda text: epub_of(text, balanced(text)),
    ),
    ".odt": Sample(
        (
            "<text:p>", "</text:p>", "<text:span>", "</text:span>", "<text:a>", "</text:a>", "<text:s/>", "<text:tab/>",
            "<text:line-break/>", "<text:note>", "</text:note>", "<draw:frame>", "</draw:frame>", "<text:bookmark/>",
            "<text:ruby>", "</text:ruby>", "<text:ruby-base>", "</text:ruby-base>", "<text:date/>", "text ",
            "<table:table-cell>", "</table:table-cell>", '<table:table-cell table:formula="a">',
            '<table:table-cell office:string-value="a b">', "<office:annotation>", "</office:annotation>", "&",
            '<style:text-properties fo:language="en">', "</style:text-properties>", "<svg:desc>a b", "</svg:desc>",
            "<!-- c -->",
        ),
        f'<text:h text:outline-level="1">{_LINES[0]}</text:h><text:p><text:span text:style-name="T1">{_LINES[1]}'
        "</text:span><text:tab/>and more</text:p>",
        lambda text: odt_of(balanced(text)),
    ),
}  # fmt: skip
"""A sample for every opener."""
