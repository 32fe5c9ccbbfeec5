"""Accelerators that stay apart: labels of one menu have different keys, and so have their translations.

Most formats do not say which labels are of one menu. Labels that follow each other and have different keys are taken
for one, up to MOST_LABELS; where a key comes again, another menu begins.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from server.runtime.checkpoints import checkpoint
from server.text.protect.accelerators import Accelerator, accelerator_of

MOST_LABELS = 64
"""Labels of a menu, at most: keys are chosen in time that grows faster than their number, and menus of people are
shorter."""


@dataclass(frozen=True)
class Separated:
    """The translations of a file's texts, and how many labels have the key of another one in their menu, because no
    letter of theirs is free."""

    translations: list[str]
    num_clashes: int = 0


def separated(texts: Sequence[str], translations: Sequence[str]) -> Separated:
    """The `translations` of `texts`, in which marks stand before other letters where two labels of a menu would have
    the same key."""
    done = list(translations)
    num_clashes = 0
    for menu in _menus(texts, translations):
        keys = [label.key for _, label in menu]
        if len({*keys}) == len(keys):
            continue
        chosen = _different([label.keys() for _, label in menu])
        for (number, label), key in zip(menu, chosen, strict=True):
            if key is None:
                num_clashes += 1
            elif key != label.key:
                done[number] = label.with_key(key)
    return Separated(done, num_clashes)


def _menus(texts: Sequence[str], translations: Sequence[str]) -> Iterator[list[tuple[int, Accelerator]]]:
    """The labels of each menu: numbers of their texts, and their translations."""
    menu: list[tuple[int, Accelerator]] = []
    used: set[str] = set()
    for number, (text, translation) in enumerate(zip(texts, translations, strict=True)):
        checkpoint()
        source = accelerator_of(text)
        if source is None or not source.mark:
            continue
        target = accelerator_of(translation)
        if target is None or target.mark != source.mark:
            continue
        if source.key in used or len(menu) == MOST_LABELS:
            yield menu
            menu, used = [], set()
        used.add(source.key)
        menu.append((number, target))
    yield menu


def _different(wishes: Sequence[Sequence[str]]) -> list[str | None]:
    """A key for each label of those that it wishes, the first ones preferred, and no key twice; None where there is
    none. A label keeps its own key if none before it has that. A matching in a bipartite graph, by augmenting paths
    (Kuhn 1955)."""
    owners = {wished[0]: label for label, wished in reversed(list(enumerate(wishes)))}
    settled = {*owners.values()}

    def find(label: int, seen: set[str]) -> bool:
        unseen = [key for key in wishes[label] if key not in seen]
        for key in sorted(unseen, key=lambda key: key in owners):  # a free one, if there is any
            if key in seen:
                continue
            seen.add(key)
            if key not in owners or find(owners[key], seen):
                owners[key] = label
                return True
        return False

    for label in range(len(wishes)):
        if label not in settled:
            find(label, set())
    keys: list[str | None] = [None] * len(wishes)
    for key, label in owners.items():
        keys[label] = key
    return keys
