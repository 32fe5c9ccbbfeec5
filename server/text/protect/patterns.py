"""Patterns of spans that are not translated, joined into one pattern; earlier alternatives win."""

import re
from collections.abc import Iterator

from server.runtime.checkpoints import checkpoint
from server.text.base.placeholders import PLACEHOLDER, TERM_PLACEHOLDER

_TOP_LEVEL = "com|org|net|edu|gov|io|dev|app|info|eu|de|at|ch|fr|es|it|nl|pl|cz|uk|us|jp|cn|ru|br"
_SUFFIXES = (
    "txt|md|rst|pdf|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|toml|xml|html?|css|js|ts|py|rs|go|java|cpp|hpp|sh|bat|exe|dll|"
    "so|zip|gz|tar|png|jpe?g|gif|svg|mp[34]|wav|log|ini|conf|cfg|db|sql|php|po|srt|vtt"
)
_EMOJI = (
    "[\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\u00a9\u00ae\u2120\u2122]"
)
_JOINED = "[\ufe0e\ufe0f\u200d\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
EMOJI = rf"(?:[0-9#*]\ufe0f?\u20e3|{_EMOJI}{_JOINED}*+)++"

# Spans that may contain spaces and full stops; no sentence ends inside of them.
_SPACED = (
    # Tags and numbered tags: <b class="x">, </b>, <br/>, <0/>, </0>; comments.
    r"<!--.{0,500}?-->",
    r"</?[A-Za-z][\w:.-]*+(?:\s[^<>]{0,500})?/?>",
    r"</?\d{1,4}\s?/?>",
    # Placeholders of templates; code.
    r"\{\{[^{}\n]{0,100}\}\}",
    r"\{%[^{}\n]{0,200}%\}",
    r"[$#%]\{[^{}\n]{0,100}\}",
    r"\{[^{}\s]{0,100}\}",
    r"\{\s?[\w.-]{1,100}\s?\}",
    r"`[^`\n]{1,300}`",
)
_PATTERNS = (
    *_SPACED,
    # Placeholders of format strings.
    r"%\(\w{1,100}\)[#0+-]{0,3}\d{0,3}(?:\.\d{1,3})?[diouxXeEfFgGcrsa]",
    r"%(?:\d{1,2}\$)?[-+0#]{0,3}\d{0,3}(?:\.\d{1,3})?(?:ll?|hh?|z|j)?[diouxXeEfFgGcsSp@](?![A-Za-z])",
    r"(?<![\w%])%\d{1,2}(?![\d.,%])",
    r"%[A-Z_]{2,40}%",
    r"(?<![\w$])\$[A-Za-z_]\w{0,100}",
    # Addresses. Punctuation that may end a sentence does not end an address.
    r"(?:\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://|\bwww\.|\bmailto:|\btel:)(?:[^\s<>\"\u201c\u201d]{0,2000}[\w/=&#%+~$-])",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    rf"(?<![\w.@-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,6}}(?:{_TOP_LEVEL})\b(?:/[^\s<>\"]{{0,2000}}[\w/=&#%+~-]|/)?",
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.]\d)",
    # Files, paths, options, names of code.
    rf"(?<![\w./\\-])[\w-]{{1,100}}(?:\.[\w-]{{1,40}}){{0,5}}\.(?:{_SUFFIXES})\b",
    r"(?<![\w/.~])(?:~|\.{1,2})?(?:/[\w.@+-]{1,100}){1,40}/?(?<![.])",
    r"\b[A-Za-z]:\\[^\s\"<>|]{0,500}[\w\\]",
    r"(?<![\w-])--[a-z][\w-]{1,60}(?:=\w{1,60})?",
    r"\b[A-Za-z_]\w{0,100}\(\)",
    r"\b[A-Za-z][A-Za-z0-9]{0,60}(?:_[A-Za-z0-9]{1,60}){1,20}\b",
    r"\b[a-z]{1,40}[a-z0-9]{0,40}[A-Z]\w{1,60}\b",
    r"(?<!\w)(?=[a-f]{0,20}[0-9])(?:[0-9a-f]{8}(?:-[0-9a-f]{4,12}){2,4}+|[0-9a-f]{12,128}+)(?!\w)",
    r"(?<![\w&/])[@#][A-Za-z_]\w{1,60}",
    r"(?<!\S)[:;]-?[)(DP|](?!\S)",
    EMOJI,
    PLACEHOLDER.pattern,
    TERM_PLACEHOLDER.pattern,
)
_PROTECTED = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.DOTALL)
# Every match has at least one of these. Most sentences have none, and trying all patterns takes ten times as long.
_HINT = re.compile(
    rf"[<{{%$`@#/\\_]|\w\.\w|--|\(\)|[a-z][A-Z]|[:;]-?[)(DP|]|[0-9a-f]{{8}}|mailto|tel:|\ufe0f|{_EMOJI}|{PLACEHOLDER.pattern}|{TERM_PLACEHOLDER.pattern}"
)
_WITH_SPACES = re.compile("|".join(f"(?:{pattern})" for pattern in _SPACED), re.DOTALL)
OUTER_EMOJI = re.compile(EMOJI)
EMOJI_END = re.compile(f"{_EMOJI}|{_JOINED}")
"""The last character of an emoji."""


_WINDOW, _LONGEST = 16_384, 8_192
"""Characters of a long text that are searched at once; characters of the longest span, except a run of emoji."""


def protected_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every span that is not translated, for any vocabulary. Linear in len(text)."""
    return list(_spans(_PROTECTED, text)) if _HINT.search(text) else []


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The spans of all matches. A long text is searched in windows, because a search holds the GIL until it ends. A
    match that ends at the end of its window may continue: the next match begins there and touches it."""
    if len(text) <= _WINDOW + _LONGEST:
        yield from (match.span() for match in pattern.finditer(text))
        return
    at = 0
    while at < len(text):
        checkpoint()
        following = at + _WINDOW
        end = min(len(text), following + _LONGEST)
        for match in pattern.finditer(text, at, end):
            if match.start() >= at + _WINDOW and end < len(text):  # the next window finds the whole match
                break
            yield match.span()
            following = max(following, match.end())
        at = following if end < len(text) else end


def unbroken_spans(text: str) -> list[tuple[int, int]]:
    """The protected spans that may contain spaces and full stops; no sentence ends inside of them."""
    return list(_spans(_WITH_SPACES, text)) if any(map(text.__contains__, "<{`")) else []
