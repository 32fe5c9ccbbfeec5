"""Small files of every format, and large ones that keep a parser busy."""

import functools
import io
import json

import docx
import pptx
from pptx.util import Inches

from server.files.formats.registry import FORMATS
from tests.server.files.formats.files import epub_of, idml_of, mail_of, pdf_of, xlsx_of
from tests.server.files.formats.odf_documents import opendocument

LINES = ["We walk home in the rain.", "Where is the <b>station</b>, {name}?", "Grüße & 1 < 2 \U0001f600 \x1f", "Yes."]
BUSY = ("- How much is the *blue* one?\n" * 120_000).encode()
"""A file that any machine reads for more than a second of processor."""

OPENDOCUMENT = {
    ".odt": "text", ".odp": "presentation", ".ods": "spreadsheet", ".odg": "graphics", ".ott": "text-template",
    ".otp": "presentation-template", ".ots": "spreadsheet-template",
}  # fmt: skip
"""The types of OpenDocument files."""


@functools.cache
def small_files() -> dict[str, bytes]:
    """A small file for every row of the table, by its name."""
    text = "\n".join(LINES)
    timed = "".join(f"{n}\n00:00:0{n},000 --> 00:00:0{n},500\n{line}\n\n" for n, line in enumerate(LINES, 1))
    dialogues = timed_lines("Dialogue: 0,0:00:0{n}.00,0:00:0{n}.50,Default,,0,0,0,,{line}\n")
    substation = f"[Script Info]\nTitle: No\n\n[Events]\n{dialogues}"
    page = "<html lang='en'><p>We <b>walk</b> home <i>in the rain</i>.<p>Yes<br>and <a href='x'>no</a>.</html>"
    units = "".join(f'<trans-unit id="{n}"><source>We <g id="1">walk</g> {n}.</source></trans-unit>' for n in range(3))
    messages = "".join(f'#: a.c:{n}\nmsgid "We walk home {n}."\nmsgstr ""\n\n' for n in range(3))
    markdown = "# We walk home\n\n- in **the rain**\n- `code` and [a link](x)\n\n| a | b |\n|---|---|\n| c | d |\n"
    contents = {
        ".txt": text,
        ".md": markdown,
        ".mdx": markdown,
        ".html": page,
        ".htm": page,
        ".srt": timed,
        ".vtt": "WEBVTT\n\n" + timed.replace(",", "."),
        ".sbv": timed_lines("0:00:0{n}.000,0:00:0{n}.500\n{line}\n\n"),
        ".ass": substation,
        ".ssa": substation,
        ".xliff": f'<xliff version="1.2"><file source-language="en"><body>{units}</body></file></xliff>',
        ".xlf": f'<xliff version="1.2"><file source-language="en"><body>{units}</body></file></xliff>',
        ".po": f'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n{messages}',
        ".csv": '"We walk home.",1,no letters\n"She said ""yes"".",2,x\n',
        ".tsv": "We walk home.\t1\nYes.\t2\n",
        ".json": json.dumps({"a": [*LINES, "\ud800 lone"], "b": {"c": "Yes."}}),
        ".jsonl": "".join(json.dumps({"a": line, "b": 1}) + "\n" for line in LINES),
        ".ndjson": "".join(json.dumps({"a": line, "b": 1}) + "\n" for line in LINES),
        **strings_files(),
    }
    made = {f"small{suffix}": content.encode() for suffix, content in contents.items()}
    made |= {f"small{suffix}": small_docx() for suffix in (".docx", ".docm", ".dotx", ".dotm")}
    made |= {f"small{suffix}": small_pptx() for suffix in (".pptx", ".pptm", ".potx", ".ppsx")}
    made |= {f"small{suffix}": xlsx_of(f"<si><t>{LINES[0]}</t></si>") for suffix in (".xlsx", ".xlsm", ".xltx")}
    story = "<ParagraphStyleRange><CharacterStyleRange><Content>We walk.</Content><Br/></CharacterStyleRange>"
    made["small.idml"] = idml_of(f"{story}</ParagraphStyleRange>")
    made["small.pdf"] = pdf_of("(We walk home in the rain.) Tj 0 -40 Td (Yes.) Tj")
    made["small.eml"] = mail_of("Dear all,\n\nwe walk home in the rain.\n")
    made["small.epub"] = epub_of(page)
    made |= {f"small{suffix}": small_opendocument(kind) for suffix, kind in OPENDOCUMENT.items()}
    assert {f"small{suffix}" for suffix in FORMATS} == set(made)
    return made


def timed_lines(pattern: str) -> str:
    return "".join(pattern.format(n=n, line=line) for n, line in enumerate(LINES, 1))


def strings_files() -> dict[str, str]:
    """Files of software strings, by their suffixes."""
    walk = "We <b>walk</b> home."
    settings = "# A note\na.walk = We walk home.\na.yes : Yes, {0} \\\n  of them\n"
    strings = "en:\n  walk: We walk home.\n  'yes': \"Yes.\"\n  rain: |\n    In the\n    rain.\n"
    unit = '{"en": {"stringUnit": {"state": "translated", "value": "Yes."}}}'
    terms = "<langSet xml:lang='en'><tig><term>house</term></tig></langSet>"
    return {
        ".properties": settings.replace(" : ", " = "),
        ".yaml": strings,
        ".yml": strings,
        ".arb": '{"@@locale": "en", "walk": "We walk home.", "@walk": {"description": "A note"}}',
        ".resx": f"<root><data name='a'><value>{walk.replace('<', '&lt;')}</value></data></root>",
        ".strings": '/* A note */\n"walk" = "We walk \\"home\\".";\n"yes" = "Yes.";\n',
        ".xcstrings": f'{{"sourceLanguage": "en", "strings": {{"We": {{}}, "k": {{"localizations": {unit}}}}}}}',
        ".ftl": "# A note\nwalk = We walk { $n } times.\nyes = Yes.\n    .label = No.\n",
        ".ts": "<TS><context><message><source>Yes.</source><translation type='unfinished'/></message></context></TS>",
        ".xml": f"<resources><string name='a'>{walk}</string><string name='b'>It\\'s @.</string></resources>",
        ".tmx": "<tmx><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>Yes.</seg></tuv></tu></body></tmx>",
        ".tbx": f"<martif><text><body><termEntry>{terms}</termEntry></body></text></martif>",
    }


def small_docx() -> bytes:
    document, packed = docx.Document(), io.BytesIO()
    for line in LINES[:2]:
        paragraph = document.add_paragraph(line)
        paragraph.add_run(" And bold.").bold = True
    document.save(packed)
    return packed.getvalue()


def small_opendocument(kind: str) -> bytes:
    body = "".join(f"<text:p>{line} <text:span>And bold.</text:span></text:p>" for line in (LINES[0], LINES[3]))
    return opendocument(body, kind=kind)


def small_pptx() -> bytes:
    presentation, packed = pptx.Presentation(), io.BytesIO()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text = LINES[0]
    slide.shapes.add_textbox(Inches(1), Inches(1), Inches(1), Inches(1)).text_frame.text = LINES[3]
    presentation.save(packed)
    return packed.getvalue()
