"""gettext catalogues (.po): messages without a translation get one; those with one keep it."""

from collections.abc import Sequence
from typing import Any

from server.text.formats.opened import DamagedFile, OpenedFile, decode


def open_po(data: bytes, language: str) -> OpenedFile:
    import polib

    text, encoding = decode(data)
    try:
        catalogue = polib.pofile(text + "\n", encoding="utf-8", wrapwidth=78)
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise DamagedFile(f"the file is no gettext catalogue: {error}") from None
    open_messages = [(entry, form) for entry in catalogue if not entry.obsolete for form in _open_forms(entry)]

    def write(translations: Sequence[str]) -> bytes:
        for (entry, form), translation in zip(open_messages, translations, strict=True):
            if form is None:
                entry.msgstr = translation
            else:
                entry.msgstr_plural[form] = translation
        catalogue.metadata["Language"] = language
        return encoding.encode(str(catalogue))

    texts = [entry.msgid_plural if form else entry.msgid for entry, form in open_messages]
    return OpenedFile(texts, write)


def _open_forms(entry: Any) -> list[int | None]:
    """Plural forms (None where there are none) that have no translation."""
    if not entry.msgid:
        return []
    if entry.msgid_plural:
        return [form for form, translation in entry.msgstr_plural.items() if not translation]
    return [] if entry.msgstr else [None]
