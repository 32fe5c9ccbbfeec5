"""What is protected comes through byte for byte, whatever the model does with the masks."""

import re
import string
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.protect import restoring
from server.text.protect.masking import mask
from server.text.protect.masks import Masked, Span
from server.text.protect.restoring import restore, restore_partial
from server.text.protect.terms import Terms
from server.text.spans import search, table
from server.text.spans.table import protected_spans


def spells_ascii(character: str) -> bool:
    return character.isascii()


PROTECTED = [
    "https://example.org/a/b?q=1&r=%20#top",
    "www.example.org",
    "example.com/path",
    "jane.doe+x@mail.example.org",
    "{name}",
    "{0}",
    "{{ user.name }}",
    "{% if a > 1 %}",
    "${HOME}",
    "%s",
    "%1$s",
    "%(count)d",
    "%{total}",
    "<b>",
    "</b>",
    "<0/>",
    "<a href='x y'>",
    "`ls -la`",
    "/etc/passwd",
    "C:\\Users\\tom\\a.txt",
    "report.pdf",
    "--dry-run",
    "FOO_BAR",
    "getElementById",
    "192.168.0.1:80",
    "12.11.2026",
    "3.5.24",
    "12/31/2024",
    "@jane",
    "\U0001f600",
    "\u2764\ufe0f",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "550e8400-e29b-41d4-a716-446655440000",
]
PLAIN = [
    "The cat sat on the mat.",
    "It costs 100% of $5, and/or 3.5 euros.",
    "Is it 5:30? No: 6 o'clock (really).",
    "Mr. Smith vs. Dr. Who, e.g. at 12.11.",
    "Ben & Jerry <3 ice-cream; x < y > z",
    "He said: {well, you know}",
    "STOP!",
]


@pytest.mark.parametrize("span", PROTECTED)
def test_spans_are_read_as_masks(span: str) -> None:
    for sentence in (f"Open {span} now, please.", f"Open ({span}) now."):
        masked = mask(sentence, spells_ascii)
        assert [kept.text for kept in masked.spans] == [span]
        assert masked.text == sentence.replace(span, "X1")
        target = "Bitte X1 jetzt \u00f6ffnen."
        assert restore(masked, target).text == target.replace("X1", span)


@pytest.mark.parametrize("sentence", PLAIN)
def test_plain_sentences_are_read_as_they_are(sentence: str) -> None:
    assert mask(sentence, spells_ascii) == Masked(sentence)


def test_what_ends_a_sentence_does_not_end_a_url() -> None:
    masked = mask("See http://a.org/b, (https://c.org) and http://d.org/e.", spells_ascii)
    assert masked.text == "See X1, (X2) and X3."


def test_words_that_the_vocabulary_cannot_spell() -> None:
    masked = mask("Dvo\u0159\u00e1k wrote \u732b here.", spells_ascii)
    assert masked.text == "X1 wrote X2 here."


def test_a_sentence_in_another_script_is_masked() -> None:
    """Models make up words for it."""
    sentence = "\u0414\u043e\u0431\u0440\u044b\u0439 \u0434\u0435\u043d\u044c!"
    masked = mask(sentence, spells_ascii)
    assert masked.text == "X1!"
    assert restore(masked, "mussten X1, nutzbar").text == sentence
    assert restore_partial(masked, "mussten") == ""
    assert mask("\u732b\u732b \u732b", spells_ascii).text == "X1"


