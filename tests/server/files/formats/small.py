"""Small files of text, and what reads them and translates them into capitals."""

from collections.abc import Callable

from server.files.formats.registry import open_file
from server.text.base.placeholders import is_placeholder

LIMIT = 1_000_000


def shout(text: str) -> str:
    """A translation that can be told from its source; marks stay where they are."""
    return text.upper()


def translated(data: bytes, name: str, translate: Callable[[str], str] = shout) -> bytes:
    opened = open_file(data, name, "de", LIMIT)
    return opened.write([translate(text) for text in opened.texts])


def texts(data: bytes, name: str) -> list[str]:
    """Texts of a file without their marks."""
    return [
        "".join(char for char in text if not is_placeholder(char)) for text in open_file(data, name, "de", LIMIT).texts
    ]


SRT = """1
00:00:01,000 --> 00:00:02,500
Hello <i>big</i> world,
it goes on.

2
00:00:03,000 --> 00:00:04,000
- Who?
- Me.
"""
VTT = """WEBVTT - a title

NOTE not this

cue-1
00:01.000 --> 00:02.000 align:start
<v Bob>Hello &amp; bye</v>
"""
PO = """# A comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: \\n"

#: a.c:1
msgid "Open %s"
msgstr ""

msgid "Close"
msgstr "Zu"

msgid "one file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
"""
XLIFF = """<?xml version='1.0' encoding='UTF-8'?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
<file source-language="en" target-language="x" original="a"><body>
<trans-unit id="1"><source>Hello <g id="1">big</g> <x id="2"/>world</source></trans-unit>
<trans-unit id="2"><source>Done</source><target>Fertig</target></trans-unit>
<trans-unit id="3" translate="no"><source>Keep</source></trans-unit>
</body></file></xliff>"""
XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en"><file id="f"><unit id="u">
<segment><source>Hello <pc id="1">big</pc> world</source></segment></unit></file></xliff>"""
CSV = 'id;text\r\n1;"Hello; ""you"""\r\n2;plain words\r\n3;\r\n'
JSON = '{\n  "key": "Hello \\u00e9 \\"you\\"",\n  "n": [1, true, "two", ""]\n}\n'
