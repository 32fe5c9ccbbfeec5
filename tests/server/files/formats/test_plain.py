"""Text files: broken paragraphs are one text, everything else is as it was."""

import random
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.base import OpenedFile
from server.files.formats.registry import open_file
from tests.growth import assert_linear

WORDS = "the train to Hamburg leaves in ten minutes and we walk home in the rain while nobody minds how late it is"


def opened(text: str) -> OpenedFile:
    return open_file(text.encode(), "a.txt", "de", 1_000_000)


def written(text: str) -> str:
    file = opened(text)
    return file.write([each.upper() for each in file.texts]).decode()


def broken(seed: int, width: int) -> str:
    chance = random.Random(seed)
    return "\n".join(textwrap.wrap(" ".join(chance.choices(WORDS.split(), k=chance.randint(40, 120))), width))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("width", [55, 65, 78])
def test_a_broken_paragraph_is_one_text_and_broken_again(width: int, newline: str) -> None:
    paragraphs = [broken(seed, width) for seed in range(3)]
    text = "\n\n".join(["A title", *paragraphs, "The end\n"]).replace("\n", newline)
    file = opened(text)
    assert [" ".join(paragraph.split()) for paragraph in paragraphs] == file.texts[1:4]
    longer = [each + " und" * 20 if number in (1, 2, 3) else each for number, each in enumerate(file.texts)]
    after = file.write(longer).decode()
    assert max(map(len, after.splitlines())) <= width
    assert after.count(newline * 2) == text.count(newline * 2)
    assert "\n" not in after.replace(newline, "")


@pytest.mark.parametrize(
    "text",
    [
        "One line.\nAnother one.\n",
        "\n".join(["Roses are red,", "Violets are blue,", "Sugar is sweet,", "And so are you."]),
        "\n".join([f"{'The weather is fine today, as it was some days ago'} {number}." for number in range(4)]),
        "\n".join(f"- {'the first of the things that we bought at the market'} {number}" for number in range(4)),
        "\n".join(f"{'Name of the product':<30}   {'Price of it':<20}   {'Count of them':<20}x" for _ in range(4)),
        "word " * 40,
        "",
        "\r\n",
        "a\x0bb\x0cc\rd\u2028e",
    ],
)
def test_other_lines_stay_lines(text: str) -> None:
    if any(map(str.isalpha, text)):
        assert opened(text).texts == [text]
        assert written(text) == text.upper()


@given(st.lists(st.sampled_from([broken(1, 60), broken(2, 70), "", "> quoted", "-- ", "Yes.", "\t- item", "1) a"])))
def test_what_is_translated_into_itself_is_the_file(blocks: list[str]) -> None:
    text = "\n".join([*blocks, "end"])
    assert opened(text).write(opened(text).texts).decode() == text


def test_files_are_read_in_linear_time() -> None:
    def read(text: str) -> None:
        opened(text + "a")

    assert_linear(read, ("a", " ", "\n", "   a", "a. ", "- ", ">", "a" * 60 + "\n"), count=8, ordinary=None)
