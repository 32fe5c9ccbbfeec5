"""The header of gettext catalogues: language and character set."""

import re

from server.files.formats.base import shown

_AFTER_LANGUAGE = ("MIME-Version:", "Content-Type:", "Content-Transfer-Encoding:", "Plural-Forms:")
_PLACEHOLDER = "charset=CHARSET"
"""What templates have in place of a character set."""


def content_type(charset: str) -> str:
    return f"Content-Type: text/plain; charset={shown(charset)}\n"


def with_charset(header: str, charset: str, is_other: bool) -> str:
    """The header with the character set of the file, if it has the template's in place of it, or another one."""
    if is_other and "charset=" in header:
        return re.sub(r"charset=[^\s;]+", f"charset={shown(charset)}", header, count=1)
    return header.replace(_PLACEHOLDER, f"charset={shown(charset)}", 1)


def set_language(header: str, language: str) -> str:
    """The header with the language."""
    lines = header.split("\n")
    position = next((index for index, line in enumerate(lines) if line.startswith("Language:")), None)
    if position is not None:
        lines[position] = f"Language: {language}"
    else:
        position = next((index for index, line in enumerate(lines) if line.startswith(_AFTER_LANGUAGE)), len(lines) - 1)
        lines.insert(position, f"Language: {language}")
    return "\n".join(lines)
