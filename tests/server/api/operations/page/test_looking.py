"""What the model looked at, for the curious: behind one click."""

from playwright.sync_api import Browser, expect

from tests.server.api.conftest import RunningServer
from tests.server.api.operations.page.visitor import Visitor

TEXT = "The old fisherman repairs the lighthouse lamp every stormy evening. See https://example.org now. WHERE IS IT?"


def test_for_each_piece(browser: Browser, both_ways: RunningServer) -> None:
    """By arrow keys and by mouse; a sentence with a mask in it stays plain."""
    answer = both_ways.translate(TEXT, pieces=True).json()
    first, _, capitals = answer["translations"][0]["sentences"]
    assert (answer["order"], len(first["pieces"]) > answer["order"]) == (8, True)
    assert not all(piece.startswith("\u2581") for piece in first["pieces"] if piece.isalpha()), "no word of two pieces"
    spelled = [piece.replace("\u2581", "") for piece in first["pieces"]]
    visitor = Visitor(browser, both_ways)
    visitor.type(TEXT)
    visitor.sees(answer["translations"][0]["text"])
    expect(visitor.at("#pieces")).to_be_hidden()
    visitor.page.click("#looking summary")
    expect(visitor.at("#pieces")).to_have_text(answer["translations"][0]["text"])
    whole = [*spelled, *(piece.replace("\u2581", "").upper() for piece in capitals["pieces"])]
    assert visitor.at("#pieces .piece").all_text_contents() == whole
    chosen, seen = visitor.at("#pieces .chosen"), visitor.at("#pieces .in-window")
    visitor.page.focus("#pieces")
    for at, piece in enumerate(spelled):
        visitor.press("ArrowRight")
        assert chosen.all_text_contents() == [piece]
        assert seen.all_text_contents() == spelled[max(0, at - 7) : at]
    expect(visitor.at("#window-note")).to_contain_text("at the 7 pieces before it")
    visitor.press("ArrowRight")
    assert (chosen.all_text_contents(), seen.all_text_contents()) == ([whole[len(spelled)]], []), "another sentence"
    for key, at in (
        ("Home", 0),
        ("End", len(whole) - 1),
        ("ArrowRight", len(whole) - 1),
        ("ArrowLeft", len(whole) - 2),
    ):
        visitor.press(key)
        assert chosen.all_text_contents() == [whole[at]]
    visitor.press("Escape")
    assert (chosen.count(), seen.count()) == (0, 0)
    visitor.at("#pieces .piece").nth(3).hover()
    assert (chosen.all_text_contents(), seen.all_text_contents()) == ([spelled[3]], spelled[:3])
    visitor.page.hover("#input")
    assert chosen.count() == 0
    visitor.type("")
    expect(visitor.at("#looking")).to_be_hidden()
    assert visitor.complaints == []


def test_what_a_word_comes_from(browser: Browser, both_ways: RunningServer) -> None:
    """By mouse and by arrow keys, behind a character that JavaScript counts as two."""
    visitor = Visitor(browser, both_ways)
    visitor.page.click("#tab-text")
    visitor.type("\U0001f600 Yes.\n\nThe house is very old.")
    visitor.sees("\U0001f600 Ja.\n\nDas Haus ist sehr alt.")
    visitor.page.click("#looking summary")
    visitor.at(
        "#pieces .piece",
    ).filter(has_text="Haus").hover()
    origin = visitor.at("#origin")
    expect(origin).to_have_text("Haus \u2190 house")
    visitor.page.hover("#count")
    expect(origin).to_be_empty()
    visitor.page.focus("#pieces")
    received = []
    for _ in range(visitor.at("#pieces .piece").count()):
        visitor.press("ArrowRight")
        received.append(origin.text_content())
    words = [("Ja", "Yes"), ("Das", "The"), ("Haus", "house"), ("ist", "is"), ("sehr", "very"), ("alt", "old")]
    assert [text for text in dict.fromkeys(received) if text] == [f"{target} \u2190 {word}" for target, word in words]
    assert received[-1] == "", "a full stop is no word"
    assert visitor.complaints == []
