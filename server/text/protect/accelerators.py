"""Accelerators: the mark in a label of a menu or a button that says which of its letters is its key ("&File", "_File",
"~Edit", "Fil&e").

The model reads the label without the mark, and the mark is put before a letter of the translation. "&&" is an ampersand
that marks nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from server.text.base.words import Place
from server.text.protect.unspellable import UNSPACED
from server.text.spans.table import protected_spans

MAX_LENGTH, MAX_WORDS = 80, 6
"""Characters and words of a label, at most."""
_ELLIPSIS = ("...", "\u2026")
_MARK = re.compile(
    r"&(?=\w)|(?<![\w_])_(?=[^\W\d_])|(?<![^\W\d_])~(?=[A-Z])"
    r"|(?<=[^\W\d_])[_~](?=[^\W\d_])"
)
_ENTITY = re.compile(r"&\w+;|&#")
_WORD = re.compile(r"[^\W_]+")
_NO_KEY = re.compile(f"[{UNSPACED}]")
_TAIL = re.compile(r"(?<![\s.:\u2026])[\s.:\u2026]*+\Z")


@dataclass(frozen=True)
class Accelerator:
    """`label` as the model reads it; the `mark` stands at `at` before a letter of it. Without a mark the label has
    only ampersands written as "&&" (`is_escaped`). `number`: how often its letter stands before it."""

    label: str
    mark: str = ""
    at: int = 0
    is_escaped: bool = False
    number: int = 0

    @property
    def key(self) -> str:
        """The letter that is marked, in lower case."""
        return self.label[self.at].casefold()

    def keys(self) -> list[str]:
        """The keys that the label may have: its own, then the beginnings of its words, then its other letters."""
        taken = {at for start, end in protected_spans(self.label) for at in range(start, end)}
        free = [at for at, char in enumerate(self.label) if _is_key(char) and at not in taken]
        initials = [at for at in free if at == 0 or not self.label[at - 1].isalnum()]
        return list(dict.fromkeys([self.key, *(self.label[at].casefold() for at in (*initials, *free))]))

    def with_key(self, key: str) -> str:
        """The label with its mark before this letter, one of `keys`, at the beginning of a word if it can be."""
        return replace(self, label=key, at=0).write_into(self.label, protected_spans(self.label), is_unchanged=False)

    def outside(self, spans: Sequence[Place]) -> "Accelerator":
        """The same with the `number` of its letter outside of protected spans of the label."""
        if not self.mark:
            return self
        protected = {at for start, end in spans for at in range(start, end)}
        letter = self.label[self.at].casefold()
        before = (at for at in range(self.at) if self.label[at].casefold() == letter and _is_key(self.label[at]))
        return replace(self, number=sum(at not in protected for at in before))

    def write_into(self, translation: str, masks: Sequence[Place], is_unchanged: bool) -> str:
        """The translation with the mark before the same letter, at the beginning of a word if it can be; otherwise
        before its first letter. No letter in one of the `masks` has it. Where no letter is on a keyboard, the key
        follows in brackets, as is usual in those languages."""
        at = self._place(translation, masks, is_unchanged) if self.mark and translation else None
        ends = [translation]
        if at is not None:
            ends = [translation[:at], translation[at:]]
        if self.is_escaped:
            ends = [part.replace("&", "&&") for part in ends]
        if at is None and self.mark and translation:
            tail = _TAIL.search(translation)
            assert tail is not None
            key = self.label[self.at].upper()
            return f"{ends[0][: len(ends[0]) - len(tail[0])]}({self.mark}{key}){tail[0]}"
        return self.mark.join(ends) if at is not None else ends[0]

    def _place(self, translation: str, masks: Sequence[Place], is_unchanged: bool) -> int | None:
        letter = self.label[self.at].casefold()
        taken = {at for start, end in masks for at in range(start, end)}
        free = [at for at, char in enumerate(translation) if _is_key(char) and at not in taken]
        same = [at for at in free if translation[at].casefold() == letter]
        if is_unchanged and self.number < len(same):
            return same[self.number]
        initials = [at for at in same if at == 0 or not translation[at - 1].isalnum()]
        return next(iter([*initials, *same, *free]), None)


def accelerator_of(sentence: str) -> Accelerator | None:
    """The accelerator of a sentence that is a label, or None."""
    if not any(mark in sentence for mark in "&_~"):
        return None
    if len(sentence) > MAX_LENGTH or len(sentence.split()) > MAX_WORDS:
        return None
    read = sentence.replace("&&", "\0\0")
    results = [match.start() for match in _MARK.finditer(read) if _is_mark(read, match.start())]
    is_escaped = re.search(r"(?:^|\s)\0\0(?:\s|$)", read) is not None
    marks = [read[at] for at in results]
    if len(results) != 1 or read.count(marks[0]) != 1:
        return Accelerator(sentence.replace("&&", "&"), is_escaped=True) if is_escaped and not results else None
    [at] = results
    kept = read[:at].replace("\0\0", "&")
    return Accelerator(kept + read[at + 1 :].replace("\0\0", "&"), marks[0], len(kept), is_escaped)


def _is_mark(label: str, at: int) -> bool:
    """Whether it marks a letter of a label: names of programs, companies and characters have the same signs."""
    if _ENTITY.match(label, at) or not _is_key(label[at + 1]):
        return False
    before, after = label[at - 1] if at else " ", label[at + 1]
    if not before.isalnum():
        if label[at] == "_" and not (after.isupper() or (len(label.split()) <= 3 and label[0].isupper())):
            return False
        return not any(start < at < end for start, end in protected_spans(label))
    start = at - len(label[:at]) + label.rfind(" ", 0, at) + 1
    first = label[start]
    if not first.isupper() or not after.islower():  # "AT&T", "black&white", "Tom&Jerry", "user_name"
        return False
    if label[at] != "_":
        return True
    # "E_xit" is a label and "First_name" a name; a label may have more words.
    return at - start <= 2 or label.rstrip().endswith(_ELLIPSIS)


def _is_key(character: str) -> bool:
    return character.isalnum() and not _NO_KEY.match(character)
