"""Exact and near matches, compared with a dictionary and with a scan of all entries."""

import contextlib
import tracemalloc
import unicodedata
from collections.abc import Callable, Iterable
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.runtime.checkpoints import on_checkpoint
from server.runtime.offload import Abandoned
from server.translation_memory import index as index_module
from server.translation_memory.index import ADDED_AT_ONCE, CANDIDATES, MemoryIndex, lengths_of, likeness
from server.translation_memory.pairs import EXACT, EntryMatch, Pair
from server.translation_memory.segments import entry_id, normalized, words_of

WORDS = st.sampled_from(
    [
        "the",
        "The",
        "house",
        "houses",
        "red",
        "is",
        "caf\u00e9",
        "cafe\u0301",
        "5",
        "6",
        "\u7ea2\u8272\u7684\u623f\u5b50",
    ]
)
SEPARATORS = st.sampled_from([" ", "  ", "\n", "\u00a0", " \t"])
TEXTS = st.lists(st.tuples(WORDS, SEPARATORS), min_size=1, max_size=8).map(
    lambda parts: "".join(word + separator for word, separator in parts)
)
PAIRS = st.lists(st.builds(Pair, TEXTS, TEXTS), max_size=30)


def scan(pairs: list[Pair], text: str, threshold: int) -> list[EntryMatch]:
    """The slow reference: every entry is compared, by a longest common subsequence in plain loops."""
    latest = {normalized(pair.source): pair for pair in pairs}
    firsts = list(dict.fromkeys(normalized(pair.source) for pair in pairs))
    found = [(percent(normalized(text), normal), at, latest[normal]) for at, normal in enumerate(firsts)]
    kept = [item for item in found if item[0] >= threshold and item[0] > 0 and _shares_word(item[2].source, text)]
    return [EntryMatch(pair, alike) for alike, _, pair in sorted(kept, key=lambda item: (-item[0], item[1]))]


def _shares_word(text: str, other: str) -> bool:
    return bool(words_of(normalized(text)) & words_of(normalized(other)))


