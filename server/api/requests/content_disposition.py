"""Names of files, with any characters, in headers and links."""

from urllib.parse import quote

MAX_NAME = 200
"""Characters of a name that are sent; file systems take 255 bytes."""


def attachment(name: str) -> str:
    """The Content-Disposition of a download (RFC 6266)."""
    return f"attachment; filename*=UTF-8''{quoted(shortened(name))}"


def attachment_for_old_clients(name: str) -> str:
    """`attachment` with an ASCII name first, for clients that read no other."""
    name = shortened(name)
    shown = "".join(
        character if character.isascii() and character.isprintable() and character not in '"\\' else "_"
        for character in name
    )
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
