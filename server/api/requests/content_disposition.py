"""Names of files in headers and links, whatever characters they have."""

from urllib.parse import quote

MAX_NAME = 200
"""Characters of a name that are sent; file systems take 255 bytes."""


def attachment(name: str) -> str:
    """The Content-Disposition of a download (RFC 6266)."""
    return f"attachment; filename*=UTF-8''{quoted(shortened(name))}"


def attachment_for_old_clients(name: str) -> str:
    """The same with a name in ASCII before it, for clients that know no other."""
    name = shortened(name)
    shown = "".join(one if one.isascii() and one.isprintable() and one not in '"\\' else "_" for one in name)
    return f"attachment; filename=\"{shown}\"; filename*=UTF-8''{quoted(name)}"


def quoted(name: str) -> str:
    """The name as a segment of a path; lone surrogates become question marks."""
    return quote(name, safe="", errors="replace")


def shortened(name: str) -> str:
    """The name with at most MAX_NAME characters, its suffix among them."""
    if len(name) <= MAX_NAME:
        return name
    stem, dot, suffix = name.rpartition(".")
    ending = f"{dot}{suffix}" if stem and len(suffix) < MAX_NAME // 4 else ""
    return name[: MAX_NAME - len(ending)] + ending
