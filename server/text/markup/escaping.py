"""Texts between the tags of HTML and XML: their characters, and how they are written."""

import html
import re
from collections.abc import Iterator

_XML_ENTITY = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([0-9A-Fa-f]{1,6})|[\w.:-]+);")
_XML_NAMES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


def xml_texts(raw: str) -> Iterator[tuple[str, bool]]:
    """Texts, and entities that only the document declares, each with True for an entity."""
    end = 0
    for match in _XML_ENTITY.finditer(raw):
        yield raw[end : match.start()], False
        end = match.end()
        code = int(match[2]) if match[2] else int(match[3], 16) if match[3] else None
        if match[1]:
            yield _XML_NAMES[match[1]], False
        elif code is not None and 31 < code < 0xD800:
            yield chr(code), False
        else:
            yield match[0], True
    yield raw[end:], False


def escape_html(text: str) -> str:
    return html.escape(text, quote=False).replace("\u00a0", "&nbsp;")


def escape_xml(text: str) -> str:
    return html.escape(text, quote=False)
