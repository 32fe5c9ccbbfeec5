"""The sentences of a file that look wrong, as a client is shown them: some of all, and of long ones the beginning."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from server.text.base.placeholders import PLACEHOLDER

MOST_SHOWN = 20
"""Sentences of a file that are shown, the first ones."""
LONGEST_SHOWN = 200
"""Characters of each of their sides."""
_IN_NOTES = 5


@dataclass(frozen=True)
class FlaggedSentence:
    source: str
    target: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Doubtful:
    """The first of the `count` sentences that look wrong, without the placeholders of what is no text in them."""

    sentences: Sequence[FlaggedSentence] = ()
    count: int = 0

    @classmethod
    def of(cls, flagged: Iterable[FlaggedSentence]) -> "Doubtful":
        shown: list[FlaggedSentence] = []
        count = 0
        for sentence in flagged:
            count += 1
            if count <= MOST_SHOWN:
                shown.append(FlaggedSentence(_shown(sentence.source), _shown(sentence.target), sentence.flags))
        return cls(tuple(shown), count)

    def notes(self) -> Iterator[str]:
        """The sentences for people, for answers that have notes and no place of their own for them."""
        if not self.count:
            return
        yield f"please check {self.count} of the sentences" if self.count > 1 else "please check one of the sentences"
        for sentence in self.sentences[:_IN_NOTES]:
            yield f"{', '.join(sentence.flags)}: {_quoted(sentence.source)} -> {_quoted(sentence.target)}"

    def header(self, max_bytes: int) -> str:
        """The first of the sentences as JSON in ASCII: as many as `max_bytes` have room for. "" for none."""
        written: list[str] = []
        room = max_bytes - 2
        for sentence in self.sentences:
            fields = {"source": sentence.source, "translation": sentence.target, "flags": list(sentence.flags)}
            item = json.dumps(fields)
            if len(item) + 2 > room:
                break
            written.append(item)
            room -= len(item) + 2
        return f"[{', '.join(written)}]" if written else ""


def in_words(flags: Mapping[str, int]) -> str:
    """How many sentences have each flag: "2 cut, 1 loop"."""
    return ", ".join(f"{count} {flag}" for flag, count in sorted(flags.items()))


def _shown(text: str) -> str:
    plain = " ".join(PLACEHOLDER.sub("", text[: 4 * LONGEST_SHOWN]).split())
    return plain if len(plain) <= LONGEST_SHOWN else plain[: LONGEST_SHOWN - 1] + "\u2026"


def _quoted(text: str) -> str:
    return f"\u201c{text}\u201d"
