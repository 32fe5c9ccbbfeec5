"""Labels of one menu keep different keys."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from server.files.accelerators import MOST_LABELS, separated
from server.text.protect.accelerators import accelerator_of
from tests.growth import assert_linear


def keys(labels: list[str]) -> list[str]:
    return [label.key for label in map(accelerator_of, labels) if label is not None]


def test_a_second_label_with_a_key_gets_another_letter() -> None:
    done = separated(["&Find", "&Save", "&Quit"], ["&Suchen", "&Speichern", "&Beenden"])
    assert done.translations == ["&Suchen", "S&peichern", "&Beenden"]
    assert done.num_clashes == 0


def test_the_same_key_again_begins_another_menu() -> None:
    labels = ["&Open", "&Save", "&Other", "&Search"]
    translations = ["&A", "&S", "&A", "&S"]
    done = separated(labels, translations)
    assert (done.translations, done.num_clashes) == (translations, 0)


def test_a_key_is_passed_on_where_a_label_has_no_other() -> None:
    assert separated(["&Do", "&No"], ["&Ab", "&A"]).translations == ["A&b", "&A"]


def test_labels_without_a_free_letter_are_counted() -> None:
    done = separated(["_Do", "_No", "_Up"], ["_A", "_A", "_Aa"])
    assert (done.translations, done.num_clashes) == (["_A", "_A", "_Aa"], 2)


def test_other_texts_stay() -> None:
    texts = ["We walk home.", "&Find", "A & B", "&Save", "&Go && stay"]
    done = ["Wir gehen.", "&Suchen", "A & B", "&Sichern", "&Suchen && bleiben"]
    assert separated(texts, done).translations == ["Wir gehen.", "&Suchen", "A & B", "S&ichern", "Suchen && &bleiben"]


WORDS = st.text("abcd", min_size=1, max_size=4).map(str.capitalize)


@given(st.lists(WORDS, min_size=1, max_size=6))
def test_as_many_labels_as_possible_have_keys_of_their_own(words: list[str]) -> None:
    """As many as the best of all choices, tried one by one."""
    sources = [f"&{letter}ext" for letter in "ABCDEF"[: len(words)]]
    translations = [f"&{word}" for word in words]
    done = separated(sources, translations)
    assert [label.replace("&", "") for label in done.translations] == words
    assert len(words) - done.num_clashes == _most_keys(words)
    if not done.num_clashes:
        assert len({*keys(done.translations)}) == len(words)
    if len({*keys(translations)}) == len(words):
        assert done.translations == translations


def _most_keys(words: list[str]) -> int:
    """How many of the words can have a letter of their own."""

    def most(at: int, used: frozenset[str]) -> int:
        if at == len(words):
            return 0
        free = {*words[at].casefold()} - used
        return max([most(at + 1, used), *(1 + most(at + 1, used | {letter}) for letter in free)])

    return most(0, frozenset())


def test_one_menu_of_thousands_of_labels_is_divided() -> None:
    """The last label of the chain gets its key only if all others give theirs to the next one."""
    letters = [letter for letter in map(chr, range(0x80, 0x3000)) if accelerator_of(f"&{letter}") and letter.islower()]
    keys_of_labels = list(dict.fromkeys(letter.casefold() for letter in letters if len(letter.casefold()) == 1))[:1200]
    assert len(keys_of_labels) > 1000
    sources = [f"&{key}" for key in keys_of_labels]
    chain = [f"&{key}{following}" for key, following in itertools.pairwise(keys_of_labels)]
    done = separated(sources, [*chain, f"&{keys_of_labels[0]}"])
    assert done.translations == [*chain, f"&{keys_of_labels[0]}"]
    menu = MOST_LABELS
    assert separated(sources[:menu], [*chain[: menu - 1], f"&{keys_of_labels[0]}"]).num_clashes == 0


def test_files_of_labels_take_linear_time() -> None:
    def read(text: str) -> None:
        labels = text.split("|")
        separated([f"&{label}" for label in labels], [f"&{label}" for label in labels])

    assert_linear(read, ("Ab|Ba|", "a|", "Abc|"), count=6, ordinary=None)
