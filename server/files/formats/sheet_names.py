"""The names of a spreadsheet's sheets: formulas, links and macros use them, so they stay."""

import re
from collections.abc import Iterable, Iterator

from server.text.base.words import has_letters

_USUAL = re.compile(r"[^\W\d_]{1,12} ?\d{1,4}")
"""As programs number them: "Sheet1"."""


def note_on(names: Iterable[str]) -> Iterator[str]:
    """A note, if somebody gave a sheet its name."""
    count = sum(has_letters(name) and not _USUAL.fullmatch(name) for name in names)
    if count:
        sheets = "the name of one sheet was" if count == 1 else f"the names of {count} sheets were"
        yield f"{sheets} not translated: formulas, links and macros use them"
