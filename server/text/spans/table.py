"""The table of protected spans."""

import re

from server.text.base.placeholders import PLACEHOLDER, TERM_PLACEHOLDER
from server.text.spans.addresses import ADDRESSES, FILES
from server.text.spans.data import DATA
from server.text.spans.placeholders import MESSAGES, TAGS
from server.text.spans.row import Row
from server.text.spans.search import find_spans, has_hint, joined
from server.text.spans.templates import TEMPLATES

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

_PROTECTED = re.compile(joined(ROWS), re.DOTALL)
# Every match has at least one of these. Most sentences have none, and trying all patterns takes ten times as long.
_HINT = re.compile("|".join(dict.fromkeys(row.hint for row in ROWS)))
# Most sentences are words of letters with one capital at most, at their beginnings, and signs behind words: they have
# no hint. To try every hint at every character takes ten times as long.
_PLAIN = re.compile(r"(?:(?!\w*?(?:yy|[a-f]{8}))[A-Z]?[^\W\d_A-Z]{0,15}+(?:'[a-xz]{1,2})?[.,;!?]?(?: |\Z))*+")
_PLAIN_LENGTH = 2_048
"""Characters of the longest text that is looked at as a whole."""
OUTER_EMOJI = re.compile(EMOJI)
EMOJI_END = re.compile(f"{_EMOJI}|{_JOINED}")
"""The last character of an emoji."""


def protected_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every span that is not translated, for any vocabulary; no sentence ends inside of one. Linear in
    len(text)."""
    if len(text) <= _PLAIN_LENGTH and _PLAIN.fullmatch(text):
        return []
    return list(find_spans(_PROTECTED, text)) if has_hint(_HINT, text) else []
