"""What the table of protected spans has comes back byte for byte from every dialect of files, in its order and with the
blanks around it, whatever a model does with the words beside it."""

import json
import random
import re
from collections.abc import Callable
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import NoText
from server.files.formats.registry import open_file
from server.text.protect.masking import mask
from server.text.protect.restoring import restore
from server.text.spans.table import ROWS
from server.text.spans.templates import TEMPLATES
from server.text.split.sentences import split_text
from tests.server.files.formats.files import xliff_of

PLAIN = [example for row in ROWS for example in row.examples if example.isascii() and row.name != "regular expressions"]
OF_TEMPLATES = [example for row in TEMPLATES for example in row.examples]
WITHOUT_MARKUP = [*OF_TEMPLATES, *(example for example in PLAIN if not re.search("[<>&]", example))]
WITHOUT_MARKDOWN = [example for example in PLAIN if not re.search(r"\\|^[\[*]|[*`]|^<[^%#?]", example)]


def backslashed(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


DIALECTS: dict[str, tuple[Callable[[str], str | bytes], Callable[[str], str], list[str]]] = {
    ".txt": (str, str, PLAIN),
    ".md": (str, str, WITHOUT_MARKDOWN),
    ".html": (lambda text: f"<p>{text}</p>", str, WITHOUT_MARKUP),
    ".json": (lambda text: f'{{"key": {text}}}', lambda text: json.dumps(text)[1:-1], PLAIN),
    ".csv": (lambda text: f';"{text}"\n', lambda text: text.replace('"', '""'), PLAIN),
    ".po": (lambda text: f'msgid "{text}"\nmsgstr ""\n', backslashed, PLAIN),
    ".srt": (
        lambda text: f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n",
        str,
        PLAIN,
    ),
    ".xliff": (
        lambda text: xliff_of(f"<trans-unit id='1'><source>{text}</source></trans-unit>"),
        escape,
        [example for example in PLAIN if not re.search("[>\"']", example)],
    ),
}
"""How a text becomes a file, how a span is written in it, and the spans that are no syntax of it."""
"""Words that the model writes in place of others."""
WORDS = ["Haus", "und", "geht.", "nie,", "X", "8"]


def translated(text: str, chance: random.Random) -> str:
    """The text, translated by a model that copies masks in their order and writes other words between them."""
    parts: list[str] = []
    for segment in split_text(text, "en"):
        if not segment.is_sentence:
            parts.append(segment.text)
            continue
        masked = mask(segment.text, lambda character: True)
        masks = {masked.text[start:end] for (start, end), _ in masked.find_masks(masked.text)}
        words = re.split(r"(\s+)", masked.text)
        parts.append(
            restore(
                masked,
                "".join(
                    word
                    if word in masks or any(part in word for part in masks) or word.isspace()
                    else chance.choice(WORDS)
                    for word in words
                ),
            ).text
        )
    return "".join(parts)


def check(suffix: str, spans: list[str], chance: random.Random) -> None:
    """The spans come back from a file of this dialect."""
    file_of, encode, _ = DIALECTS[suffix]
    text = "We walk " + " home ".join(map(encode, spans)) + " today"
    content = file_of(json.dumps("We walk " + " home ".join(spans) + " today") if suffix == ".json" else text)
    opened = open_file(content.encode() if isinstance(content, str) else content, f"a{suffix}", "de", 10_000)
    written = opened.write([translated(source, chance) for source in opened.texts]).decode()
    shown = written.partition('msgstr "')[2] if suffix == ".po" else written.partition("<target>")[2] or written
    if suffix == ".po":
        shown = shown.replace('"\n"', "")
    at = 0
    for span in map(encode, spans):
        at = shown.find(span, at)
        assert at >= 0, (span, written)
        assert not shown[at - 1].isalnum(), (span, written)
        at += len(span)
        assert not shown[at : at + 1].isalnum(), (span, written)


@pytest.mark.parametrize("suffix", DIALECTS)
def test_every_span_comes_back(suffix: str) -> None:
    for number, span in enumerate(DIALECTS[suffix][2]):
        check(suffix, [span], random.Random(number))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(DIALECTS)), st.data(), st.randoms(use_true_random=False))
def test_spans_come_back_in_order_with_their_blanks(suffix: str, data: st.DataObject, chance: random.Random) -> None:
    check(suffix, data.draw(st.lists(st.sampled_from(DIALECTS[suffix][2]), min_size=1, max_size=3)), chance)


@pytest.mark.parametrize(
    ("suffix", "tags"), [(".md", ("<b>", "</b>")), (".srt", ("<b>", "</b>")), (".srt", ("{i}", "{/i}"))]
)
def test_elements_behind_a_percent_sign_are_no_placeholders(suffix: str, tags: tuple[str, str]) -> None:
    text = f"We walk 100%{' ' if tags[0] == '{i}' else ''}{tags[0]}bold home{tags[1]} today"
    opened = open_file(str(DIALECTS[suffix][0](text)).encode(), f"a{suffix}", "de", 10_000)
    [source] = opened.texts
    assert "bold home" in source
    assert not any(tag in source for tag in tags)
    assert text in opened.write([source]).decode()


@pytest.mark.parametrize("suffix", [".txt", ".json", ".csv", ".po", ".srt"])
def test_texts_that_are_only_data_stay_as_they_are(suffix: str) -> None:
    file_of, encode, examples = DIALECTS[suffix]
    for span in examples:
        content = str(file_of(json.dumps(span) if suffix == ".json" else encode(span)))
        try:
            opened = open_file(content.encode(), f"a{suffix}", "de", 10_000)
        except NoText:
            continue
        for source in opened.texts:
            masks = [
                mask(segment.text, lambda character: True)
                for segment in split_text(source, "en")
                if segment.is_sentence
            ]
            assert not any(masked.is_translatable for masked in masks), source


def test_an_element_behind_a_percent_sign_is_masked_alone() -> None:
    masked = mask("We walk 100%<b>bold</b> home", lambda character: True)
    assert [span.text for span in masked.spans] == ["<b>", "</b>"]
