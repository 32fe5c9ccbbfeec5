"""What a reader sees of OpenDocument files outside of paragraphs: forms, tooltips, numbers of lists; and which fields
stay."""

from server.files.formats.registry import open_file
from tests.server.files.formats.odf_documents import opendocument
from tests.server.files.formats.small import LIMIT
from tests.server.files.formats.test_opendocument import parts_of


def test_forms_links_and_what_stands_round_numbers() -> None:
    """A program shows a heading's number by one attribute or by the other."""
    forms = (
        '<office:forms><form:form form:name="A form"><form:checkbox form:name="box one" form:label="{}" '
        'form:title="{}"/></form:form></office:forms>'
    )
    link = '<text:p><text:a office:title="{}">A <text:text-input>house</text:text-input></text:a></text:p>'
    style = (
        '<style:x><text:outline-level-style style:num-prefix="{0} " style:num-suffix="x" '
        'loext:num-list-format="{0} %1%.%2%"/><text:list-level-style-number style:num-suffix=" {1}"/></style:x>'
    )
    notice = "<text:note-continuation-notice-forward>{}</text:note-continuation-notice-forward>"

    def written(*words: str) -> bytes:
        body = forms.format(*words[:2]) + link.format(words[2])
        return opendocument(body, style.format(*words[3:5]) + notice.format(words[5]))

    words = ("I agree", "Press here", "To a page", "Chapter", "of the book", "goes on")
    data = written(*words)
    opened = open_file(data, "a.odt", "de", LIMIT)
    assert opened.write(opened.texts) == data
    after = parts_of(opened.write([text.upper() for text in opened.texts]))
    expected = parts_of(written(*(word.upper() for word in words)))
    assert after["content.xml"] == expected["content.xml"].replace(b"house", b"HOUSE")
    assert b'num-prefix="CHAPTER "' in after["styles.xml"]
    assert b'num-list-format="CHAPTER %1%.%2%"' in after["styles.xml"]
    assert b'num-suffix=" OF THE BOOK"' in after["styles.xml"]
    assert b">GOES ON<" in after["styles.xml"]
    assert opened.texts.count("Chapter ") == 1


def test_fields_that_stay_are_said_where_they_have_words() -> None:
    body = "<text:p>A <text:placeholder>{}</text:placeholder> and <text:bookmark-ref>{}</text:bookmark-ref>.</text:p>"
    note = "not translated: programs compute them, or readers fill them in"
    for words, count in ((("your name", "2"), "1 field were"), (("name", "first part"), "2 fields were")):
        opened = open_file(opendocument(body.format(*words)), "a.odt", "de", LIMIT)
        assert opened.notes == [f"the words of {count} {note}"]
    assert not open_file(opendocument(body.format("1", "2")), "a.odt", "de", LIMIT).notes


def test_a_field_of_several_pieces_is_one() -> None:
    body = "<text:p>A <text:drop-down>red <text:label text:value='red'/>boat</text:drop-down> is here.</text:p>"
    assert open_file(opendocument(body), "a.odt", "de", LIMIT).notes[0].startswith("the words of 1 field were")


def test_the_choices_of_a_control_stay_before_its_words() -> None:
    choices = '<loext:list-item loext:display-text="{} one" loext:value="a"/><loext:list-item loext:value="b"/>'
    body = "<text:p>{} <loext:content-control>{}<text:span>{}</text:span> x</loext:content-control> {}.</text:p>"
    data = opendocument(body.format("Pick", choices.format("The"), "the one", "now"))
    opened = open_file(data, "a.odt", "de", LIMIT)
    after = parts_of(opened.write([text.upper() for text in opened.texts]))["content.xml"].decode()
    expected = body.replace(" x<", " X<").format("PICK", choices.format("THE").replace("one", "ONE"), "THE ONE", "NOW")
    assert expected in after
