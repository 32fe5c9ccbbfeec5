"""Which messages of Qt's files are filled, and with how many forms."""

import pytest

from tests.server.files.formats.strings.upper import texts, upper

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n'
MESSAGES = f"""{HEAD}<TS version="2.1" language="en_US" sourcelanguage="en">
<context>
    <name>Main</name>
    <message>
        <location filename="a.cpp" line="1"/>
        <source>&amp;File &quot;it&apos;s&quot;<byte value="x1b"/></source>
        <comment>note</comment>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
    <message><source>empty</source><translation/></message>
    <message><source>old</source><translation type="vanished">alt</translation></message>
    <message><source>older</source><translation type="obsolete"></translation></message>
    <message><source>guess</source><translation type="unfinished">ahnt</translation></message>
    <message><source>done</source><translation>fertig</translation></message>
    <message numerus="yes"><source>n</source><translation><numerusform>n</numerusform></translation></message>
</context>
</TS>
"""


@pytest.mark.parametrize(("language", "forms"), [("de", 2), ("ja", 1), ("pl", 3), ("ar", 6)])
def test_only_what_has_no_translation_is_filled(language: str, forms: int) -> None:
    expected = MESSAGES.replace('language="en_US"', f'language="{language}"', 1)
    expected = expected.replace(
        '"unfinished"></translation>', '"unfinished">&amp;FILE &quot;IT&apos;S&quot;<byte value="x1b"/></translation>'
    )
    form = "            <numerusform>{}</numerusform>\n"
    expected = expected.replace(form.format(""), form.format("%N FILE(S)") * forms)
    expected = expected.replace("<translation/>", "<translation>EMPTY</translation>")
    assert upper(MESSAGES, ".ts", language) == expected


def test_the_language_is_added_or_kept() -> None:
    context = "<context><message><source>a</source><translation>{}</translation></message></context>"
    empty, filled = context.format(""), context.format("A")
    assert upper(f'{HEAD}<TS version="2.1">{empty}</TS>', ".ts") == (
        f'{HEAD}<TS version="2.1" language="de">{filled}</TS>'
    )
    kept = f'{HEAD}<TS language="de_AT">{filled}</TS>'
    assert upper(kept, ".ts") == kept


def test_a_message_with_a_number_gets_its_forms() -> None:
    text = '<TS language="de"><context>{}</context></TS>'
    message = '<message numerus="yes"><source>a</source><translation type="unfinished"{}</message>'
    filled = "><numerusform>A</numerusform><numerusform>A</numerusform></translation>"
    for empty in ("/>", "></translation>"):
        assert upper(text.format(message.format(empty)), ".ts") == text.format(message.format(filled))
    assert texts(text.format("<message><source></source><translation/></message>"), ".ts") == []


def test_empty_forms_beside_others_are_filled() -> None:
    message = (
        f'{HEAD}<TS version="2.1" language="de"><context><name>A</name><message numerus="yes">'
        '<source>%n file(s)</source><translation type="unfinished"><numerusform>%n Datei</numerusform>'
        "<numerusform>{}</numerusform></translation></message></context></TS>"
    )
    assert upper(message.format(""), ".ts") == message.format("%N FILE(S)")
    done = message.replace(' type="unfinished"', "").format("")
    assert upper(done, ".ts") == done
