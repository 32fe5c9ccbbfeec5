"""The sentences that look wrong: some of all, short, and without what is no text."""

import json

from hypothesis import given
from hypothesis import strategies as st

from server.files.doubtful import LONGEST_SHOWN, MOST_SHOWN, Doubtful, FlaggedSentence
from server.text.base.placeholders import PLACEHOLDER, opening, standalone

TEXTS = st.text(st.sampled_from(["a", "\u00e4", "\n", '"', "\\", " ", opening(0), standalone(3)]), max_size=900)
SENTENCES = st.lists(st.builds(FlaggedSentence, TEXTS, TEXTS, st.just(("loop", "cut"))), max_size=40)


@given(SENTENCES)
def test_they_are_bounded_and_have_no_placeholders(sentences: list[FlaggedSentence]) -> None:
    doubtful = Doubtful.of(sentences)
    assert doubtful.count == len(sentences)
    assert len(doubtful.sentences) == min(len(sentences), MOST_SHOWN)
    for shown, sentence in zip(doubtful.sentences, sentences, strict=False):
        for text, whole in ((shown.source, sentence.source), (shown.target, sentence.target)):
            assert len(text) <= LONGEST_SHOWN
            assert not PLACEHOLDER.search(text)
            assert "\n" not in text
            assert "".join(PLACEHOLDER.sub("", whole).split()).startswith("".join(text.rstrip("\u2026").split()))


@given(SENTENCES, st.integers(2, 4000))
def test_the_header_is_json_in_ascii_of_at_most_its_size(sentences: list[FlaggedSentence], max_bytes: int) -> None:
    header = Doubtful.of(sentences).header(max_bytes)
    assert header.isascii()
    assert header.isprintable()
    assert len(header) <= max_bytes
    shown = json.loads(header or "[]")
    assert [each["source"] for each in shown] == [
        each.source for each in Doubtful.of(sentences).sentences[: len(shown)]
    ]


def test_notes_say_how_many_there_are_and_show_the_first() -> None:
    assert not list(Doubtful().notes())
    sentences = [FlaggedSentence(f"Page {number}.", "Seite.", ("numbers_changed",)) for number in range(9)]
    first, *others = Doubtful.of(sentences).notes()
    assert first == "please check 9 of the sentences"
    assert others[0] == "numbers_changed: \u201cPage 0.\u201d -> \u201cSeite.\u201d"
    assert len(others) == 5
