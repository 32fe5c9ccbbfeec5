"""Files of every format of strings, made and read by other programs than the one under test."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from xml.sax.saxutils import escape

import javaproperties
import openstep_plist
import yaml
from fluent.syntax import FluentParser, ast
from lxml import etree

Strings = Mapping[str, str]
XML = '<?xml version="1.0" encoding="utf-8"?>\n'


@dataclass(frozen=True)
class Kind:
    """`make` writes strings by their keys, `read` reads them: of a format to which translations are added, these."""

    suffix: str
    make: Callable[[Strings], bytes]
    read: Callable[[bytes], Strings]
    is_added: bool = False


def properties(codec: str, strings: Strings) -> bytes:
    written = javaproperties.dumps(strings, timestamp=False, comments="Some note", ensure_ascii=codec == "ascii")
    return written.encode(codec)


def properties_of(codec: str, data: bytes) -> Strings:
    return javaproperties.loads(data.decode(codec))


def yaml_file(style: str | None, in_flow: bool, strings: Strings) -> bytes:
    class Dumper(yaml.SafeDumper):
        pass

    class Text(str):
        pass

    Dumper.add_representer(Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style))
    values = {key: Text(text) for key, text in strings.items()}
    inner = yaml.dump(values, Dumper=Dumper, default_flow_style=in_flow, allow_unicode=True, sort_keys=False, width=30)
    return f"# Some note\n{inner}".encode()


def yaml_of(data: bytes) -> Strings:
    return dict(yaml.safe_load(data))


def arb(strings: Strings) -> bytes:
    entries = {"@@locale": "de", **strings, **{f"@{key}": {"description": "note"} for key in strings}}
    return json.dumps(entries, indent=4).encode()


def arb_of(data: bytes) -> Strings:
    return {key: value for key, value in json.loads(data).items() if not key.startswith("@")}


def apple(codec: str, strings: Strings) -> bytes:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = (f'/* A note: "no" = "text"; */\n{quoted(key)} = {quoted(text)};\n' for key, text in strings.items())
    return "\n".join(lines).encode(codec)


def apple_of(codec: str, data: bytes) -> Strings:
    return dict(openstep_plist.loads(data.decode(codec)))


def fluent(strings: Strings) -> bytes:
    lines = (f"# Some note\n{key} = {text}\n    .accesskey = A\n" for key, text in strings.items())
    return "".join(lines).encode()


def fluent_of(data: bytes) -> Strings:
    entries = FluentParser().parse(data.decode()).body
    assert not any(isinstance(entry, ast.Junk) for entry in entries)
    return {entry.id.name: pattern_of(entry.value) for entry in entries if isinstance(entry, ast.Message)}


def pattern_of(pattern: ast.Pattern | None) -> str:
    """What a reader sees of a pattern without variables."""
    assert pattern is not None
    parts: list[str] = []
    for element in pattern.elements:
        if isinstance(element, ast.TextElement):
            parts.append(element.value)
        else:
            assert isinstance(element.expression, ast.StringLiteral)
            parts.append(element.expression.parse()["value"])
    return "".join(parts)


def resx(strings: Strings) -> bytes:
    data = "".join(
        f'  <data name="{key}" xml:space="preserve">\n    <value>{escape(text)}</value>\n'
        "    <comment>A note</comment>\n  </data>\n"
        for key, text in strings.items()
    )
    return f'{XML}<root>\n<resheader name="version"><value>2.0</value></resheader>\n{data}</root>\n'.encode()


def resx_of(data: bytes) -> Strings:
    return {str(entry.get("name")): entry.findtext("value") or "" for entry in etree.fromstring(data).iter("data")}


def android(strings: Strings) -> bytes:
    lines = "".join(
        f'    <!-- A note -->\n    <string name="{key}">{escape(android_escapes(text))}</string>\n'
        for key, text in strings.items()
    )
    return f'{XML}<resources>\n    <string name="k" translatable="false">Keep</string>\n{lines}</resources>\n'.encode()


def android_escapes(text: str) -> str:
    return re.sub(r"""[\\'"]""", lambda match: "\\" + match[0], text).replace("\n", "\\n").replace("\t", "\\t")


def android_of(data: bytes) -> Strings:
    strings = etree.fromstring(data).iter("string")
    return {str(entry.get("name")): android_text(entry.text or "") for entry in strings if entry.get("name") != "k"}


def android_text(raw: str) -> str:
    """As Android's compiler of resources reads it, without quotation marks and references."""
    assert not re.match(r"[@?]", raw), "a reference"
    text, place = "", 0
    raw = re.sub(r"[ \t\r\n]+", " ", raw.strip(" \t\r\n"))
    while place < len(raw):
        char, escaped = raw[place], raw[place + 1 : place + 2]
        assert char not in "\"'"
        if char != "\\":
            text, place = text + char, place + 1
        elif escaped == "u":
            text, place = text + chr(int(raw[place + 2 : place + 6], 16)), place + 6
        else:
            text, place = text + {"n": "\n", "t": "\t"}.get(escaped, escaped), place + 2
    return text


def qt(strings: Strings) -> bytes:
    messages = "".join(
        f'    <message id="{key}">\n        <location filename="a.cpp" line="1"/>\n'
        f"        <source>{escape(text)}</source>\n        <extracomment>A note</extracomment>\n"
        '        <translation type="unfinished"></translation>\n    </message>\n'
        for key, text in strings.items()
    )
    name = "<context>\n    <name>Main</name>\n"
    return f'{XML}<!DOCTYPE TS>\n<TS version="2.1" language="de_DE">\n{name}{messages}</context>\n</TS>\n'.encode()


def qt_of(data: bytes) -> Strings:
    messages = etree.fromstring(data).iter("message")
    return {str(message.get("id")): message.findtext("translation") or "" for message in messages}


def tmx(strings: Strings) -> bytes:
    units = "".join(
        f'    <tu tuid="{key}">\n      <note>A note</note>\n      <tuv xml:lang="en-GB">\n'
        f"        <seg>{escape(text)}</seg>\n      </tuv>\n    </tu>\n"
        for key, text in strings.items()
    )
    head = '<tmx version="1.4">\n  <header srclang="en" datatype="plaintext"/>\n'
    return f"{XML}{head}  <body>\n{units}  </body>\n</tmx>\n".encode()


def tmx_of(data: bytes) -> Strings:
    units = etree.fromstring(data).iter("tu")
    return {str(unit.get("tuid")): added(unit, "tuv", "seg") for unit in units}


def added(entry: etree._Element, section: str, name: str) -> str:
    """The text of the only element `name` in the German section of an entry."""
    lang = "{http://www.w3.org/XML/1998/namespace}lang"
    [of_target] = [inner for inner in entry.iter(section) if inner.get(lang) == "de"]
    [text] = of_target.iter(name)
    return text.text or ""


def tbx(entry: str, section: str, term: str, strings: Strings) -> bytes:
    entries = "".join(
        f'<{entry} id="{key}">\n  <descrip type="definition">A note</descrip>\n  <{section} xml:lang="en">\n'
        f"    <{term}>\n      <term>{escape(text)}</term>\n    </{term}>\n  </{section}>\n</{entry}>\n"
        for key, text in strings.items()
    )
    root = "martif" if entry == "termEntry" else "tbx"
    return f'{XML}<{root} type="TBX-Basic" xml:lang="en">\n<text><body>\n{entries}</body></text></{root}>\n'.encode()


def tbx_of(entry: str, section: str, data: bytes) -> Strings:
    entries = etree.fromstring(data).iter(entry)
    return {str(inner.get("id")): added(inner, section, "term") for inner in entries}


def xcstrings(strings: Strings) -> bytes:
    made = {
        key: {"comment": "A note", "localizations": {"en": {"stringUnit": {"state": "translated", "value": text}}}}
        for key, text in strings.items()
    }
    catalogue = {"sourceLanguage": "en", "strings": made, "version": "1.0"}
    return json.dumps(catalogue, indent=2, separators=(",", " : ")).encode()


def xcstrings_of(data: bytes) -> Strings:
    read = {}
    for key, entry in json.loads(data)["strings"].items():
        assert entry["localizations"]["de"]["stringUnit"]["state"] == "needs_review"
        read[key] = entry["localizations"]["de"]["stringUnit"]["value"]
    return read


YAML_STYLES = {"plain": None, "single": "'", "double": '"', "literal": "|", "folded": ">"}
KINDS = {
    **{
        f"properties in {codec}": Kind(".properties", partial(properties, codec), partial(properties_of, codec))
        for codec in ("ascii", "utf-8")
    },
    **{
        f"yaml, {style}{', flow' if flow else ''}": Kind(".yaml", partial(yaml_file, mark, flow), yaml_of)
        for style, mark in YAML_STYLES.items()
        for flow in (False, True)
    },
    "arb": Kind(".arb", arb, arb_of),
    "xcstrings": Kind(".xcstrings", xcstrings, xcstrings_of, is_added=True),
    **{
        f"strings in {codec}": Kind(".strings", partial(apple, codec), partial(apple_of, codec))
        for codec in ("utf-8", "utf-16", "utf-16-le", "utf-16-be")
    },
    "ftl": Kind(".ftl", fluent, fluent_of),
    "resx": Kind(".resx", resx, resx_of),
    "android": Kind(".xml", android, android_of),
    "qt": Kind(".ts", qt, qt_of, is_added=True),
    "tmx": Kind(".tmx", tmx, tmx_of, is_added=True),
    **{
        f"tbx, {entry}": Kind(
            ".tbx", partial(tbx, entry, section, term), partial(tbx_of, entry, section), is_added=True
        )
        for entry, section, term in (("termEntry", "langSet", "tig"), ("conceptEntry", "langSec", "termSec"))
    },
}