def test_a_term_is_translated_in_whatever_script() -> None:
    terms = Terms({"\u043c\u0438\u0440": "world", "CO\u2082": "carbon dioxide"})
    assert restore(mask("CO\u2082", spells_ascii, terms), "X1").text == "carbon dioxide"
    masked = mask("\u0412\u043e\u0439\u043d\u0430 \u0438 \u043c\u0438\u0440", spells_ascii, terms)
    assert masked.text == "X1 X2"
    assert restore(masked, "X1 X2").text == "\u0412\u043e\u0439\u043d\u0430 \u0438 world"
    between = mask("\u0412\u043e\u0439\u043d\u0430 \u2014 \u041c\u0438\u0440", spells_ascii, Terms({"\u2014": "-"}))
    assert restore(between, between.text).text == "\u0412\u043e\u0439\u043d\u0430 - \u041c\u0438\u0440"


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("50 m\u00b2 or 50m\u00b2, 3 km/h\u00b2", "50 X1 or X2, 3 km/X3"),
        ("CO\u2082 or C\u2086H\u2081\u2082O\u2086 and Ca\u00b2\u207a", "X1 or X2 and X3"),
        ("E = mc\u00b2 is 10\u207b\u00b3", "E = X1 is X2"),
        ("See footnote\u00b9.", "See footnote X1."),
        ("1\u00bd cups, \u00bd cup", "X1 cups, X2 cup"),
        ("RingMT\u2122 runs", "RingMT X1 runs"),
    ],
)
def test_what_a_vocabulary_would_read_as_other_characters(sentence: str, read: str) -> None:
    """Vocabularies read "m\u00b2" as "m2"."""
    masked = mask(sentence, lambda character: True)
    assert masked.text == read
    assert restore(masked, read).text == sentence


def test_tags_and_emoji_are_separated_from_the_word_that_they_touch() -> None:
    masked = mask("A <b>big</b> dog\U0001f600 ran.", spells_ascii)
    assert masked.text == "A X1 big X2 dog X3 ran."
    assert restore(masked, "Ein X1 gro\u00dfer X2 Hund X3 lief.").text == "Ein <b>gro\u00dfer</b> Hund\U0001f600 lief."


def test_letters_at_a_placeholder_go_with_it() -> None:
    assert mask("Delete file{s} at {n}th place", spells_ascii).text == "Delete X1 at X2 place"
    assert mask("{a}{b} and {c}5", spells_ascii).text == "X1 and X2"


def test_masks_differ_from_the_words_of_the_sentence() -> None:
    masked = mask("The X1 and the Q7 use {name}.", spells_ascii)
    assert masked.text == "The X1 and the Q7 use Z1."
    assert restore(masked, "X1 und Q7 nutzen Z1.").text == "X1 und Q7 nutzen {name}."


@pytest.mark.parametrize(
    ("target", "restored"),
    [
        ("Hallo , du hast X2 Nachrichten", "Hallo {a}, du hast {b} Nachrichten"),
        ("Hallo X1 X1, du hast X2", "Hallo {a} , du hast {b}"),
        ("Hallo X1, du hast X2 X9", "Hallo {a}, du hast {b} "),
        ("", "{a} {b}"),
    ],
)
def test_lost_and_repeated_masks_are_repaired_and_reported(target: str, restored: str) -> None:
    masked = mask("Hello {a}, you have {b} messages", spells_ascii)
    result = restore(masked, target)
    assert result.is_moved
    assert result.text.split() == restored.replace("{a},", "{a} ,").split() or result.text.count("{a}") == 1
    assert result.text.count("{b}") == 1


def test_titles_in_capitals_are_read_in_small_letters() -> None:
    masked = mask("HOW TO OPEN {file} QUICKLY", spells_ascii)
    assert masked.text == "how to open X1 quickly"
    assert restore(masked, "wie man x1 schnell \u00f6ffnet").text == "WIE MAN {file} SCHNELL \u00d6FFNET"
    assert not mask("NASA", spells_ascii).is_capitals
    assert not mask("Not in CAPITALS", spells_ascii).is_capitals


FRAGMENTS = st.sampled_from(
    [*PROTECTED, "{a}", "X1", "x 2", "Q1", "word", "Wort", "\u00e9t\u00e9", "5", ".", "!", "STOP"]
)
SENTENCES = st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=12).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda space: space.join(parts))
)


def without_soft_hyphens(sentence: str) -> str:
    """Protected spans keep theirs: an address with one is another address."""
    ends = [0, *(end for span in protected_spans(sentence) for end in span), len(sentence)]
    parts = [sentence[start:end] for start, end in pairwise(ends)]
    return "".join(part if number % 2 else part.replace("\u00ad", "") for number, part in enumerate(parts))


