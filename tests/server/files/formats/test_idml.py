"""InDesign files come back whole, with every paragraph of their stories translated."""

import io
import random
import re
import zipfile
from collections import Counter
from collections.abc import Callable

import pytest
from lxml import etree

from server.files.formats.base import DamagedFile
from server.files.formats.registry import open_file
from server.text.base.placeholders import PLACEHOLDER
from tests.server.files.formats.files import idml_of, packed


def story(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read("Stories/Story_ua.xml")


def translated(body: str, translate: Callable[[str], str]) -> bytes:
    opened = open_file(idml_of(body), "a.idml", "de", 100_000)
    return story(opened.write([translate(text) for text in opened.texts]))


def drawn(seed: int) -> tuple[str, list[str], list[str]]:
    """A story, its words that a reader sees, and others."""
    chance = random.Random(seed)
    seen: list[str] = []
    unseen: list[str] = []

    def word(words: list[str]) -> str:
        words.append(f"word{len(seen) + len(unseen)}x")
        return words[-1]

    def run(depth: int) -> str:
        inside = ""
        for _ in range(chance.randint(0, 4)):
            match chance.randint(0, 6):
                case 0:
                    inside += f'<Br n="b{len(seen)}.{len(inside)}"/>'
                case 1:
                    inside += f"<HyperlinkTextSource><Content>{word(seen)} link</Content></HyperlinkTextSource>"
                case 2:
                    inside += (
                        f"<Note><ParagraphStyleRange><Content>{word(unseen)}</Content></ParagraphStyleRange></Note>"
                    )
                case 3 if depth < 2:
                    inside += f"<Footnote>{paragraph(depth + 1)}</Footnote>"
                case 4:
                    inside += "<Content><?ACE 18?></Content>"
                case _:
                    inside += f"<Content>{word(seen)} &amp;\t5 </Content>"
        look = chance.choice(("", ' FontStyle="Bold"'))
        font = chance.choice(("", "<Properties><AppliedFont>Minion</AppliedFont></Properties>"))
        return f"<CharacterStyleRange{look}>{font}{inside}</CharacterStyleRange>"

    def paragraph(depth: int) -> str:
        deleted = f'<Change ChangeType="DeletedText"><CharacterStyleRange><Content>{word(unseen)}</Content>'
        pieces = [run(depth) for _ in range(3)] + [f"{deleted}</CharacterStyleRange></Change>"]
        return f"<ParagraphStyleRange>{''.join(pieces)}</ParagraphStyleRange>"

    return "".join(paragraph(0) for _ in range(3)), seen, unseen


@pytest.mark.parametrize("seed", range(30))
def test_stories_are_translated_and_the_rest_stays(seed: int) -> None:
    body, seen, unseen = drawn(seed)
    data = idml_of(body)
    opened = open_file(data, "a.idml", "de", 100_000)
    assert opened.write(opened.texts) == data
    assert Counter(re.findall(r"word\d+x", " ".join(opened.texts))) == Counter(seen)
    after = translated(body, str.upper).decode()
    assert all(word.upper() in after and word not in after for word in seen)
    assert all(word in after for word in unseen)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_translation_says_all_elements_stay(seed: int) -> None:
    body, chance = drawn(seed)[0], random.Random(seed)

    def anything(text: str) -> str:
        tokens = [*re.split(r"(\W)", text), ' <new> & "\x00', "\t"]
        chance.shuffle(tokens)
        return "".join(tokens[: chance.randint(1, len(tokens))])

    names = ("Br", "HyperlinkTextSource", "Note", "Footnote", "Change", "ParagraphStyleRange")
    ours, theirs = (
        Counter(item.tag for item in etree.fromstring(part).iter("*") if item.tag in names)
        for part in (story(idml_of(body)), translated(body, anything))
    )
    assert ours == theirs


def test_sentences_of_several_runs_are_one_text() -> None:
    bold = '<CharacterStyleRange FontStyle="Bold"><Content>walk</Content></CharacterStyleRange>'
    plain = "<CharacterStyleRange><Content>{}</Content></CharacterStyleRange>"
    body = f"<ParagraphStyleRange>{plain.format('We ')}{bold}{plain.format(' home')}</ParagraphStyleRange>"
    assert [PLACEHOLDER.sub("|", text) for text in open_file(idml_of(body), "a.idml", "de", 1000).texts] == [
        "We |walk| home"
    ]
    assert translated(body, str.upper).decode().count("WALK</Content>") == 1
    assert body.upper().replace("CONTENT", "Content")[21:40] in translated(body, str.upper).decode().upper()


def test_what_is_no_file_of_stories_is_refused() -> None:
    with pytest.raises(DamagedFile, match="no designmap"):
        open_file(packed([("a.xml", "<a/>")]), "a.idml", "de", 1000)


CHARACTERS = (
    (
        "<?ACE 4?> See the note.",
        "| SEE THE NOTE.",
        "<Content><?ACE 4?></Content><Content> SEE THE NOTE.</Content>",
    ),
    ("Page <?ACE 18?> of it", "PAGE | OF IT", "PAGE </Content><Content><?ACE 18?></Content><Content> OF IT"),
    ("Title<?ACE 8?>Number", "TITLE\tNUMBER", "TITLE</Content><Content><?ACE 8?></Content><Content>NUMBER"),
    ("End<?ACE 3?> here", "END|| HERE", "END</Content><Content><?ACE 3?></Content><Content> HERE"),
)


@pytest.mark.parametrize(("content", "text", "written"), CHARACTERS)
def test_special_characters_stay_in_their_text(content: str, text: str, written: str) -> None:
    body = f"<ParagraphStyleRange><CharacterStyleRange><Content>{content}</Content></CharacterStyleRange>"
    body += "</ParagraphStyleRange>"
    opened = open_file(idml_of(body), "a.idml", "de", 1000)
    assert opened.write(opened.texts) == idml_of(body)
    assert [PLACEHOLDER.sub("|", each).upper() for each in opened.texts] == [text]
    after = translated(body, str.upper).decode()
    assert written in after
    assert after.count("<?ACE") == 1
    assert not opened.notes


@pytest.mark.parametrize("line_end", ["\u2028", "&#x2028;", "&#8232;"])
def test_forced_line_breaks_stay_breaks(line_end: str) -> None:
    """As in other formats: they end a sentence, or stand inside of one that goes on."""
    for lines in (("The old", "harbour is far."), ("Our shop.", "We are open.", "Two.")):
        run = f"<CharacterStyleRange><Content>{line_end.join(lines)}</Content></CharacterStyleRange>"
        whole = f"<ParagraphStyleRange>{run}</ParagraphStyleRange>"
        opened = open_file(idml_of(whole), "a.idml", "de", 10_000)
        read = PLACEHOLDER.sub("", opened.texts[0])
        assert read == (" " if lines[0] == "The old" else "\n").join(lines)
        assert opened.write(opened.texts) == idml_of(whole)
        after = translated(whole, str.upper).decode()
        assert re.sub(r"<[^>]*>| (?=<)", "", after).strip() == line_end.join(lines).upper().replace("&#X", "&#x")


def test_alternative_texts_are_translated_wherever_they_are() -> None:
    option = '<Rectangle><ObjectExportOption CustomAltText="{}" CustomActualText="{}" Other="Not this"/></Rectangle>'
    run = "<CharacterStyleRange>{}<Content>One.</Content></CharacterStyleRange>"
    paragraph = f"<ParagraphStyleRange>{run}</ParagraphStyleRange>"
    spreads = ("Spreads/Spread_u1.xml", "MasterSpreads/MasterSpread_u2.xml")

    def file(first: str, second: str, word: str) -> bytes:
        body = paragraph.format(option.format(first, second)).replace("One.", word)
        with zipfile.ZipFile(io.BytesIO(idml_of(body))) as archive:
            parts = [(name, archive.read(name)) for name in archive.namelist()]
        return packed([*parts, *((name, f"<S>{option.format(first, second)}</S>") for name in spreads)])

    opened = open_file(file("A boat at sea", "boat.png", "One."), "a.idml", "de", 10_000)
    assert len(opened.texts) == 4
    with (
        zipfile.ZipFile(io.BytesIO(opened.write([text.upper() for text in opened.texts]))) as ours,
        zipfile.ZipFile(io.BytesIO(file("A BOAT AT SEA", "boat.png", "ONE."))) as expected,
    ):
        for name in ours.namelist():
            assert ours.read(name) == expected.read(name)
