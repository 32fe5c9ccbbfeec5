"""Every row of the table of protected spans."""

import re
import string
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.spans import search, table
from server.text.spans.row import Row
from server.text.spans.table import ROWS, protected_spans
from server.text.spans.template_tags import template_spans
from server.text.spans.templates import TEMPLATES
from tests.server.text import hostile
from tests.server.text.spans.first_characters import first_characters

SIGNS = string.punctuation


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_examples_are_whole_spans(row: Row) -> None:
    """Alone, in a sentence, and in brackets."""
    for example in row.examples:
        assert covered(example) == example, example
        if row.name == "regular expressions":
            continue
        for before, after in (("Open ", " now, please."), ("Open (", ") now."), ("", " is open."), ("It is ", ".")):
            spans = protected_spans(before + example + after)
            place = (len(before), len(before) + len(example))
            assert place in spans or joins(spans, place), (example, before + example + after, spans)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_there_is_an_example_for_every_sign_that_a_span_begins_with(row: Row) -> None:
    """A row is tried at no other sign. Rows of words and of emoji alone are tried at no sign."""
    begun = {example[0] for example in row.examples} & {*SIGNS}
    assert first_characters(row.pattern, SIGNS) == begun or not begun


TRIED_AT_ALL_SIGNS = re.compile(
    "|".join(
        f"{beginning}(?:{'|'.join(f'(?:{row.pattern})' for row in ROWS if any(map(tried, row.examples)))})"
        for beginning, tried in (
            (r"(?=[!-/:-@\[-`{-~])", lambda example: example[0] in SIGNS),
            (r"(?<!\w)(?=\w)", lambda example: example[0].isascii() and example[0].isalnum()),
            (r"(?=[^\x00-\x7f])", lambda example: not example[0].isascii()),
        )
    ),
    re.DOTALL,
)
"""The slow reference: at every sign the rows that begin with any sign."""


def spans_of_all(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in TRIED_AT_ALL_SIGNS.finditer(text)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rows_that_are_not_tried_at_a_sign_find_nothing_there(row: Row) -> None:
    for example in row.examples:
        for sign in SIGNS:
            for text in (sign + example, sign + example[1:], f"a {sign}{example[1:]} b", f"_{sign}{example}"):
                assert protected_spans(text) == spans_of_all(text), text


EXAMPLES = [example for row in ROWS for example in row.examples]


@given(st.lists(st.sampled_from([*EXAMPLES, *hostile.EVERYTHING, *SIGNS, " "]), max_size=12).map("".join))
def test_a_text_has_the_spans_of_all_rows(text: str) -> None:
    assert protected_spans(text) == spans_of_all(text)


@pytest.mark.parametrize("row", [row for row in ROWS if row.language], ids=lambda row: row.name)
def test_language_is_no_span(row: Row) -> None:
    for text in row.language:
        assert covered(text) == "", text


@pytest.mark.parametrize("row", TEMPLATES, ids=lambda row: row.name)
def test_templates_are_found_without_the_other_rows(row: Row) -> None:
    for example in row.examples:
        assert template_spans(f"A {example} b") == [(2, 2 + len(example))]


def test_templates_of_any_length() -> None:
    for opening, closing in (
        ("{{< figure ", " >}}"),
        ("{% include ", " %}"),
        ("<%= ", " %>"),
        ("[caption ", "]"),
        ("<# ", " #>"),
    ):
        tag = opening + 'key="A word. And more." ' * 300 + closing
        assert covered(tag) == tag


def covered(text: str) -> str:
    return "".join(text[start:end] for start, end in protected_spans(text))


def joins(spans: list[tuple[int, int]], place: tuple[int, int]) -> bool:
    """Whether spans that touch each other cover the place and nothing else."""
    inside = [span for span in spans if place[0] <= span[0] and span[1] <= place[1]]
    return (
        bool(inside)
        and inside[0][0] == place[0]
        and inside[-1][1] == place[1]
        and sum(end - start for start, end in inside) == place[1] - place[0]
    )


@given(st.text(st.sampled_from(" aB1.:/{"), max_size=400), st.sampled_from(ROWS), st.integers(1, 100))
def test_hints_of_a_long_text_are_found_in_its_parts(before: str, row: Row, size: int) -> None:
    """Each by itself: a text mostly has several."""
    hint = re.compile(row.hint)
    for example in row.examples:
        text = f"{before}{example} b"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "_AT_ONCE", size)
            assert search.has_hint(hint, text) == bool(hint.search(text))


PLAIN_WORD = st.from_regex(r"[A-Z]?[a-fymsTGHMUC\u00e9\u0434]{0,18}('[a-y]{1,3})?[.,;!?:-]?", fullmatch=True)


@given(st.lists(PLAIN_WORD, max_size=8).map(" ".join))
@hypothesis.example("Fayyad").via("a format of dates")
@hypothesis.example("It'yy").via("the same behind an apostrophe")
@hypothesis.example("xdeadbeef").via("a hash")
@hypothesis.example("McDonald GMT HHmm").via("capitals")
@hypothesis.example("a.b d.M").via("signs between letters")
def test_no_hint_is_in_plain_words(text: str) -> None:
    if table._PLAIN.fullmatch(text):
        assert not table._HINT.search(text)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_span_is_plain_words(row: Row) -> None:
    assert not any(table._PLAIN.fullmatch(example) for example in row.examples)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The weather is nice today. It's late, isn't it?",
        "Die alte Br\u00fccke war gesperrt; wir fahren mit der F\u00e4hre!",
        "\u0413\u0434\u0435 \u043f\u043e\u0435\u0437\u0434?",
    ],
)
def test_sentences_of_everyday_words_are_plain(text: str) -> None:
    assert table._PLAIN.fullmatch(text)
    assert protected_spans(text) == []


class Searched:
    """A pattern that notes the characters that each of its searches may look at."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern, self.sizes = pattern, list[int]()

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.sizes.append(len(text))
        return self.pattern.finditer(text)

    def match(self, text: str, start: int, end: int) -> re.Match[str] | None:
        self.sizes.append(min(end, len(text)) - start)
        return self.pattern.match(text, start, end)

    def search(self, text: str, start: int, end: int) -> re.Match[str] | None:
        self.sizes.append(min(end, len(text)) - start)
        return self.pattern.search(text, start, end)


@pytest.mark.parametrize("unit", [".a", "Good morning. ", "<b.c-d", "a"])
def test_no_search_reads_a_whole_long_text(unit: str) -> None:
    """It would hold the GIL, and with it all other requests, until it ends."""
    text = unit * (60_000 // len(unit))
    spans: Any = Searched(table._PROTECTED)
    hints: Any = Searched(table._HINT)
    assert list(search.find_spans(spans, text)) == [match.span() for match in table._PROTECTED.finditer(text)]
    assert search.has_hint(hints, text) == bool(table._HINT.search(text))
    assert max(spans.sizes) <= search._LONGEST
    assert max(hints.sizes) <= search._AT_ONCE + search._HINT_LENGTH