@given(SENTENCES)
def test_a_model_that_copies_gives_the_sentence_back(sentence: str) -> None:
    masked = mask(sentence, spells_ascii)
    assert restore(masked, masked.text).text == without_soft_hyphens(sentence)
    assert not restore(masked, masked.text).is_moved


@given(SENTENCES, st.data())
def test_every_span_is_restored_exactly_once_for_any_output(sentence: str, data: st.DataObject) -> None:
    """Every span has a letter of its own here, or what stands side by side could say another one: "Haus" and "X1" say
    "sX1"."""
    masked = mask(sentence, spells_ascii)
    letters = (letter for letter in map(chr, range(0x4E00, 0x9FA5)) if letter not in sentence)
    spans = [span._replace(text=span.text[:1] + next(letters) + span.text[1:]) for span in masked.spans]
    masked = replace(masked, spans=tuple(spans))
    outputs = st.sampled_from([f"{masked.stem}{number}" for number in range(12)] + ["wort", " ", ".", "Haus"])
    target = "".join(data.draw(st.lists(outputs, max_size=15)))
    restored = restore(masked, target)
    assert [restored.text.count(span.text) for span in spans] == [1] * len(spans)
    assert not any(f"{masked.stem}{number}" in restored.text for number in range(1, 12) if spans) or any(
        masked.stem in span.text for span in spans
    )


@given(st.text(alphabet=string.printable + "\u00e9\u732b\U0001f600", max_size=300))
def test_any_text_has_spans_in_order(text: str) -> None:
    spans = protected_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


