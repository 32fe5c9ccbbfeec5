"""Pairs of tags in strings are placeholders while they are translated, and come back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.inline_tags import with_inline_tags
from server.text.base.placeholders import PLACEHOLDER, opening
from tests.growth import assert_linear


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Click <b>here</b> now.", "Click []here[] now."),
        ('<a href="x"><i>One</i> two</a>', "[][]One[] two[]"),
        ("One<br/>two <em>three</em>", "One<br/>two []three[]"),
        ("<p>One <b>two</b></p>", "<p>One []two[]</p>"),
        ("<b>One", "<b>One"),
        ("<b><i>One</b></i>", "<b><i>One</b></i>"),
        ("One</b> <b>two", "One</b> <b>two"),
        ("a < b and c > d </", "a < b and c > d </"),
        (f"{opening(0)} <b>x</b>", "[] <b>x</b>"),
    ],
)
def test_pairs_become_placeholders(text: str, read: str) -> None:
    tagged = with_inline_tags([text])
    assert [PLACEHOLDER.sub("[]", each) for each in tagged.texts] == [read]
    assert tagged.restored(tagged.texts) == [text]


TEXTS = st.lists(
    st.sampled_from(["<b>", "</b>", "<i>", "</i>", "<a x='y'>", "</a>", "word", " ", "<br>", "<", opening(1)])
)


@given(st.lists(TEXTS.map("".join), max_size=4))
def test_whatever_is_moved_every_tag_comes_back_once_and_nested(texts: list[str]) -> None:
    tagged = with_inline_tags(texts)
    assert tagged.restored(tagged.texts) == texts
    moved = ["".join(sorted(text)) for text in tagged.texts]
    for number, (text, done) in enumerate(zip(texts, tagged.restored(moved), strict=True)):
        if number in tagged.tags:
            tags = re.compile(r"</?[bia](?: x='y')?>")
            assert sorted(tags.findall(text)) == sorted(tags.findall(done))
            assert with_inline_tags([done]).tags


def test_tags_are_read_in_linear_time() -> None:
    def read(text: str) -> None:
        with_inline_tags([f"{text}</"])

    assert_linear(read, ("<b>", "</b>", "<a ", "<", ">", "a"), count=10, ordinary=None)
