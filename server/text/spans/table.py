"""The table of protected spans, and the search for all of its rows at once; earlier rows win."""

import re
from collections.abc import Callable, Iterable, Iterator

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import PLACEHOLDER, TERM_PLACEHOLDER, PlaceholderText
from server.text.spans.addresses import ADDRESSES, FILES
from server.text.spans.data import DATA
from server.text.spans.placeholders import MESSAGES, TAGS
from server.text.spans.row import Row
from server.text.spans.templates import TEMPLATES, shows_value

_EMOJI = (
    "[\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\u00a9\u00ae\u2120\u2122]"
)
_JOINED = "[\ufe0e\ufe0f\u200d\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
EMOJI = rf"(?:[0-9#*]\ufe0f?\u20e3|{_EMOJI}{_JOINED}*+)++"
_SYMBOLS = (
    Row(
        "emoji",
        EMOJI,
        f"\ufe0f|\u20e3|{_EMOJI}",
        ("\U0001f600", "\u2764\ufe0f", "\U0001f468\u200d\U0001f469", "\u00a9", "1\ufe0f\u20e3", "#\u20e3", "*\u20e3"),
    ),
    Row("tags of files", PLACEHOLDER.pattern, PLACEHOLDER.pattern, ("\U000f8000",)),
    Row("terms", TERM_PLACEHOLDER.pattern, TERM_PLACEHOLDER.pattern, ("\U000fc000",)),
)  # fmt: skip
ROWS = (*TEMPLATES, *TAGS, *MESSAGES, *ADDRESSES, *DATA, *FILES, *_SYMBOLS)


_WORD, _OTHER = r"(?<!\w)(?=\w)", r"(?=[^\x00-\x7f])"


def _joined(rows: Iterable[Row]) -> str:
    """One pattern for all rows. Inside a word none is tried, and elsewhere only the rows with an example that begins as
    the text does: with the same sign of ASCII, with a letter or digit, or beyond ASCII."""
    tried: dict[str, list[str]] = {}
    for row in rows:
        for beginning in dict.fromkeys(_beginning(example) for example in row.examples):
            tried.setdefault(beginning, []).append(row.pattern)
    joined = {beginning: "|".join(f"(?:{pattern})" for pattern in patterns) for beginning, patterns in tried.items()}
    others = [f"{beginning}(?:{joined.pop(beginning)})" for beginning in (_WORD, _OTHER) if beginning in joined]
    of_signs = "|".join(f"(?={sign})(?:{patterns})" for sign, patterns in joined.items())
    return "|".join([f"(?=[{''.join(joined)}])(?:{of_signs})", *others])


def _beginning(example: str) -> str:
    if not example[0].isascii():
        return _OTHER
    return _WORD if example[0].isalnum() else re.escape(example[0])


_PROTECTED = re.compile(_joined(ROWS), re.DOTALL)
# Every match has at least one of these. Most sentences have none, and trying all patterns takes ten times as long.
_HINT = re.compile("|".join(dict.fromkeys(row.hint for row in ROWS)))
_TEMPLATE_BEGINNING = re.compile("|".join(dict.fromkeys(row.hint for row in TEMPLATES)))
TEMPLATE = re.compile(_joined(TEMPLATES), re.DOTALL)
"""Tags of template engines and shortcodes."""
OUTER_EMOJI = re.compile(EMOJI)
EMOJI_END = re.compile(f"{_EMOJI}|{_JOINED}")
"""The last character of an emoji."""

_BEGINNING = re.compile(r"[!-/:-@\[-`{-~]|[A-Za-z0-9]++|[^\x00-\x7f]")
"""Every sign, every word of ASCII and every other character: no span begins inside of such a word."""
_AT_ONCE, _LONGEST, _PLACES = 2_048, 12_288, 1_024
"""Characters of a text that is searched at once; characters of the longest span in a longer text, except a run of
emoji; places between two checkpoints."""
_HINT_LENGTH = 32
"""No hint is longer."""


def protected_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every span that is not translated, for any vocabulary; no sentence ends inside of one. Linear in
    len(text)."""
    return list(_spans(_PROTECTED, text)) if _has(_HINT, text) else []


def template_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every tag of a template engine and shortcode. Linear in len(text)."""
    return list(_spans(TEMPLATE, text)) if _has(_TEMPLATE_BEGINNING, text) else []


def add_templates(placeholder_text: PlaceholderText, raw: str, add_text: Callable[[str], None]) -> None:
    """Add `raw` to a text: its tags of template engines as placeholders, what is between them by `add_text`."""
    last = 0
    for start, end in template_spans(raw):
        add_text(raw[last:start])
        add_template(placeholder_text, raw[start:end])
        last = end
    add_text(raw[last:])


def add_template(placeholder_text: PlaceholderText, template: str) -> None:
    """Add a tag of a template engine: a value belongs to its sentence, other tags do not."""
    placeholder_text.add_value(template) if shows_value(template) else placeholder_text.add_control(template)


def _has(hints: re.Pattern[str], text: str) -> bool:
    """Whether one of the hints is in the text, which is searched in parts, as a search holds the GIL until it ends."""
    for at in range(0, len(text), _AT_ONCE):
        checkpoint()
        if hints.search(text, at, at + _AT_ONCE + _HINT_LENGTH):
            return True
    return False


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
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
