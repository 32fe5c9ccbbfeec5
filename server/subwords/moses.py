"""Text as Moses' scripts cut it into words, and words joined again, by sacremoses, which is loaded when it is needed.

In sacremoses 0.2 one pattern takes quadratic time for dots, and the check whether a word has a letter builds a set of
all letters. Both are replaced by code of linear time with the same result.
"""

import re
import unicodedata
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from server.subwords.byte_pairs import SubwordsError

INSTALL = "pip install 'ringmt[moses]'"
_DOTS_AND_QUOTATION = r'(\.+)"(\s*[^<])'
"""The pattern of the normalizer that takes quadratic time."""
_DOTS = re.compile(r'(\.+)(?:"(\s*[^<]))?')


@dataclass(frozen=True)
class Moses:
    """How text is cut. `language`: its code as sacremoses reads it. `replaces_unicode`, `normalizes`: punctuation first
    becomes that of replace-unicode-punctuation.perl, of normalize-punctuation.perl. `removes_control`: characters that
    cannot be printed become blanks before the latter. `splits_dashes`: "a-b" is a @-@ b. `escapes`: & is &amp;"""

    language: str
    replaces_unicode: bool = False
    removes_control: bool = False
    normalizes: bool = False
    splits_dashes: bool = False
    escapes: bool = True


class MosesText:
    """Cuts and joins text. Thread-safe."""

    def __init__(self, moses: Moses) -> None:
        """Raises SubwordsError where sacremoses is not installed."""
        self._moses = moses
        self._tokenizer, self._normalizer, self._detokenizer = _programs(moses)

    def words(self, text: str) -> list[str]:
        """The words of a text."""
        moses = self._moses
        if moses.replaces_unicode:
            text = self._normalizer.replace_unicode_punct(text)
        if moses.removes_control:
            text = _without_control(text)
        if moses.normalizes:
            text = self._normalizer.normalize(text)
        cut: list[str] = self._tokenizer.tokenize(
            text, aggressive_dash_splits=moses.splits_dashes, escape=moses.escapes
        )
        return cut

    def text(self, words: list[str]) -> str:
        """The text of words."""
        return str(self._detokenizer.detokenize(words))


def _without_control(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if unicodedata.category(char).startswith("C") else char for char in text)


def _programs(moses: Moses) -> tuple[Any, Any, Any]:
    try:
        tokenize, normalize = (import_module(f"sacremoses.{name}") for name in ("tokenize", "normalize"))
    except ImportError as error:
        raise SubwordsError(
            f"needs the package sacremoses, which cuts its text into words and is not installed ({error}): {INSTALL}"
        ) from error
    tokenizer = _tokenizer(tokenize.MosesTokenizer)(moses.language)
    normalizer = normalize.MosesPunctNormalizer(moses.language)
    normalizer.substitutions = [
        (_DOTS, _with_quotation) if pattern == _DOTS_AND_QUOTATION else (re.compile(pattern), by)
        for pattern, by in normalizer.substitutions
    ]
    return tokenizer, normalizer, tokenize.MosesDetokenizer(moses.language)


def _with_quotation(match: re.Match[str]) -> str:
    """Dots behind the quotation that they end in, as `_DOTS_AND_QUOTATION` puts them."""
    return match[0] if match[2] is None else f'"{match[1]}{match[2]}'


def _tokenizer(base: Any) -> Any:
    """sacremoses' tokenizer, whose questions about characters take the time of the characters."""

    class Tokenizer(base):  # type: ignore[misc]
        def __init__(self, language: str) -> None:
            super().__init__(language)
            self.alphabetic, self.lower = frozenset(self.IsAlpha), frozenset(self.IsLower)
            if self.IsAlnum is not base.IsAlnum:  # with Chinese, Japanese or Korean: 47,000 to 100,000 characters
                letters = _ranges(self.IsAlnum)
                self.PAD_NOT_ISALNUM = re.compile(rf"([^{letters}\s\.'\`\,\-])"), r" \1 "
                self.AGGRESSIVE_HYPHEN_SPLIT = re.compile(rf"([{letters}])\-(?=[{letters}])"), r"\1 @-@ "

        def isanyalpha(self, text: str) -> bool:
            return not self.alphabetic.isdisjoint(text)

        def islower(self, text: str) -> bool:
            return self.lower.issuperset(text)

    return Tokenizer


def _ranges(characters: str) -> str:
    """Characters as ranges within brackets of a pattern."""
    ranges: list[list[int]] = []
    for code in sorted(set(map(ord, characters))):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
