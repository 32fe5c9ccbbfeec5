"""Application Resource Bundles (.arb) of Flutter: JSON whose values are messages of ICU. What begins with "@" says
something about a message or the file and stays, except that @@locale becomes the target language."""

from collections.abc import Iterator

from server.files.formats.base import Budget, OpenedFile
from server.files.formats.spans import Span, opened, replacement, value
from server.files.formats.strings.json_tree import JsonFile, quoted, read_json
from server.text.base.words import has_letters


def open_arb(data: bytes, language: str, budget: Budget) -> OpenedFile:
    file = read_json(data)
    return opened(file.text, file.encoding.encode, _spans(file, language), budget, file.encoding.notes)


def _spans(file: JsonFile, language: str) -> Iterator[Span]:
    for key, member in file.root.members.items():
        text = file.string(member)
        if key == "@@locale" and text is not None:
            yield replacement(member.start, member.end, quoted(language))
        elif text is not None and not key.startswith("@") and has_letters(text):
            yield value(member.start, member.end, text, quoted)