PIECES = [
    "http://a.b/c?d",
    "<b class='x y'>",
    "{count}",
    "a_b",
    "/etc/x",
    "user@mail.de",
    "word ",
    " ",
    "\U0001f600",
    "x",
]


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=3).map("".join), max_size=300))
def test_a_long_text_is_tried_place_by_place_as_it_would_be_searched_at_once(words: list[str]) -> None:
    text = " ".join(words)
    whole = [match.span() for match in table._PROTECTED.finditer(text)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_AT_ONCE", 0)
        patch.setattr(search, "_LONGEST", 400)
        result = list(search.find_spans(table._PROTECTED, text))
    assert joined(result) == joined(whole)


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that touch each other are one."""
    rows: list[tuple[int, int]] = []
    for start, end in spans:
        if rows and rows[-1][1] == start:
            rows[-1] = (rows[-1][0], end)
        else:
            rows.append((start, end))
    return rows


def test_a_lost_end_of_a_tag_is_as_far_from_the_other_as_in_the_source() -> None:
    bold, end = "\U000f0000", "\U000f4000"
    masked = mask(f"She was {bold}very expensive{end} then.", spells_ascii)
    assert masked.text == "She was X1 very expensive X2 then."
    assert restore(masked, "Sie war sehr teuer X2, damals.").text == f"Sie war {bold}sehr teuer{end}, damals."
    assert restore(masked, "Sie war X1 sehr teuer, damals.").text == f"Sie war {bold}sehr teuer{end}, damals."
    assert restore(masked, "Sie war damals.").text.count(bold) == 1
    longer = "Sie war X1 sehr teuer damals, als es im ganzen Land noch kaum welche gab."
    assert restore(masked, longer).text.startswith(f"Sie war {bold}sehr teuer{end} damals"), "not at the same share"


def test_marks_of_direction_stay_and_joiners_are_not_read() -> None:
    masked = mask("Hello \u2068{name}\u2069, read\u200dable", spells_ascii)
    assert masked.text == "Hello X1, readable"
    assert restore(masked, "Hallo X1, lesbar").text == "Hallo \u2068{name}\u2069, lesbar"
    assert mask("a\u200db", lambda character: True).text == "a\u200db"


def test_a_span_keeps_its_blanks_where_the_model_writes_none() -> None:
    masked = mask("Open {file} now", spells_ascii)
    assert restore(masked, "Jetzt\u00f6ffnenX1bitte").text == "Jetzt\u00f6ffnen {file} bitte"
    assert restore(masked, "\u4ecaX1\u958b\u304f").text == "\u4eca{file}\u958b\u304f", (
        "not between letters without spaces"
    )
    assert restore(mask("Open {file}now", spells_ascii), "X1bitte").text == "{file}nowbitte"


@given(
    st.lists(
        st.sampled_from(["X", "q1", "XQ 2", "k\u0663", "\u212a5", "Z", "ZZ9", " ", "{a}", *"QZKJVWY"]), max_size=30
    )
)
def test_the_stem_is_the_first_that_no_number_follows(parts: list[str]) -> None:
    sentence = "{a} " + "".join(parts)
    stems = ("".join(letters) for length in (1, 2, 3) for letters in product("XQZKJVWY", repeat=length))
    free = next(stem for stem in stems if not re.search(rf"{stem}\s?\d", sentence, re.IGNORECASE))
    assert mask(sentence, spells_ascii).stem == free


def test_more_lost_masks_than_a_model_reads_are_all_there() -> None:
    masked = mask("word {a} " * 5_000, spells_ascii)
    restored = restore(masked, "Wort " * 100)
    assert restored.is_moved
    assert restored.text.count("{a}") == 5_000


def without_copies(masked: Masked, target: str, decoded: frozenset[int]) -> str:
    """What is left of a translation, mask after mask."""
    kept = set(decoded)
    parts: list[str] = []
    end = 0
    for match in re.finditer(rf"{masked.stem}\s?([0-9]+)", target, re.IGNORECASE):
        before, shown, number = target[end : match.start()], match[0], int(match[1][:6])
        end = match.end()
        if 1 <= number <= len(masked.spans) and number not in kept:
            kept.add(number)
            shown = f"{masked.stem}{number}"
        elif not match[0][1].isspace():
            shown = ""
            before = before.removesuffix(" ") if target[end : end + 1] in ("", " ") else before
        parts += (before, shown)
    return "".join([*parts, target[end:]])


@given(
    stem=st.sampled_from(["X", "XQ"]),
    pieces=st.lists(st.sampled_from(["X1", "XQ1", "X2", "XQ2", "xq 2", "x 1", "X9", "1", " ", " ", "\n", "a", "XQ07"])),
    decoded=st.frozensets(st.integers(1, 2)),
)
def test_only_the_first_copy_of_a_mask_stays(stem: str, pieces: list[str], decoded: frozenset[int]) -> None:
    masked = Masked(f"{stem}1 a {stem}2", (Span(f"{stem}1"), Span(f"{stem}2")), stem)
    target = "".join(pieces) + "."
    assert restoring._remove_copies(masked, target, decoded)[0] == without_copies(masked, target, decoded)


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("Go {link_start}here{link_end} now.", "Go X1 here X2 now."),
        ("Go {linkStart}here{linkEnd} now.", "Go X1 here X2 now."),
        ("Go {startLink}here{endLink} now.", "Go X1 here X2 now."),
        ("Go {$START_LINK}here{$CLOSE_LINK} now.", "Go X1 here X2 now."),
        ("All {weekend}s and {friend}s.", "All X1 and X2."),
    ],
)
def test_words_between_placeholders_of_tags_are_read(sentence: str, read: str) -> None:
    assert mask(sentence, lambda character: True).text == read


def test_numbers_of_masks_are_no_numbers() -> None:
    """ "X10" has the digits of 1.0."""
    text = "{a} {b} {c} {d} {e} {f} {g} {h} {i} {j} in version 1.0"
    masked = mask(text, spells_ascii)
    assert len(masked.spans) == 10
    restored = restore(masked, masked.text, True, ("en", "de"))
    assert (restored.text, restored.is_moved) == (text, False)


@pytest.mark.parametrize("before", ["", '"', '("', "\u201e", "- "])
def test_a_mask_has_no_initial(before: str) -> None:
    masked = mask(f"{before}{{name}} fehlt", spells_ascii)
    assert restore(masked, f"{before}is missing: X1", True).text == f"{before}is missing: {{name}}"
