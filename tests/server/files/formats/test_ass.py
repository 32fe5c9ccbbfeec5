"""Advanced SubStation: only the texts of dialogues change."""

import pysubs2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile, NoText
from server.files.formats.registry import open_file
from server.text.base.placeholders import PLACEHOLDER, is_closing, is_opening

HEAD = (
    "[Script Info]\nTitle: The dog\n; Dialogue: a note\n\n"
    "[V4+ Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n\n"
    "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
)


def dialogue(text: str, second: int = 1, kind: str = "Dialogue", style: str = "Default") -> str:
    return f"{kind}: 0,0:00:0{second}.00,0:00:0{second}.90,{style},Bob,0,0,0,,{text}\n"


def shouted(data: str) -> str:
    opened = open_file(data.encode(), "a.ass", "de", 10_000)
    return opened.write([text.upper() for text in opened.texts]).decode()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("We walk, home.", "WE WALK, HOME."),
        ("{\\an8}We walk\\Nhome.", "{\\an8}WE WALK\\NHOME."),
        ("We {\\i1}walk{\\i0} home.", "WE {\\i1}WALK{\\i0} HOME."),
        ("We{\\b1\\fs20}walk.", "WE{\\b1\\fs20}WALK."),
        ("We walk.{a note, for us}", "WE WALK.{a note, for us}"),
        ("{\\k20}We {\\k30}walk {\\kf40}home", "{\\k20}WE {\\k30}WALK {\\kf40}HOME"),
        ("- We walk.\\N- Yes.", "- WE WALK.\\N- YES."),
        ("We\\hwalk.", "WE\\hWALK."),
        ("{\\p1}m 0 0 l 9 0 9 9{\\p0}", "{\\p1}m 0 0 l 9 0 9 9{\\p0}"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_text_of_a_dialogue(text: str, written: str, newline: str) -> None:
    def file(content: str) -> str:
        return (HEAD + dialogue(content) + dialogue("Done.", 3) + dialogue("We walk.", 4, "Comment")).replace(
            "\n", newline
        )

    assert shouted(file(text)) == file(written).replace("Done.", "DONE.")


def test_a_sentence_through_two_dialogues_is_one_text() -> None:
    data = HEAD + dialogue("We walk home in the", 1) + dialogue("rain and nobody minds.", 2)
    assert open_file(data.encode(), "a.ass", "de", 10_000).texts == ["We walk home in the rain and nobody minds."]
    other = HEAD + dialogue("We walk home in the", 1) + dialogue("rain.", 2, style="Sign")
    assert len(open_file(other.encode(), "a.ass", "de", 10_000).texts) == 2


PARTS = st.sampled_from(
    ["We", " ", "walk", "\\N", "\\h", "{\\i1}", "{\\i0}", "{\\an8}", "{note}", "{", "}", ",", "\\", ".", "{\\k9}"]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(PARTS, min_size=1, max_size=8).map("".join), min_size=1, max_size=4))
def test_times_fields_and_tags_stay(texts: list[str]) -> None:
    """As pysubs2 reads them; what is translated as it is keeps all bytes."""
    data = HEAD + "".join(dialogue(f"We {text}", number + 1) for number, text in enumerate(texts))
    opened = open_file(data.encode(), "a.ass", "de", 10_000)
    assert opened.write(opened.texts).decode() == data
    before = pysubs2.SSAFile.from_string(data)
    written = opened.write([text.replace("We", "Wir") for text in opened.texts]).decode()
    after = pysubs2.SSAFile.from_string(written)
    assert [(line.start, line.end, line.style, line.name) for line in before] == [
        (line.start, line.end, line.style, line.name) for line in after
    ]
    assert written.count("\n") == data.count("\n")
    for sign in ("{\\i1}", "{\\i0}", "{\\an8}", "{note}", "{\\k9}"):
        assert written.count(sign) == data.count(sign)
    assert not PLACEHOLDER.search(written)
    assert written[: len(HEAD)] == HEAD


def test_what_has_no_dialogue_is_refused() -> None:
    with pytest.raises(DamagedFile, match="Dialogue"):
        open_file(b"[Script Info]\nTitle: x\n", "a.ssa", "de", 10_000)
    with pytest.raises(NoText):
        open_file((HEAD + dialogue("1.5")).encode(), "a.ssa", "de", 10_000)


def test_dialogues_of_older_versions_have_other_fields() -> None:
    head = "[Events]\nFormat: Marked, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    line = "Dialogue: Marked=0,0:00:01.00,0:00:02.00,*Default,,0000,0000,0000,!Effect,We, too.\n"
    assert shouted(head + line) == head + line.replace("We, too.", "WE, TOO.")


def test_italics_enclose_their_words() -> None:
    [text] = open_file((HEAD + dialogue("We {\\i1}walk{\\i0} home.")).encode(), "a.ass", "de", 10_000).texts
    start, end = PLACEHOLDER.findall(text)
    assert is_opening(start)
    assert is_closing(end)
