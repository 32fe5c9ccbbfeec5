"""Files of strings, by what their lines have in common."""

import re
from itertools import pairwise

from server.files.formats.base import UnsupportedFile

_LINES = 40
_COMMENT = re.compile(r"[ \t]*+(?:[#!]|\Z)")
_APPLE = re.compile(r'(?:\s|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+"(?:[^"\\]|\\.)*+"\s*+=\s*+"', re.DOTALL)
_SETTING = re.compile(r"(?:[\w.-]|\\.)++[ \t]*+=")
_FLUENT_ID = re.compile(r"-?[A-Za-z][\w-]*+[ \t]*+=")
_FLUENT_ONLY = re.compile(
    r"^(?:-[A-Za-z][\w-]*+ *+=|##++ |[ ]++\.[A-Za-z][\w-]*+ *+=|[ ]++\*?\[\w++\])|\{ ?[$-][A-Za-z]|\{ ?\"",
    re.MULTILINE,
)
_KEY = re.compile(r"""(?:- )*+(?:"[^"\n]*+"|'[^'\n]*+'|[A-Za-z_][\w.-]*+):(?:[ \t]|\Z)""")
_LOWER_KEY = re.compile(r"""(?:"[^"\n]*+"|'[^'\n]*+'|[a-z_][\w.-]*+):(?:[ \t]|\Z)""")
_INNER = re.compile(r"[ ]*+(?:- |[\w\"'.-]++:)")
_PARENT = re.compile(r"""(?:"[^"\n]*+"|'[^'\n]*+'|[A-Za-z_][\w.-]*+):[ \t]*+(?:&\w++[ \t]*+)?(?:#.*)?+""")


def suffix_of_strings(head: str) -> str | None:
    """The suffix of a format of strings that the beginning of a file has. Raises UnsupportedFile for one of two."""
    if _APPLE.match(head):
        return ".strings"
    lines = [line.rstrip("\r") for line in head.split("\n")[:_LINES]]
    kept = [line for line in lines if not _COMMENT.match(line)]
    if _is_fluent(kept) and _FLUENT_ONLY.search("\n".join(lines)):
        return ".ftl"
    if _are_settings(kept):
        if _is_fluent(kept) and all(" = " in line for line in kept):
            raise UnsupportedFile(
                "the name of the file does not say its format, and it may be a .properties or a Fluent file;"
                " send it with its name"
            )
        return ".properties"
    return ".yaml" if _is_yaml(kept) else None


def _is_fluent(lines: list[str]) -> bool:
    """Whether all lines are messages, or indented."""
    return bool(lines) and all(_FLUENT_ID.match(line) or line[0] in " }" for line in lines) and lines[0][0] != " "


def _are_settings(lines: list[str]) -> bool:
    """Whether all lines are settings, or continue the line before."""
    continues = [False, *(line.endswith("\\") for line in lines)]
    is_each = (after or _SETTING.match(line) for line, after in zip(lines, continues, strict=False))
    return len(lines) > 1 and all(is_each)


def _is_yaml(lines: list[str]) -> bool:
    """Whether the lines are keys with keys or items inside of them, or several keys in lower case."""
    if lines[:1] and lines[0].rstrip() == "---":
        lines = lines[1:]
    outer = [line for line in lines if line[:1] not in ("", " ")]
    if len(lines) < 2 or not all(_KEY.match(line) or line.startswith("- ") for line in outer):
        return False
    if len(outer) > 1 and all(map(_LOWER_KEY.match, outer)):
        return True
    return bool(_PARENT.fullmatch(lines[0])) or any(
        _PARENT.fullmatch(line) and _INNER.match(after) for line, after in pairwise(lines)
    )
