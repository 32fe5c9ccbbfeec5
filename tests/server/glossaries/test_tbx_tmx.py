"""Glossaries in TBX and TMX, as other programs write them."""

from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from server.glossaries.tbx_tmx import write_tbx
from server.glossaries.tsv_csv import EntriesFormat, MalformedEntries, read_entries

LANG = "{http://www.w3.org/XML/1998/namespace}lang"
TEXTS = st.lists(
    st.sampled_from(["a", "B", " ", "&", "<", "]]>", "\u00e9", "\U0001f600", '"', "'"]), min_size=1, max_size=6
)
CELLS = TEXTS.map(lambda parts: " ".join("".join(parts).split())).filter(bool)
ENTRIES = st.dictionaries(CELLS, CELLS, min_size=1, max_size=5)


@given(ENTRIES)
def test_what_is_written_is_read_here_and_elsewhere(entries: dict[str, str]) -> None:
    written = write_tbx(entries, "en", "de")
    assert read_entries(written, "tbx", "en", "de") == entries
    sections = etree.fromstring(written.encode()).iter("{*}langSec")
    terms = [(section.get(LANG), section.findtext("{*}termSec/{*}term")) for section in sections]
    assert terms == [side for pair in entries.items() for side in zip(("en", "de"), pair, strict=True)]


@given(ENTRIES, st.sampled_from(["en", "EN-us", "en_GB"]), st.sampled_from(["xml:lang", "lang"]))
def test_units_of_memories_are_entries(entries: dict[str, str], code: str, name: str) -> None:
    units = "".join(
        f'<tu><note>no</note><tuv {name}="fr"><seg>non</seg></tuv>'
        f'<tuv {name}="de"><seg>{escape(translation)}</seg></tuv>\n'
        f'<tuv {name}="{code}">\n<seg>\n{escape(term)}<ph>&lt;br/></ph> </seg></tuv></tu>'
        for term, translation in entries.items()
    )
    text = (
        f"<?xml version='1.0' encoding='utf-16'?><!DOCTYPE tmx SYSTEM 'tmx14.dtd'><tmx><body>{units * 2}</body></tmx>"
    )
    assert read_entries(text, "tmx", "en", "de") == entries


def test_every_term_of_the_source_has_the_first_of_the_target() -> None:
    text = (
        "<martif><text><body><termEntry><descrip>no</descrip><langSet xml:lang='en'><tig><term>bug</term></tig>"
        "<ntig><termGrp><term>error <hi>report</hi></term><termNote>noun</termNote></termGrp></ntig></langSet>"
        "<langSet xml:lang='de'><tig><term>Fehler</term></tig><tig><term>Bug</term></tig></langSet></termEntry>"
        "<termEntry><langSet xml:lang='en'><tig><term>only</term></tig></langSet></termEntry></body></text></martif>"
    )
    assert read_entries(text, "tbx", "en", "de") == {"bug": "Fehler", "error report": "Fehler"}
    assert read_entries(text, "tbx", "de", "en") == {"Fehler": "bug", "Bug": "bug"}


UNIT = "<tu><tuv lang='en'><seg>a</seg></tuv><tuv lang='de'><seg>{}</seg></tuv></tu>"


@pytest.mark.parametrize(
    ("text", "written", "expected_message"),
    [
        ("", "tbx", "no TBX: they are no well-formed XML"),
        ("<tmx>", "tmx", "no TMX: they are no well-formed XML"),
        ("<tmx/>", "tbx", "no TBX: the root is <tmx>, not <martif> or <tbx>"),
        ("<tmx/>", "tmx", "there is no entry with terms in en and de"),
        (f"<tmx>{UNIT.format('b')}{UNIT.format('c')}</tmx>", "tmx", "entry 2 has the term of another entry"),
        (f"<tmx>{UNIT.format('b' * 1025)}</tmx>", "tmx", "entry 1 has a side of more than 1024 bytes"),
        ("<!DOCTYPE tmx [<!ENTITY e 'x'>]><tmx/>", "tmx", "an entity of their own: &e;"),
        ("<!DOCTYPE tmx [<!ATTLIST tu a CDATA 'x'>]><tmx/>", "tmx", "declare attributes of their own, for <tu>"),
        (f"<!DOCTYPE tmx SYSTEM 'x'><tmx>{UNIT.format('&e;')}</tmx>", "tmx", "an entity of their own: &e;"),
    ],
)
def test_what_cannot_be_used_says_why(text: str, written: EntriesFormat, expected_message: str) -> None:
    with pytest.raises(MalformedEntries, match=expected_message):
        read_entries(text, written, "en", "de")
