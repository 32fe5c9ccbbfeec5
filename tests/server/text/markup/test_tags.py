"""Tags that an alignment sets into a translation."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.base.placeholders import (
    PLACEHOLDER,
    PlaceholderText,
    is_closing,
    is_opening,
    is_placeholder,
    nested,
    opening_of,
    split_at_placeholders,
)
from server.text.base.words import words_of
from server.text.markup.markup import read_markup
from server.text.markup.tags import place_tags, strip_tags


def placed(markup: str, target: str, *pairs: tuple[str, str]) -> str:
    """HTML of one sentence, its translation, and words that belong together, each there once -> the translation as
    HTML."""
    [block] = [part for part in read_markup(markup).parts if not isinstance(part, str)]
    source, tags = strip_tags(block.placeholder_text.text)

    def place(text: str, word: str) -> tuple[int, int]:
        [match] = re.finditer(rf"\b{re.escape(word)}\b", text)
        return match.span()

    links = [(place(source, word), place(target, target_word)) for word, target_word in pairs]
    return block.placeholder_text.render(place_tags(tags, source, target, links), lambda text: text)


GREEN = [("the", "das"), ("green", "gr\u00fcne"), ("house", "Haus"), ("see", "sehe"), ("I", "Ich")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("I see the <b>green</b> house.", "Ich sehe das <b>gr\u00fcne</b> Haus."),
        ("I see <b>the green house</b>.", "Ich sehe <b>das gr\u00fcne Haus</b>."),
        ("I see <b>the <i>green</i> house.</b>", "Ich sehe <b>das <i>gr\u00fcne</i> Haus.</b>"),
        ("<p><b>I see the green house</b>.</p>", "<b>Ich sehe das gr\u00fcne Haus</b>."),
        ("<b>I</b> see the <i>green house</i>.", "<b>Ich</b> sehe das <i>gr\u00fcne Haus</i>."),
        ("I see <a></a>the green house.", "Ich sehe <a></a>das gr\u00fcne Haus."),
        ("I see <b>the</b><a></a> green house.", "Ich sehe <b>das</b><a></a> gr\u00fcne Haus."),
        ("I see the green house<b>.</b>", "Ich sehe das gr\u00fcne Haus<b>.</b>"),
    ],
)
def test_tags_go_with_the_words_that_they_enclose(source: str, expected: str) -> None:
    assert placed(source, "Ich sehe das gr\u00fcne Haus.", *GREEN) == expected


@pytest.mark.parametrize("mark", ["<img>", "<rt>x</rt>"])
@pytest.mark.parametrize("inside", ["house{}", "house.{}"])
def test_a_mark_at_the_end_of_an_element_is_no_sign(mark: str, inside: str) -> None:
    """A full stop behind a ruby stays behind it."""
    for name in ("ruby", "b"):
        end = "" if "." in inside else "."
        source = f"I see the green <{name}>{inside.format(mark)}</{name}>{end}"
        [block] = [part for part in read_markup(source).parts if not isinstance(part, str)]
        text, tags = strip_tags(block.placeholder_text.text)
        [standalone] = PLACEHOLDER.findall(text)
        target = text.replace("house", "Haus").replace(standalone, "") + standalone  # as models write it
        start = text.index("house")
        after = place_tags(tags, text, target, [((start, start + 5), (start, start + 4))])
        assert block.placeholder_text.render(after, lambda text: text) == source.replace("house", "Haus")


def test_words_in_another_order() -> None:
    pairs = [("He", "Er"), ("called", "rief"), ("called", "an"), ("me", "mich"), ("today", "heute")]
    target = "Heute rief er mich an."
    lowered = [(word, {"Er": "er", "heute": "Heute"}.get(target_word, target_word)) for word, target_word in pairs]
    assert placed("He called me <b>today</b>.", target, *lowered) == "<b>Heute</b> rief er mich an."
    # Of both parts of "rief an" the first: two words of others stand between them.
    assert placed("He <b>called</b> me today.", target, *lowered) == "Heute <b>rief</b> er mich an."
    assert placed("<i>He</i> called <b>me</b> today.", target, *lowered) == "Heute rief <i>er</i> <b>mich</b> an."


def test_signs_are_inside_where_they_were() -> None:
    pairs = [("He", "Er"), ("said", "sagte"), ("yes", "ja")]
    target = "Er sagte \u201eja\u201c."
    assert placed('He said <b>"yes"</b>.', target, *pairs).startswith("Er sagte <b>\u201eja\u201c")
    assert placed('He said "<b>yes</b>".', target, *pairs) == "Er sagte \u201e<b>ja</b>\u201c."


def test_a_word_that_nothing_comes_from_stands_between_its_neighbours() -> None:
    pairs = [("I", "Ich"), ("see", "sehe"), ("house", "Haus")]
    assert placed("I see <b>the</b> house.", "Ich sehe das Haus.", *pairs) == "Ich sehe <b>das</b> Haus."
    assert placed("I see <b>the</b> house.", "Ich sehe das Haus.").count("<b>") == 1


@pytest.mark.parametrize(
    ("source", "target", "pairs", "expected"),
    [
        ("H<sub>2</sub>O boils.", "H2O kocht.", [("H2O", "H2O")], "H<sub>2</sub>O kocht."),
        ("H<sub>2</sub>O boils.", "H2O kocht.", [], "H<sub>2</sub>O kocht."),
        ("5 m<sup>2</sup> of land", "Land: 5 m2", [("m2", "m2")], "Land: 5 m<sup>2</sup>"),
        ("CO<sub>2</sub> rises", "CO2-Werte steigen", [("CO2", "CO2-Werte")], "CO<sub>2</sub>-Werte steigen"),
        ("<b>O</b>nce upon", "Es war", [("Once", "Es")], "<b>E</b>s war"),
        ("our Sun<b>day</b>", "unser Sonntag", [("Sunday", "Sonntag")], "unser Sonn<b>tag</b>"),
    ],
)
def test_a_tag_inside_a_word_stays_inside_one(
    source: str, target: str, pairs: list[tuple[str, str]], expected: str
) -> None:
    assert placed(source, target, *pairs) == expected


@st.composite
def trees(draw: st.DrawFn) -> str:
    """A sentence of words, standalone placeholders and elements inside each other, some of which hold no words."""
    built, words = PlaceholderText(), iter("abcdefghijklmnopqrstuvwxyz")

    def add(depth: int) -> None:
        for kind in draw(
            st.lists(st.sampled_from("wwle" if depth < 3 else "wl"), min_size=0 if depth else 1, max_size=4)
        ):
            if kind == "e":
                name = str(len(built.parts))
                built.open(name, name)
                add(depth + 1)
                built.close(name, name)
            elif kind == "l":
                built.add_standalone("x")
            elif (word := next(words, None)) is not None:
                built.add_text(f" {word * 3} ")

    add(0)
    return built.text


def held(sentence: str) -> dict[str, set[str]]:
    """By every standalone placeholder the elements that it is in."""
    is_open: list[str] = []
    results: dict[str, set[str]] = {}
    for part in nested(split_at_placeholders(sentence)):
        if is_placeholder(part) and is_opening(part):
            is_open.append(part)
        elif is_placeholder(part) and is_closing(part):
            is_open.remove(opening_of(part))
        elif is_placeholder(part):
            results[part] = set(is_open)
    return results


@given(trees(), st.randoms(use_true_random=False))
def test_elements_hold_the_marks_that_they_held(sentence: str, chance: random.Random) -> None:
    """Wherever the model has put the marks among the words."""
    source, tags = strip_tags(sentence)
    marks, words = PLACEHOLDER.findall(source), PLACEHOLDER.sub("", source).split()
    target = [*words, *marks]
    for mark in marks:
        target.remove(mark)
        target.insert(chance.randint(0, len(target)), mark)
    spaced = " ".join(target)
    places = {word.normalized: (word.start, word.end) for word in words_of(spaced)}
    pairs = [((word.start, word.end), places[word.normalized]) for word in words_of(source)]
    assert held(place_tags(tags, source, spaced, pairs)) == held(sentence)


@given(trees(), st.randoms(use_true_random=False), st.data())
def test_what_holds_marks_alone_is_nowhere_without_them(
    sentence: str, chance: random.Random, data: st.DataObject
) -> None:
    """Whatever the alignment says, and however the words are turned."""
    source, tags = strip_tags(sentence)
    target = source.split()
    chance.shuffle(target)
    ours, theirs = words_of(source), words_of(" ".join(target))
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(ours), st.sampled_from(theirs)), max_size=8)) if ours else []
    aligned = [((first.start, first.end), (other.start, other.end)) for first, other in pairs]
    parts = split_at_placeholders(place_tags(tags, source, " ".join(target), aligned))
    written = [part for part in parts if is_placeholder(part)]
    assert sorted(written) == sorted([*PLACEHOLDER.findall(sentence)])
    for match in re.finditer(rf"{PLACEHOLDER.pattern}++", sentence):
        block = match[0]
        for start, item in enumerate(block):
            end = block.find(chr(ord(item) + 0x4000)) if is_opening(item) else -1
            if end > start + 1 and any(not is_opening(other) and not is_closing(other) for other in block[start:end]):
                assert block[start : end + 1] in "".join(written)


WORDS = st.lists(st.sampled_from(["aa", "bb", "cc,", "dd", '"ee"', "ff."]), min_size=1, max_size=8)


@given(words=WORDS, data=st.data())
def test_no_tag_is_lost_and_all_are_nested(words: list[str], data: st.DataObject) -> None:
    """Whatever the alignment says."""
    tags = data.draw(st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<br>", ""]), min_size=9, max_size=9))
    html = " ".join(f"{tag}{word}" for tag, word in zip(tags, [*words, "x"], strict=False))
    for block in (part for part in read_markup(f"<p>{html}</p>").parts if not isinstance(part, str)):
        source, lifted = strip_tags(block.placeholder_text.text)
        target = " ".join(reversed(re.findall(r"\w+", PLACEHOLDER.sub("", source)))) + " ."
        source_words, target_words = words_of(source), words_of(target)
        pairs = data.draw(st.lists(st.tuples(st.sampled_from(source_words), st.sampled_from(target_words)), max_size=8))
        result = place_tags(
            lifted,
            source,
            target,
            [((word.start, word.end), (target_word.start, target_word.end)) for word, target_word in pairs],
        )
        assert strip_tags(result)[0] == target
        marks = [part for part in nested(split_at_placeholders(result)) if is_placeholder(part)]
        assert sorted(marks) == sorted(tag.placeholder for tag in lifted)


@given(words=WORDS, start=st.integers(0, 7), length=st.integers(1, 8))
def test_a_translation_word_by_word_has_the_tags_of_its_source(words: list[str], start: int, length: int) -> None:
    tagged = [*words[:start], "<b>" + " ".join(words[start : start + length]) + "</b>", *words[start + length :]]
    html = " ".join(part for part in tagged if part != "<b></b>")
    [block] = [part for part in read_markup(html).parts if not isinstance(part, str)]
    source, tags = strip_tags(block.placeholder_text.text)
    places = [(word.start, word.end) for word in words_of(source)]
    assert place_tags(tags, source, source, list(zip(places, places, strict=True))) == block.placeholder_text.text


@pytest.mark.parametrize("last", ["gro\u00df", "\u0130stanbul", "large", "GROSS"])
@pytest.mark.parametrize("word", ["m2", "M2"])
def test_an_element_in_a_word_stays_in_it_beside_any_letters(word: str, last: str) -> None:
    """Letters that become two in small letters or when case is folded; with an alignment and without one."""
    [block] = [part for part in read_markup("20 m<sup>2</sup> large").parts if not isinstance(part, str)]
    source, tags = strip_tags(block.placeholder_text.text)
    target = f"{last} {word} 20"
    ours, theirs = words_of(source), words_of(target)
    pairs = [((ours[1].start, ours[1].end), (theirs[1].start, theirs[1].end))]
    for aligned in (pairs, []):
        placed = place_tags(tags, source, target, aligned)
        assert block.placeholder_text.render(placed, str) == f"{last} {word[0]}<sup>2</sup> 20"


def test_siblings_stay_siblings() -> None:
    """An element that is aligned with the words of its neighbour does not enclose it."""
    placeholder_text = PlaceholderText()
    for name, words in (("", "It is "), ("i", "only"), ("", " "), ("a", "a link"), ("", ".")):
        if name:
            placeholder_text.open(name, f"<{name}>")
        placeholder_text.add_text(words)
        if name:
            placeholder_text.close(name, f"</{name}>")
    source, tags = strip_tags(placeholder_text.text)
    target = "Es ist nur ein Link."
    nur, ein, link = ((target.index(word), target.index(word) + len(word)) for word in ("nur", "ein", "Link"))
    only, a, link_source = ((source.index(word), source.index(word) + len(word)) for word in ("only", "a ", "link"))
    pairs = [(only, nur), (only, ein), (only, link), (a, ein), (link_source, link)]
    placed = place_tags(tags, source, target, pairs)
    assert placeholder_text.render(placed, str) == "Es ist <i>nur</i> <a>ein Link</a>."
