"""A target prefix: the ids that the decoder is forced to, and the join of the prefix and its continuation."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from server.text.base.pieces import Pieces
from server.text.protect.masks import Masked
from server.text.protect.restoring import Restored, restore_continuation, restore_partial


@dataclass(frozen=True)
class Prefix:
    """The translation begins with `text`, byte for byte. `ids`: the same for the decoder; `decoded_masks`: the
    numbers of the masks in them."""

    text: str
    ids: tuple[int, ...]
    decoded_masks: frozenset[int] = frozenset()


def encode_prefix(text: str, masked: Masked, pieces: Pieces, spellable: Callable[[str], str]) -> Prefix:
    """`text` as the prefix of a translation of `masked`. The decoder reads a mask where the prefix has a protected span
    of the source. `spellable` replaces characters that the vocabulary lacks."""
    numbers: dict[str, list[int]] = {}
    for number, span in enumerate(masked.spans, 1):
        numbers.setdefault(span.text, []).append(number)
    decoded_masks: set[int] = set()

    def replace_span(match: re.Match[str]) -> str:
        free = [number for number in numbers[match[0]] if number not in decoded_masks]
        if not free:
            return match[0]
        decoded_masks.add(free[0])
        before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
        return f"{' ' * before.isalnum()}{masked.stem}{free[0]}{' ' * after.isalnum()}"

    read = text
    if numbers:
        longest_first = sorted(numbers, key=len, reverse=True)
        read = re.sub("|".join(map(re.escape, longest_first)), replace_span, text)
    [ids] = pieces.encode([spellable(read.lower() if masked.is_capitals else read)])
    return Prefix(text, ids[:-1], frozenset(decoded_masks))


def restore_translation(masked: Masked, prefix: Prefix, ids: Sequence[int], pieces: Pieces) -> Restored:
    """The translation of `ids`, which include the ids of the prefix: the prefix byte for byte, then the continuation
    with spans in place of masks."""
    [decoded] = pieces.decode([ids[len(prefix.ids) :]])
    continuation = restore_continuation(masked, decoded, prefix.decoded_masks)
    space = _space_after(prefix, ids, pieces) if continuation.text else ""
    if decoded[:1].casefold() != continuation.text[:1].casefold() and prefix.text and not prefix.text[-1].isspace():
        space = " "  # a span that the model lost stands there
    return Restored(prefix.text + space + continuation.text, continuation.is_moved)


def _space_after(prefix: Prefix, ids: Sequence[int], pieces: Pieces) -> str:
    """A space if the continuation begins a word; "" if it continues the last word of the prefix."""
    if not prefix.text or prefix.text[-1].isspace():
        return ""
    return " " if pieces.begins_word(prefix.ids, ids[len(prefix.ids) :]) else ""


def restore_partial_translation(masked: Masked, prefix: Prefix, ids: Sequence[int], pieces: Pieces) -> str:
    """`restore_translation` for a translation that is being decoded; at least the prefix."""
    continuation = restore_partial(masked, pieces.decode_beginning(ids[len(prefix.ids) :]), prefix.decoded_masks)
    return prefix.text + _space_after(prefix, ids, pieces) * bool(continuation) + continuation
