"""Times of words in cues."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.registry import open_file
from server.text.base.placeholders import is_placeholder

WORDS = st.lists(st.sampled_from(["we", "have", "seen", "it", "<i>here</i>"]), min_size=1, max_size=8)
TRANSLATIONS = st.lists(st.sampled_from(["wir", "haben", "es", "gesehen"]), max_size=10)


def cue_of(body: str) -> str:
    return f"WEBVTT\n\n00:00.000 --> 00:09.000\n{body}\n"


@settings(max_examples=50, deadline=None)
@given(WORDS, TRANSLATIONS, st.booleans(), st.booleans())
def test_times_come_back_in_their_order_between_the_words(
    words: list[str], translation: list[str], has_classes: bool, has_lines: bool
) -> None:
    body = words[0]
    for number, word in enumerate(words[1:], 1):
        style = "<c>" if has_classes and "<" not in word else ""
        space = "\n" if has_lines and number == 2 and not style else " "
        body += f"<00:0{number}.000>{style}{space}{word}{'</c>' if style else ''}"
    opened = open_file(cue_of(body).encode(), "a.vtt", "de", 1000)
    [source] = opened.texts
    assert re.sub("[^a-z ]", "", source) == re.sub("<[^<>]*>", "", " ".join(words))
    assert opened.write([source]).decode() == cue_of(body)
    placeholders = [char for char in source if is_placeholder(char)]
    written = opened.write(["".join([" ".join(translation), *placeholders])]).decode()
    times = re.findall(r"<\d[^>]*>", written)
    assert times == re.findall(r"<\d[^>]*>", body)
    assert re.findall("</?i>", written) == re.findall("</?i>", body)
    shown = re.sub("<[^<>]*>", "", written).split("\n", 3)[3].rstrip("\n")
    assert shown.replace("\n", " ") == " ".join(translation)
    assert written.count("<c>") == written.count("</c>") <= body.count("<c>")


def test_a_time_stands_before_about_the_same_share_of_the_words() -> None:
    body = "we<00:01.000><c> have</c><00:02.000><c> seen</c><00:03.000><c> it</c>"
    opened = open_file(cue_of(body).encode(), "a.vtt", "de", 1000)
    assert opened.texts == ["we have seen it"]
    written = opened.write(["wir haben es gesehen"]).decode()
    assert written == cue_of("wir<00:01.000><c> haben</c><00:02.000><c> es</c><00:03.000><c> gesehen</c>")
