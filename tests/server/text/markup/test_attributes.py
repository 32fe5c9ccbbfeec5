"""Attributes that people read are translated, in tags that move too; all others stay as they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.markup.attributes import Slotted, extract_values, fill_slots
from server.text.markup.markup import read_markup

READ = [
    ('<img src="Red.png" alt="A red house">', "A red house"),
    ("<a href='Home' title='Go home'>", "Go home"),
    ('<input placeholder="Your name" value="Tom">', "Your name"),
    ('<input type="Submit" value="Send">', "Send"),
    ("<button aria-label=Close>", "Close"),
    ('<option label="Red" value="Rot">', "Red"),
    ('<meta name="description" content="About &quot;cats&quot;">', 'About "cats"'),
    ('<meta content="Cats" property="og:title">', "Cats"),
    ('<p data-x=\'a title="no"\' title="yes">', "yes"),
]
LEFT = [
    '<link rel="stylesheet" title="Dark">',
    '<meta name="viewport" content="width=device-width">',
    '<input type="hidden" value="Secret">',
    '<td title="12.50" class="Big" id="One">',
    '<p title="">',
    "<a title = >",
]


@pytest.mark.parametrize(("tag", "text"), READ)
def test_what_people_read_is_translated(tag: str, text: str) -> None:
    page = read_markup(tag)
    assert page.texts == [text]
    assert page.write([text]) == tag
    written = page.write(['Bo\'s "<Haus>"'])
    assert read_markup(written).texts == ['Bo\'s "<Haus>"']
    assert len(written.split("=")) == len(tag.split("="))


@pytest.mark.parametrize("tag", LEFT)
def test_everything_else_stays(tag: str) -> None:
    page = read_markup(tag)
    assert page.texts == []
    assert page.write([]) == tag


def test_values_come_after_the_text_and_move_with_their_tags() -> None:
    page = read_markup('<p title="One">The <b title="Two">big</b> dog <img alt="Three"></p>')
    text, *values = page.texts
    assert values == ["One", "Two", "Three"]
    bold, end, image = (char for char in text if not char.isascii())
    assert page.write([f"{image} Hund {bold}gro\u00df{end}", "Eins", "Zwei", "Drei"]) == (
        '<p title="Eins"><img alt="Drei"> Hund <b title="Zwei">gro\u00df</b></p>'
    )


def test_a_text_field_stays_and_its_hint_is_translated() -> None:
    page = read_markup('<textarea placeholder="Hint" title="Tip">typed</textarea>')
    assert page.write(["Hinweis", "Tipp"]) == '<textarea placeholder="Hinweis" title="Tipp">typed</textarea>'


@pytest.mark.parametrize(
    "document",
    [
        '<img translate="no" alt="Foo">',
        '<p translate="no"><img alt="Foo"></p>',
        "<script>var a = \"<img alt='Foo'>\"</script>",
        '<!-- <img alt="Foo"> -->',
        '<img alt="Foo" title="\U0010fffe0\U0010fffe">',
    ],
)
def test_what_is_not_to_be_translated_has_no_values(document: str) -> None:
    page = read_markup(document)
    assert page.write(page.texts) == document
    assert not page.values


def test_xml_has_none() -> None:
    assert read_markup('<a title="Foo"/>', "xml").texts == []


PARTS = st.sampled_from(["<p", " title=", '"', "'", "a", " ", "=", "alt", "&amp;", "/", ">", "\n", "1"])


@given(st.lists(PARTS, max_size=15).map("".join))
def test_any_tag_comes_back_as_it_was(tag: str) -> None:
    values: list[Slotted] = []
    taken = extract_values(tag, "p", values)
    assert fill_slots(taken, values, [text for value in values for text in value.texts]) == tag
