"""The given beginning of a translation: what the model reads for it, and how it is joined to what the model adds."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.text.base.pieces import Pieces
from server.text.protect.protection import Masked, Restored, beginning, restore, restore_rest

WORD_START = "\u2581"


@dataclass(frozen=True)
class Prefix:
    """`text` is what the translation begins with, byte for byte; `ids` are what the model reads for it; `said` are the
    numbers of the masks in it."""

    text: str
    ids: tuple[int, ...]
    said: frozenset[int] = frozenset()


def read_prefix(text: str, masked: Masked, pieces: Pieces, readable: Callable[[str], str]) -> Prefix:
    """`text` as the beginning of a translation of `masked`. Where it has what is protected in the source, the model
    reads the mask; `readable` replaces characters that the vocabulary lacks."""
    numbers: dict[str, list[int]] = {}
    for number, span in enumerate(masked.spans, 1):
        numbers.setdefault(span.text, []).append(number)
    said: set[int] = set()

    def masking(match: re.Match[str]) -> str:
        free = [number for number in numbers[match[0]] if number not in said]
        if not free:
            return match[0]
        said.add(free[0])
        before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
        return f"{' ' * before.isalnum()}{masked.stem}{free[0]}{' ' * after.isalnum()}"

    read = text
    if numbers:
        longest_first = sorted(numbers, key=len, reverse=True)
        read = re.sub("|".join(map(re.escape, longest_first)), masking, text)
    [ids] = pieces.encode([readable(read.lower() if masked.is_capitals else read)])
    return Prefix(text, ids[:-1], frozenset(said))


def restore_translation(masked: Masked, prefix: Prefix | None, ids: Sequence[int], pieces: Pieces) -> Restored:
    """The translation of `ids`, those of the prefix included, with the prefix as it was given and spans in place of
    masks."""
    if prefix is None:
        return restore(masked, pieces.decode([ids])[0])
    rest = restore_rest(masked, pieces.decode([ids[len(prefix.ids) :]])[0], prefix.said)
    return Restored(prefix.text + _gap(prefix, ids, pieces) * bool(rest.text) + rest.text, rest.is_moved)


def _gap(prefix: Prefix, ids: Sequence[int], pieces: Pieces) -> str:
    """The space between the prefix and what the model adds: none where the model continues the prefix's last word."""
    if not prefix.text or prefix.text[-1].isspace():
        return ""
    following = pieces.texts(ids[len(prefix.ids) :][:1])
    return " " if following and following[0].startswith(WORD_START) else ""


def restore_beginning(masked: Masked, prefix: Prefix | None, ids: Sequence[int], pieces: Pieces) -> str:
    """`restore_translation` for a translation that is not finished; at least the prefix."""
    if prefix is None:
        return beginning(masked, pieces.decode_beginning(ids))
    rest = beginning(masked, pieces.decode_beginning(ids[len(prefix.ids) :]), prefix.said)
    return prefix.text + _gap(prefix, ids, pieces) * bool(rest) + rest