def percent(first: str, second: str) -> int:
    if first == second:
        return EXACT
    row = [0] * (len(second) + 1)
    for char in first:
        previous, row = row, [0]
        for at, other in enumerate(second):
            row.append(previous[at] + 1 if char == other else max(row[at], previous[at + 1]))
    return min(200 * row[-1] // (len(first) + len(second)), EXACT - 1)


def filled(pairs: list[Pair]) -> MemoryIndex:
    index = MemoryIndex()
    index.add(pairs)
    return index


@given(PAIRS, TEXTS)
def test_exact_matches_are_those_of_a_dictionary(pairs: list[Pair], text: str) -> None:
    by_source = {unicodedata.normalize("NFC", " ".join(pair.source.split())): pair for pair in pairs}
    index = filled(pairs)
    assert index.exact(text) == by_source.get(unicodedata.normalize("NFC", " ".join(text.split())))
    for pair in pairs:
        assert index.exact(pair.source) == by_source[normalized(pair.source)]
    assert len(index) == len(by_source) == len({entry_id(normalized(pair.source)) for pair in pairs})


@given(PAIRS, PAIRS, TEXTS, st.integers(0, 100), st.integers(1, 5))
@settings(deadline=None)
def test_near_matches_are_those_of_a_scan(
    gone: list[Pair], pairs: list[Pair], text: str, threshold: int, most: int
) -> None:
    index = filled(gone)
    for pair in gone:
        index.remove(entry_id(normalized(pair.source)))
    assert len(index) == 0
    assert index.exact(text) is None
    assert index.near(text, 0, 5) == []
    index.add(pairs)
    assert index.near(text, threshold, most) == scan(pairs, text, threshold)[:most]


def test_a_length_that_is_left_out_cannot_be_similar() -> None:
    """And one that can be is not left out: all characters of the shorter text may be in the longer one."""
    for length in range(1, 40):
        for other in range(1, 120):
            most = EXACT if length == other else 200 * min(length, other) // (length + other)
            for threshold in range(1, EXACT + 1):
                shortest, longest = lengths_of(length, threshold)
                assert (shortest <= other <= longest) == (most >= threshold)


@given(st.text("ab ", max_size=12), st.text("ab ", max_size=12))
def test_likeness_is_exact_at_the_threshold(first: str, second: str) -> None:
    alike = percent(first, second)
    assert [likeness(first, second, threshold) for threshold in (0, alike)] == [alike, alike]
    assert alike == EXACT or likeness(first, second, alike + 1) == 0


def test_removed_entries_hide_no_other() -> None:
    index = filled([Pair(f"the house {number}", "") for number in range(300)])
    for number in range(299):
        index.remove(entry_id(f"the house {number}"))
    assert [found.pair.source for found in index.near("the", 0, 5)] == ["the house 299"]


def test_entries_are_replaced() -> None:
    index = filled([Pair("Good morning.", "Guten Tag."), Pair("Good  morning.", "Guten Morgen.")])
    assert index.exact(" Good morning.\n") == Pair("Good  morning.", "Guten Morgen.")
    assert index.exact("good morning.") is None
    assert index.near("Good mornings.", 75, 5) == [EntryMatch(Pair("Good  morning.", "Guten Morgen."), 96)]


def test_a_rare_word_finds_its_entry_among_very_many() -> None:
    pairs = [Pair(f"The number of the house is {number}.", str(number)) for number in range(30_000)]
    index = filled([*pairs, Pair("The number of the zebra is large.", "Zebra")])
    assert index.near("The number of a zebra is large.", 75, 1)[0].pair.target == "Zebra"
    assert index.near("The number of the house is 12345 .", 90, 1)[0].pair.target == "12345"


@pytest.mark.parametrize("text", ["the", "the house " * 200])
def test_work_is_bounded_by_the_length_of_the_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an index of any size, so many entries are looked at, and so many compared."""
    index = filled([Pair(f"the house {number}" * (1 + number % 40), "") for number in range(20_000)])
    seen = {"visited": 0, "compared": 0}

    def counted(items: Iterable[int], stop: int) -> list[int]:
        kept = list(islice(items, stop))
        seen["visited"] += len(kept)
        return kept

    def compared(*arguments: object) -> int:
        seen["compared"] += 1
        return 0

    monkeypatch.setattr(index_module, "islice", counted)
    monkeypatch.setattr(index_module, "likeness", compared)
    index.near(text, 0, 3)
    assert 0 < seen["compared"] <= CANDIDATES
    most = max(index_module.MIN_SCANNED, index_module.SCANNED_PER_CHAR * len(text))
    assert 0 < seen["visited"] <= most


@pytest.mark.parametrize("length", [1, 1000])
@pytest.mark.parametrize(
    "words",
    [
        lambda entry: [f"{entry}", "the", "house", "is", "red"],
        lambda entry: [f"{entry:x}q{word:x}" for word in range(200)],
    ],
    ids=["few", "all new"],
)
def test_the_estimate_of_memory_is_no_less_than_it_takes(words: Callable[[int], list[str]], length: int) -> None:
    pairs = [Pair(" ".join(words(entry)), f"x {entry}") for entry in range(300)]
    tracemalloc.start()
    try:
        index = MemoryIndex()
        index.add(Pair(pair.source, "x") for pair in pairs)
        index.add(Pair(pair.source, pair.target * length) for pair in pairs)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < index.num_bytes < 4 * taken


def test_made_up_words_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the buckets, whose number is bounded, a word takes less than the characters that it is made of."""
    monkeypatch.setattr(index_module, "BUCKETS", 2**8)
    pairs = [Pair(" ".join(f"{entry:x}q{word:x}" for word in range(200)), "x") for entry in range(300)]
    characters = sum(len(pair.source) for pair in pairs)
    tracemalloc.start()
    try:
        index = MemoryIndex()
        index.add(pairs)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 3 * characters
    assert [found.likeness for found in index.near(pairs[7].source + "!", 90, 1)] == [99]


@settings(max_examples=30)
@given(PAIRS, st.integers(0, 3))
def test_what_was_added_in_part_may_be_added_again(pairs: list[Pair], parts: int) -> None:
    """Adding ends at a checkpoint when its caller is cancelled."""
    expected, repeated = MemoryIndex(), MemoryIndex()
    expected.add(pairs)
    left = iter(range(parts))

    def end() -> None:
        if next(left, None) is None:
            raise Abandoned

    token = on_checkpoint.set(end)
    with contextlib.suppress(Abandoned):
        repeated.add(pairs)
    on_checkpoint.reset(token)
    assert len(repeated) <= ADDED_AT_ONCE * (parts + 1)
    repeated.add(pairs)
    assert (len(repeated), repeated.num_bytes) == (len(expected), expected.num_bytes)
    for pair in pairs:
        assert repeated.exact(pair.source) == expected.exact(pair.source)
        assert repeated.near(pair.source, 50, 9) == expected.near(pair.source, 50, 9)
