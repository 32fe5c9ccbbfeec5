"""States, segments and languages of XLIFF, in which all other bytes stay."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from server.files.formats.registry import open_file
from server.text.base.placeholders import is_closing, is_opening, is_placeholder, is_value

HEAD = (
    '<?xml version="1.0" encoding="{0}"?>\r\n<xliff xmlns=\'urn:oasis:names:tc:xliff:document:1.2\' version="1.2">\r\n'
)
BODY = '<file source-language="en" original="a&amp;b" datatype="x"><body>\r\n{0}\r\n</body></file></xliff>\r\n'
SECOND = '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.1" srcLang="en"><file id="f"><unit id="u">{0}'
END_OF_SECOND = "</unit></file></xliff>"


def shouted(text: str) -> str:
    return text.upper()


def translated(whole: str, translate: Callable[[str], str] = shouted, encoding: str = "utf-8") -> str:
    opened = open_file(whole.encode(encoding), "a.xlf", "de", 100_000)
    return opened.write([translate(text) for text in opened.texts]).decode(encoding)


def first(units: str, encoding: str = "UTF-8") -> str:
    return HEAD.format(encoding) + BODY.format(units)


def in_german(whole: str) -> str:
    return whole.replace("<file source", '<file target-language="de" source')


STATES = ["new", "needs-translation", "translated", "needs-review-translation", "final", "signed-off", None]
UNITS = st.lists(
    st.tuples(st.sampled_from(STATES), st.sampled_from(["Hello", "Hallo", ""]), st.booleans(), st.booleans()),
    min_size=1, max_size=5,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(UNITS)
def test_states_say_what_is_translated(units: list[tuple[str | None, str, bool, bool]]) -> None:
    """New targets are copies, however they look; what is approved, final or forbidden stays byte for byte."""
    before, after = "<trans-unit><source>More</source>", "<trans-unit><source>More</source>"
    before, after = before + "</trans-unit>\n", after + "<target>MORE</target></trans-unit>\n"
    for state, text, is_approved, is_forbidden in units:
        head = "<trans-unit" + ' approved="yes"' * is_approved + ' translate="no"' * is_forbidden + ">"
        head += "\n  <source>Hello</source>\n  "
        tail = "\n  <note>keep <b/> me</note></trans-unit>\n"
        attribute = f" state='{state}' state-qualifier='exact-match'" if state else ""
        target = f"<target{attribute}>{text}</target>"
        is_open = state in ("new", "needs-translation") or (not text and state not in ("final", "signed-off"))
        new = ' state="needs-review-translation" state-qualifier="mt-suggestion"' if state else ""
        before += head + target + tail
        is_translated = is_open and not is_approved and not is_forbidden
        after += head + (f"<target{new}>HELLO</target>" if is_translated else target) + tail
    assert translated(first(before)) == in_german(first(after))


def segments(texts: list[str], mids: range) -> str:
    return " ".join(f'<mrk mtype="seg" mid="{mid}">{texts[mid]}</mrk>' for mid in mids)


SENTENCES = ["One <g id='1'>two</g>.", "Three <x id='2'/> four.", "Five."]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=3, max_size=3), st.integers(0, 3), st.booleans(), st.booleans())
def test_segments_are_filled_one_by_one(done: list[bool], count: int, has_target: bool, is_new: bool) -> None:
    """Whatever the target has of them: translated ones stay, empty and missing ones are translated."""
    numbers, given_ones = range(3), range(count)
    source = f"<source>{' '.join(SENTENCES)}</source><seg-source>{segments(SENTENCES, numbers)}</seg-source>"
    upper = ["ONE <g id='1'>TWO</g>.", "THREE <x id='2'/> FOUR.", "FIVE."]
    existing = ["Ja." if is_done else "" for is_done in done]
    state, new = (' state="new"', ' state="needs-review-translation"') if is_new else ("", "")
    target = f"<target{state}>{segments(existing, given_ones)}</target>" if has_target else ""
    whole = first(f"<trans-unit id='1'>{source}{target}</trans-unit><trans-unit><source>A</source></trans-unit>")
    is_kept = [has_target and mid < count and done[mid] and not is_new for mid in numbers]
    expected = segments([existing[mid] if is_kept[mid] else upper[mid] for mid in numbers], numbers)
    written = translated(whole)
    assert f"{source}<target{new if has_target else ''}>{expected}</target>" in written
    etree.fromstring(written.encode())


def test_a_target_that_is_translated_as_a_whole_is_kept() -> None:
    seg = f"<seg-source>{segments(SENTENCES, range(3))}</seg-source>"
    unit = f"<trans-unit><source>A</source>{seg}<target>Alles.</target></trans-unit>"
    opened = open_file(first(unit).encode(), "a.xlf", "de", 1000)
    assert opened.write([]).decode() == in_german(first(unit))
    assert opened.notes == ["all texts of the file (1) are translated already; they were kept"]


@pytest.mark.parametrize(
    ("segment", "expected"),
    [
        ('<segment state="initial" subState="a:b"><source>A</source><target>A</target></segment>',
         '<segment state="translated"><source>A</source><target>B</target></segment>'),
        ("<segment><source>A</source></segment>",
         '<segment state="translated"><source>A</source><target>B</target></segment>'),
        ("<segment>\n <source>A</source>\n</segment>",
         '<segment state="translated">\n <source>A</source>\n <target>B</target>\n</segment>'),
        ("<segment><source>A</source><target>C</target></segment>", None),
        ('<segment state="final"><source>A</source><target/></segment>', None),
        ('<segment state="reviewed"><source>A</source><target>C</target></segment>', None),
        ("<ignorable><source>A</source></ignorable><notes><note>A</note></notes>", None),
    ],
)  # fmt: skip
def test_segments_of_the_second_version(segment: str, expected: str | None) -> None:
    rest = '<segment state="translated"><source>A</source><target>{0}</target></segment>' + END_OF_SECOND
    whole = SECOND.format(segment) + rest.format("")
    done = SECOND.format(expected or segment).replace('"en">', '"en">').replace("<xliff", '<xliff trgLang="de"')
    assert translated(whole, lambda text: "B") == done + rest.format("B")


@pytest.mark.parametrize(("declared", "kept"), [("de-AT", True), ("DE", True), ("fr", False), ("deu", False)])
def test_a_region_of_the_target_language_is_kept(declared: str, kept: bool) -> None:
    unit = f'<trans-unit><source>A</source><target xml:lang="{declared}"/></trans-unit>'
    whole = first(unit).replace("<file", f'<file target-language="{declared}"')
    written = translated(whole)
    assert written == (whole if kept else whole.replace(f'"{declared}"', '"de"')).replace("/></", ">A</target></")


@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "windows-1252", "UTF-16", "KOI8-R"])
def test_the_encoding_is_kept(encoding: str) -> None:
    word = "Да" if encoding == "KOI8-R" else "Café"
    whole = first(f"<trans-unit><source>{word}</source></trans-unit>", encoding)
    lacking = "\u2192" if encoding.startswith("UTF") else "&#8594;"
    expected = in_german(whole).replace("</source>", f"</source><target>{word}{lacking}</target>")
    assert translated(whole, lambda text: text + "\u2192", encoding) == expected


PAIRS = [
    "<bpt id='1'>&lt;b></bpt>two<ept id='1'>&lt;/b></ept>",
    "<bx id='1'/>two<ex id='1'/>",
    "<sc id='1'/>two<ec startRef='1'/>",
]


@pytest.mark.parametrize("pair", PAIRS)
def test_two_elements_that_belong_together_are_a_span(pair: str) -> None:
    whole = first(f"<trans-unit><source>One {pair}.</source></trans-unit>")
    opened = open_file(whole.encode(), "a.xlf", "de", 1000)
    assert f"<target>One {pair}.</target>" in opened.write(opened.texts).decode()
    [text] = opened.texts
    opening, closing = text[4], text[8]
    crossed = f"{closing}two {opening}One."
    assert etree.fromstring(opened.write([crossed])) is not None


def test_comments_and_instructions_stay_where_they_are() -> None:
    unit = "<trans-unit><source>One <!-- > --> two<?x > ?> <![CDATA[<three>]]></source></trans-unit><!-- a -->"
    assert "<target>ONE <!-- > --> TWO<?x > ?> &lt;THREE&gt;</target>" in translated(first(unit))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('<ph id="0">&lt;p a="b"&gt;</ph>It<ph id="3">&lt;/p&gt;</ph>', "(It)"),
        ('<x id="a" equiv-text="&lt;b&gt;"/>It<x id="b" equiv-text="&lt;/b&gt;"/> is', "(It) is"),
        ('It<ph id="0">&lt;br/&gt;</ph>is<ph id="1">&lt;img src="a"&gt;</ph>', "It|is|"),
        ('It<ph id="0">&lt;/b&gt;</ph> is<ph id="1">&lt;i&gt;</ph>', "It| is|"),
        ('<ph id="0">%s</ph> is <x id="1" equiv-text="{{a}}"/>', "= is ="),
    ],
)  # fmt: skip
def test_codes_that_are_tags_enclose_words(source: str, text: str) -> None:
    whole = first(f"<trans-unit><source>{source}</source></trans-unit>")
    [read] = open_file(whole.encode(), "a.xlf", "de", 1000).texts
    signs = ((is_opening, "("), (is_closing, ")"), (is_value, "="), (is_placeholder, "|"))
    assert "".join(next((sign for kind, sign in signs if kind(char)), char) for char in read) == text
    assert f"<target>{source}</target>" in translated(whole, lambda text: f"{text} ").replace(" </target>", "</target>")
