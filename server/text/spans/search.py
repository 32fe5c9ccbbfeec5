"""The search for all rows of a table at once; earlier rows win. Linear in the length of a text."""

import re
from collections.abc import Iterable, Iterator

from server.runtime.checkpoints import checkpoint
from server.text.spans.row import Row

_WORD, _OTHER = r"(?<!\w)(?=\w)", r"(?=[^\x00-\x7f])"


def joined(rows: Iterable[Row]) -> str:
    """One pattern for all rows. Inside a word none is tried, and elsewhere only the rows with an example that begins as
    the text does: with the same sign of ASCII, with a letter or digit, or beyond ASCII."""
    tried: dict[str, list[str]] = {}
    for row in rows:
        for beginning in dict.fromkeys(_beginning(example) for example in row.examples):
            tried.setdefault(beginning, []).append(row.pattern)
    begun = {beginning: "|".join(f"(?:{pattern})" for pattern in patterns) for beginning, patterns in tried.items()}
    others = [f"{beginning}(?:{begun.pop(beginning)})" for beginning in (_WORD, _OTHER) if beginning in begun]
    of_signs = "|".join(f"(?={sign})(?:{patterns})" for sign, patterns in begun.items())
    return "|".join([f"(?=[{''.join(begun)}])(?:{of_signs})", *others])


def _beginning(example: str) -> str:
    if not example[0].isascii():
        return _OTHER
    return _WORD if example[0].isalnum() else re.escape(example[0])


_BEGINNING = re.compile(r"[!-/:-@\[-`{-~]|[A-Za-z0-9]++|[^\x00-\x7f]")
"""Every sign, every word of ASCII and every other character: no span begins inside of such a word."""
_AT_ONCE, _LONGEST, _PLACES = 2_048, 12_288, 1_024
"""Characters of a text that is searched at once; characters of the longest span in a longer text, except a run of
emoji; places between two checkpoints."""
_HINT_LENGTH = 32
"""No hint is longer."""


def has_hint(hints: re.Pattern[str], text: str) -> bool:
    """Whether one of the hints is in the text, which is searched in parts, as a search holds the GIL until it ends."""
    for at in range(0, len(text), _AT_ONCE):
        checkpoint()
        if hints.search(text, at, at + _AT_ONCE + _HINT_LENGTH):
            return True
    return False


def find_spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The spans of all matches. A search holds the GIL until it ends, and tries many rows at every sign: a long text is
    tried place by place. There a run of emoji that is longer than other spans are is two matches that touch."""
    if len(text) <= _AT_ONCE:
        yield from (match.span() for match in pattern.finditer(text))
        return
    at = 0
    for number, beginning in enumerate(_BEGINNING.finditer(text)):
        if number % _PLACES == 0:
            checkpoint()
        start = beginning.start()
        match = pattern.match(text, start, start + _LONGEST) if start >= at else None
        if match:
            yield match.span()
            at = match.end()
