"""Markdown: paragraphs, headings, list items and table cells are texts; code, addresses of links and syntax stay. The
lines of a paragraph become one, as a renderer reads them."""

import re
from collections.abc import Iterator, Sequence

from server.text.formats.opened import OpenedFile, decode
from server.text.marks import MarkedText

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_INLINE = re.compile(
    r"(?P<lone>(?P<tick>`++).{1,2000}?(?<!`)(?P=tick)(?!`)"  # code
    r"|!\[[^\]\n]{0,500}\]\([^()\n]{0,1000}\)"  # an image
    r"|\\[!-/:-@\[-`{-~]"  # an escaped character
    r"|<[A-Za-z!/][^<>]{0,1000}>"  # HTML, an address
    r"|\[\^[^\]\n]{1,100}\])"  # a footnote
    r"|(?P<link>\[)(?=[^\[\]]{1,1000}\](?:\([^()\n]{0,1000}\)|\[[^\]\n]{0,200}\]))"
    r"|(?P<unlink>\](?:\([^()\n]{0,1000}\)|\[[^\]\n]{0,200}\]))"
    r"|(?P<emphasis>\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~)",
    re.DOTALL,
)


def open_markdown(data: bytes, language: str) -> OpenedFile:
    text, encoding = decode(data)
    places = list(_places(text))
    marked = [_read(" ".join(line.strip() for line in text[start:end].split("\n"))) for start, end in places]

    def write(translations: Sequence[str]) -> bytes:
        parts: list[str] = []
        end = 0
        for (start, stop), one, translation in zip(places, marked, translations, strict=True):
            parts += (text[end:start], one.render(translation, str))
            end = stop
        return encoding.encode("".join([*parts, text[end:]]))

    return OpenedFile([one.text for one in marked], write)


def _places(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of inline texts. One that cannot be found again where the parser says it is stays untranslated."""
    from markdown_it import MarkdownIt

    front = _FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    lines = text[offset:].split("\n")
    starts = [offset]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    cursor = offset
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text[offset:]):
        if token.type != "inline" or token.map is None or not any(map(str.isalnum, token.content)):
            continue
        stop = min(starts[min(token.map[1], len(lines))], len(text))
        for start, end in _found(text, token.content, max(cursor, starts[token.map[0]]), stop):
            yield start, end
            cursor = end


def _found(text: str, content: str, start: int, stop: int) -> list[tuple[int, int]]:
    """(start, end) of the content's lines between `start` and `stop`. Consecutive lines are one place, unless there is
    a hard line break or the syntax of a quote or list between them. Empty when a line is not found."""
    places: list[tuple[int, int]] = []
    is_joined = False
    for line in content.split("\n"):
        found = text.find(line, start, stop) if line else -1
        if found < 0:
            return []
        end = found + len(line)
        bare = len(line.rstrip().removesuffix("\\"))
        is_hard = line.endswith(("\\", "  ")) or text[end : end + 2] == "  "
        if is_joined and not text[places[-1][1] : found].strip(" \t\r\n"):
            places[-1] = (places[-1][0], found + bare)
        else:
            places.append((found, found + bare))
        is_joined, start = not is_hard, end
    return places


def _read(content: str) -> MarkedText:
    marked, end = MarkedText(), 0
    for match in _INLINE.finditer(content):
        marked.add_text(content[end : match.start()])
        end = match.end()
        if match["lone"]:
            marked.add_lone(match[0])
        elif match["link"]:
            marked.open("link", match[0])
        elif match["unlink"]:
            marked.close("link", match[0])
        else:
            _emphasis(marked, match, content)
    marked.add_text(content[end:])
    return marked


def _emphasis(marked: MarkedText, match: re.Match[str], content: str) -> None:
    """Emphasis opens before a word and closes after one; elsewhere its characters are text."""
    before, after = content[match.start() - 1 : match.start()], content[match.end() : match.end() + 1]
    if before.strip() and marked.has_open(match[0]):
        marked.close(match[0], match[0])
    elif after.strip():
        marked.open(match[0], match[0])
    else:
        marked.add_text(match[0])
