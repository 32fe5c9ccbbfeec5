"""Whatever is in a file, it is opened and written in time in proportion to its size."""

import contextlib
import functools
import random
import re
from collections.abc import Callable

import pytest

from server.files.formats import cues, markdown, subtitles
from server.files.formats.base import FileError, NoText
from server.files.formats.content import HEAD_BYTES, suffix_by_content
from server.files.formats.registry import FORMATS, open_file
from server.files.formats.subtitle_lines import wrap
from server.files.formats.xml_files import Elements
from server.text.base.placeholders import is_placeholder, standalone
from tests.growth import MAX_GROWTH, MEASURABLE, Shape, assert_linear, check_cost, check_growth, fastest, shapes
from tests.server.files.formats import files
from tests.server.files.formats.samples import SAMPLES

LIMIT = 10_000_000


def test_every_opener_has_a_sample() -> None:
    openers = {form.opener: suffix for suffix, form in FORMATS.items()}
    assert {FORMATS[suffix].opener for suffix in SAMPLES} == set(openers)


def runner(suffix: str) -> Callable[[str], None]:
    """Opens and writes a file of generated text; the time of making the file does not count where it is made again."""
    build = functools.lru_cache(4)(SAMPLES[suffix].build)

    def run(text: str) -> None:
        try:
            opened = open_file(build(text), f"a{suffix}", "de", LIMIT)
            opened.write(opened.texts)
            opened.write([f"{text} b" for text in opened.texts])
        except FileError:
            return

    return run


@pytest.mark.parametrize("suffix", SAMPLES)
def test_what_others_are_compared_with_is_translated(suffix: str) -> None:
    """What takes time is compared with a file that has texts, not with one that is refused."""
    sample = SAMPLES[suffix]
    opened = open_file(sample.build(sample.ordinary * 3), f"a{suffix}", "de", LIMIT)
    assert sum(map(len, opened.texts)) > 40


@pytest.mark.parametrize("suffix", SAMPLES)
def test_opening_and_writing_take_linear_time(suffix: str) -> None:
    assert_linear(runner(suffix), SAMPLES[suffix].tokens, ordinary=SAMPLES[suffix].ordinary)


def test_a_format_is_recognised_in_linear_time() -> None:
    def run(text: str, before: str = "") -> None:
        with contextlib.suppress(FileError):
            suffix_by_content((before + text).encode())

    tokens = [token for sample in SAMPLES.values() for token in sample.tokens]
    tokens += ["+++\n", "<?", "<!DOCTYPE ", "PK\x03\x04", "PK\x01\x02", "{{<", "a=b\n"]
    assert_linear(run, tokens, most=HEAD_BYTES)
    assert_linear(functools.partial(run, before="PK\x03\x04"), tokens)  # the directory is at the end


@pytest.mark.parametrize("text", ["<p>A word</p>\n", "a,b\n", "{\n", "1\n2\n"])
def test_a_format_is_recognised_by_the_head_of_a_file(text: str) -> None:
    """The signs of the head decide, and whether there are many of them: a text that is a little shorter may be refused
    at once."""
    small, large = ((text * (size // len(text))).encode() for size in (2 * HEAD_BYTES, 128 * HEAD_BYTES))

    def seconds(data: bytes) -> float:
        def run(_: str) -> None:
            with contextlib.suppress(FileError):
                suffix_by_content(data)

        return fastest(run, text, 5)

    assert seconds(large) <= MAX_GROWTH * max(seconds(small), MEASURABLE)


@pytest.mark.parametrize("suffix", [".xliff", ".docx", ".pptx", ".odt"])
def test_deep_nesting_costs_little_more(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "DEEPEST", 240)
    for shape in shapes(SAMPLES[suffix].tokens, seed=1):
        check_cost(runner(suffix), shape, SAMPLES[suffix].ordinary)


def test_cells_that_are_not_found_are_not_searched_for_without_end() -> None:
    """The parser gives cells without their backslashes, so that they are not in the row."""

    def run(text: str) -> None:
        row = "|" + r"a\|b|" * len(text) + "\n"
        with contextlib.suppress(NoText):
            open_file(f"{row}|{'-|' * len(text)}\n{row}".encode(), "a.md", "de", LIMIT)

    check_growth(run, Shape(("a",), "repeated"))


def test_what_is_inside_of_paragraphs_is_read_once() -> None:
    """The parser's own reading of it costs a hundred times what the rest does, for brackets."""
    tokens = SAMPLES[".md"].tokens
    for token in tokens:
        check_cost(lambda text: markdown._blocks(text, LIMIT), Shape((token,), "repeated"), SAMPLES[".md"].ordinary)


def test_elements_are_closed_in_linear_time() -> None:
    def run(text: str) -> None:
        elements = Elements()
        for _ in range(min(len(text), 8000)):  # there are twice as many marks
            element = object()
            elements.open(element)
            elements.close(element)

    check_growth(run, Shape(("a",), "repeated"), most=8000)


def test_wrapping_takes_linear_time() -> None:
    assert_linear(lambda text: wrap(text, text.count(" ") // 2), (" ", "a", "a ", standalone(0)))


def test_cues_are_found_as_by_the_plain_pattern() -> None:
    """Which says the same with repetitions that may give back what they took, in quadratic time."""
    plain = re.compile(r"^([^\r\n]*-->[^\r\n]*\r?\n)((?:[^\r\n]+(?:\r?\n|\Z))+)", re.MULTILINE)
    tag = re.compile(
        r"<(/?)([A-Za-z][\w.-]*)[^<>\n]{0,200}>|<[\d:.]{1,20}>|\{\\[^{}\n]{0,200}\}|(?<!\{)\{/?[a-z]\}(?!\})"
    )
    for shape in shapes(SAMPLES[".srt"].tokens, seed=2, count=300):
        text = shape.text(200)
        assert [match.groups() for match in subtitles._CUE.finditer(text)] == [
            match.groups() for match in plain.finditer(text)
        ]
        assert [match.groups() for match in cues.TAG.finditer(text)] == [match.groups() for match in tag.finditer(text)]


@pytest.mark.parametrize(
    "unit", ["word <00:01.000>", "<00:01.000>a ", "a <i>", "<i>word </i><00:01.000>", "<00:01.000>"]
)
def test_one_cue_takes_linear_time(unit: str) -> None:
    """Its translation is as long as it is; a cue of many chunks with words needs many characters."""

    def run(text: str) -> None:
        data = f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n".encode()
        try:
            opened = open_file(data, "a.vtt", "de", LIMIT)
        except FileError:
            return
        opened.write([f"{text} b" for text in opened.texts])

    check_growth(run, Shape((unit,), "repeated"), most=256_000)


def wrapped_slowly(text: str, count: int) -> str:
    seen = 0
    spaces: dict[int, int] = {}
    for place, char in enumerate(text):
        if char == " ":
            spaces[place] = seen
        seen += not is_placeholder(char)
    chosen: set[int] = set()
    for line in range(1, count):
        free = [place for place in spaces if place not in chosen]
        if free:
            chosen.add(min(free, key=lambda place: abs(spaces[place] - seen * line / count)))
    return "".join("\n" if place in chosen else char for place, char in enumerate(text))


def test_lines_are_broken_at_the_nearest_free_spaces() -> None:
    chance = random.Random(3)
    for _ in range(500):
        text = "".join(chance.choices(("a", " ", "word", standalone(1)), k=chance.randrange(40)))
        count = chance.randrange(1, 12)
        assert wrap(text, count) == wrapped_slowly(text, count), (text, count)
