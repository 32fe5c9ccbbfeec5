"""Subtitles: sentences over several cues, times of words, and everything else byte for byte."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.files.formats.base import Budget, DamagedFile, OpenedFile
from server.files.formats.registry import open_file
from server.files.formats.subtitle_lines import share
from server.files.formats.subtitles import open_srt, open_vtt
from tests.growth import assert_linear

LINES = (
    "we came home", "and it rained,", "The dog slept.", "- Who?", "- Me, of the", "[door closes]", "<i>a song</i>",
    "{\\an8}up here", "\u266a la la", "Rome", "1984", "in the", "...", "(laughs) no", "x <b>y</b> z", "a &amp; b",
)  # fmt: skip
VTT_LINES = (*LINES, "so<00:00:01.200><c> far</c><00:00:01.400><c.x> away</c>", "<v Bob>hello", "<00:01.000>")
CUES = st.lists(st.lists(st.sampled_from(VTT_LINES), min_size=1, max_size=3), min_size=1, max_size=8)
HEADERS = st.sampled_from(["", "NOTE x --\ny\n\n", "STYLE\n::cue { color: red }\n\n"])
SETTINGS = st.sampled_from(["", " align:start position:0%", " line:0"])


def opened(text: str, is_vtt: bool) -> OpenedFile:
    return (open_vtt if is_vtt else open_srt)(text.encode(), "de", Budget(100_000))


def file_of(cues: list[list[str]], header: str, options: str, newline: str, is_vtt: bool) -> str:
    point = "." if is_vtt else ","
    written = [
        f"{number}\n00:00:{number:02}{point}000 --> 00:00:{number:02}{point}900{options}\n" + "\n".join(lines) + "\n\n"
        for number, lines in enumerate(cues, 1)
    ]
    return ("WEBVTT\n\n" * is_vtt + header * is_vtt + "".join(written)).replace("\n", newline)


def cues_of(text: str) -> list[str]:
    return [
        re.sub(r"<[^>]*>|\{\\[^}]*\}", "", cue).strip() for cue in re.findall(r"-->[^\r\n]*\r?\n((?:.+\r?\n?)+)", text)
    ]


@settings(max_examples=30)
@given(
    CUES,
    HEADERS,
    SETTINGS,
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["", " und so weiter", "!"]),
)
def test_all_but_the_texts_of_cues_stays(
    cues: list[list[str]], header: str, options: str, newline: str, is_vtt: bool, added: str
) -> None:
    """Whatever the translations are, as long as they keep placeholders."""
    text = file_of(cues, header, options, newline, is_vtt)
    file = opened(text, is_vtt)
    translations = [f"{source} {source}{added}" if not re.search("[\U000f0000-\U0010ffff]", source) else source + added
                    for source in file.texts]  # fmt: skip
    written = file.write(translations).decode()
    kept = r"-->|^\d\r?$|^NOTE|^STYLE|::cue|^WEBVTT"
    assert [line for line in written.split("\n") if re.search(kept, line) and "<" not in line] == [
        line for line in text.split("\n") if re.search(kept, line) and "<" not in line
    ]
    assert len(re.findall("-->", written)) == len(cues)
    assert re.findall(r"<[^>]*>|\{\\[^}]*\}", written) == re.findall(r"<[^>]*>|\{\\[^}]*\}", text)
    assert file.write(file.texts).decode() == text
    assert written.count("\r") == text.count("\r") + newline.count("\r") * (written.count("\n") - text.count("\n"))
    shown = [cue for cue in cues_of(text) if re.search(r"\w", cue)]
    assert len([cue for cue in cues_of(written) if re.search(r"\w", cue)]) >= len(shown)


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["a", "word,", "and", "-", "...", "!", "\u2013"]), min_size=1, max_size=20).map(" ".join),
    st.lists(st.integers(0, 20), min_size=1, max_size=6),
)
@example("and it rained, ... in the Rome we came home and it rained, ... in the Rome we came home", [25, 4, 12])
def test_every_share_has_a_word(text: str, lengths: list[int]) -> None:
    """Where there are enough: a cue of nothing but dots looks as if it were not translated."""
    parts = share(text, lengths)
    words = len(re.findall(r"\w+", text))
    assert words < len(lengths) or all(re.search(r"\w", part) for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")


@settings(max_examples=40)
@given(st.text(alphabet="ab ,.", min_size=1, max_size=60), st.lists(st.integers(0, 20), min_size=1, max_size=6))
def test_the_shares_are_the_text(text: str, lengths: list[int]) -> None:
    text = " ".join(text.split()) or "a"
    parts = share(text, lengths)
    assert len(parts) == len(lengths)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    if len(text.split()) >= len(lengths):
        assert all(parts)
        assert " ".join(parts) == text
    elif len(text.replace(" ", "")) >= len(lengths) * 2:
        assert all(parts)


def test_a_sentence_over_cues_is_one_text() -> None:
    cues = [["When we came in,", "she was"], ["sitting by the"], ["<i>fire.</i>"], ["Then"], ["- You?", "- Me."]]
    file = opened(file_of(cues, "", "", "\n", False), False)
    assert len(file.texts) == 4
    assert file.texts[0] == "When we came in, she was sitting by the"
    cues[2] = ["fire with a cat."]
    file = opened(file_of(cues, "", "", "\n", False), False)
    assert file.texts[0] == "When we came in, she was sitting by the fire with a cat."
    written = file.write(["Als wir kamen, sa\u00df sie mit einer Katze am Feuer.", *file.texts[1:]]).decode()
    assert cues_of(written)[:3] == ["Als wir kamen,\nsa\u00df sie", "mit einer", "Katze am Feuer."]


def test_what_is_no_sentence_over_cues() -> None:
    for first, second in (
        ("He is here.", "and there"), ("Who is", "- me?"), ("She was", "[laughs]"), ("in the", "\u266a la"),
        ("A big house", "Chapter two"), ("a song", "{\\an8}up here"), ("x <b>y</b> z", "and so"),
    ):  # fmt: skip
        assert len(opened(file_of([[first], [second]], "", "", "\n", False), False).texts) == 2, (first, second)


def test_times_of_words_stay_in_order() -> None:
    line = "we<00:00:01.200><c> have</c><00:00:01.400><c> seen</c><00:00:01.600><c> it</c>"
    file = opened(file_of([[line]], "", "", "\n", True), True)
    assert file.texts == ["we have seen it"]
    for translation in ("wir haben es alle zusammen gesehen", "ja", "wir & ihr"):
        written = file.write([translation]).decode()
        assert re.findall(r"<[\d:.]+>", written) == re.findall(r"<[\d:.]+>", line)
        assert cues_of(written) == [translation.replace("&", "&amp;")]


def test_sharing_takes_linear_time() -> None:
    assert_linear(lambda text: share(text, [3, 1, 4, 1, 5]), (" ", "a", "a ", "a, ", "und ", ". "))


def test_subtitles_of_youtube_keep_their_times() -> None:
    data = "0:00:01.000,0:00:02.000\nWe walk\nhome.\n\n0:00:03.000,0:00:04.000\n- Yes.\n- No.\n"
    opened = open_file(data.encode(), "a.sbv", "de", 10_000)
    assert opened.write([text.upper() for text in opened.texts]).decode() == data.upper()
    with pytest.raises(DamagedFile, match="no line like 0:00:01"):
        open_file(b"We walk.\n", "a.sbv", "de", 10_000)
