"""Fuzzy messages, headers and character sets of gettext catalogues."""

import random
import shutil
import subprocess
from collections.abc import Callable

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.base import DamagedFile
from server.files.formats.registry import open_file
from tests.server.files.formats.small import PO
from tests.server.files.formats.small import translated as shouted

HEADER = 'msgid ""\nmsgstr ""\n"Language: {language}\\n"\n"Content-Type: text/plain; charset={charset}\\n"\n\n'
FUZZY = (
    '#. a note\n#: a.c:1\n#, fuzzy, c-format\n#| msgctxt "x"\n#| msgid "Old"\n#| "er"\n'
    'msgctxt "menu"\nmsgid "Open %s"\n'
)


def translated(data: bytes, suffix: str = "", language: str = "de") -> tuple[bytes, list[str]]:
    opened = open_file(data, "a.po", language, 100_000)
    return opened.write([text + suffix for text in opened.texts]), opened.notes


def header(language: str = "", charset: str = "UTF-8") -> str:
    return HEADER.format(language=language, charset=charset)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_fuzzy_message_is_translated_and_its_flag_cleared(newline: str) -> None:
    rest = (
        '\n#, fuzzy\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] "eins"\nmsgstr[1] "viele"\n\nmsgid "A"\nmsgstr "B"\n'
    )
    whole = header("de") + FUZZY + 'msgstr "Alt %s"\n' + rest + '\n#, fuzzy\n#~ msgid "x"\n#~ msgstr "y"\n'
    expected = header("de") + '#. a note\n#: a.c:1\n#, c-format\nmsgctxt "menu"\nmsgid "Open %s"\nmsgstr "Open %s!"\n'
    expected += '\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] "one!"\nmsgstr[1] "many!"\n\nmsgid "A"\nmsgstr "B"\n'
    expected += '\n#, fuzzy\n#~ msgid "x"\n#~ msgstr "y"\n'
    assert translated(whole.replace("\n", newline).encode(), "!")[0].decode() == expected.replace("\n", newline)


FLAGS = st.lists(st.sampled_from(["fuzzy", "c-format", "no-wrap"]), max_size=3, unique=True)
ENTRIES = st.lists(
    st.tuples(FLAGS, st.sampled_from(["", "done"]), st.booleans(), st.booleans()), min_size=1, max_size=5
)


@settings(max_examples=60, deadline=None)
@given(ENTRIES)
def test_only_fuzzy_and_empty_messages_change(entries: list[tuple[list[str], str, bool, bool]]) -> None:
    catalogue = polib.POFile()
    catalogue.metadata = {"Language": "de", "Content-Type": "text/plain; charset=UTF-8"}
    for number, (flags, done, has_previous, is_obsolete) in enumerate(entries):
        previous = "old" if has_previous else None
        entry = polib.POEntry(msgid=f"Text {number}", msgstr=done, flags=flags, previous_msgid=previous)
        entry.obsolete = is_obsolete and number > 0
        catalogue.append(entry)
    written = polib.pofile(translated(str(catalogue).encode(), "!")[0].decode())
    for before in catalogue:
        after = written.find(before.msgid, include_obsolete_entries=True)
        is_open = not before.obsolete and ("fuzzy" in before.flags or not before.msgstr)
        assert after.msgstr == (before.msgid + "!" if is_open else before.msgstr)
        if not before.obsolete:
            assert [flag for flag in before.flags if flag != "fuzzy"] == after.flags
            assert (after.previous_msgid is None) == ("fuzzy" in before.flags or before.previous_msgid is None)


@pytest.mark.parametrize("charset", ["ISO-8859-1", "windows-1252", "ISO-8859-15", "KOI8-R", "UTF-8"])
def test_the_declared_character_set_is_kept(charset: str) -> None:
    word = "Привет" if charset == "KOI8-R" else "Café"
    whole = header("de", charset) + f'msgid "{word}"\nmsgstr ""\n'
    written, notes = translated(whole.encode(charset))
    assert written.decode(charset) == whole.replace('msgstr ""\n', f'msgstr "{word}"\n').replace(
        f'msgstr "{word}"\n"Language', 'msgstr ""\n"Language'
    )
    assert notes == []


def test_characters_that_the_set_lacks_make_it_unicode() -> None:
    written, notes = translated((header("", "ISO-8859-1") + 'msgid "Café"\nmsgstr ""\n').encode("latin-1"), "\u2192")
    assert written.decode() == header("de", "UTF-8") + 'msgid "Café"\nmsgstr "Café\u2192"\n'
    assert notes == ["written as UTF-8: ISO8859-1 has no U+2192"]


def test_bytes_that_are_not_in_the_declared_set_are_refused() -> None:
    with pytest.raises(DamagedFile, match=r"no UTF-8 text, which it declares \(byte 8[0-9]\)"):
        translated((header() + 'msgid "é"\n').encode("latin-1"))


@pytest.mark.parametrize(
    ("declared", "target", "expected"),
    [("", "de", "de"), ("en", "de", "de"), ("de_AT", "de", "de_AT"), ("", "pt-BR", "pt_BR"), ("en_US", "de", "de")],
)
def test_the_language(declared: str, target: str, expected: str) -> None:
    written, _ = translated((header(declared) + 'msgid "A"\nmsgstr ""\n').encode(), language=target)
    assert written.decode().startswith(header(expected))


def test_the_flag_of_an_obsolete_message_is_its_own() -> None:
    whole = header("de") + '#, fuzzy\n#~ msgid "x"\n#~ msgstr "y"\n\nmsgid "A"\nmsgstr "B"\n\nmsgid "C"\nmsgstr "{}"\n'
    assert translated(whole.replace("{}", "").encode())[0].decode() == whole.replace("{}", "C")


def test_a_catalogue_that_is_translated_says_so() -> None:
    whole = (header("de") + 'msgid "A"\nmsgstr "B"\n').encode()
    assert translated(whole) == (whole, ["all texts of the file (1) are translated already; they were kept"])


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext's programs are not installed")
def test_gettext_takes_a_template() -> None:
    plural = '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n'
    head = header("", "CHARSET").removesuffix("\n") + plural + "\n"
    whole = head + FUZZY + 'msgstr ""\n\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    written, _ = translated(whole.encode(), "\u00e4")
    command = ["msgfmt", "--check", "--statistics", "--output-file=/dev/null", "-"]
    done = subprocess.run(command, input=written, capture_output=True, env={"LC_ALL": "C"}, check=False)
    assert (done.returncode, done.stderr.decode().splitlines()[-1]) == (0, "2 translated messages.")


def test_gettext() -> None:
    written = polib.pofile(shouted(PO.encode(), "a.po").decode())
    assert [(entry.msgid, entry.msgstr, entry.msgstr_plural) for entry in written] == [
        ("Open %s", "OPEN %S", {}),
        ("Close", "Zu", {}),
        ("one file", "", {0: "ONE FILE", 1: "%D FILES"}),
    ]
    assert written.metadata["Language"] == "de"


def with_polib(text: str, translate: Callable[[str], str]) -> str:
    """What polib, which writes as gettext's own programs do, makes of a catalogue."""
    catalogue = polib.pofile(text, wrapwidth=78)
    for entry in (entry for entry in catalogue if not entry.obsolete):
        for form in [form for form, translation in entry.msgstr_plural.items() if not translation]:
            entry.msgstr_plural[form] = translate(entry.msgid_plural if form else entry.msgid)
        if not entry.msgid_plural and not entry.msgstr:
            entry.msgstr = translate(entry.msgid)
    catalogue.metadata["Language"] = "de"
    return str(catalogue)


WORDS = ("hello ", "well-known ", "a", "\t", "\n", '"', "\\", "\u00e9 ", "a-very-long-word ", "%s ")


def test_a_catalogue_is_written_as_gettext_writes_it() -> None:
    chance = random.Random(5)

    def words(most: int) -> str:
        return "".join(chance.choices(WORDS, k=chance.randrange(most)))

    for _ in range(150):
        catalogue = polib.POFile(wrapwidth=78)
        catalogue.header = "A header"
        catalogue.metadata = {"Project-Id-Version": "x", "MIME-Version": "1.0"}
        if chance.random() < 0.5:
            catalogue.metadata["Language"] = "x"
        for number in range(chance.randrange(1, 6)):
            entry = polib.POEntry(msgid=f"No {number}{words(30)}", msgstr=chance.choice(("", "done")), comment="note")
            if chance.random() < 0.3:
                entry.msgid_plural, entry.msgstr = "p" + words(20), ""
                entry.msgstr_plural = {0: chance.choice(("", "x")), 1: ""}
            if chance.random() < 0.2:
                entry.msgctxt = words(4)
            entry.obsolete = number > 0 and chance.random() < 0.1
            catalogue.append(entry)
        catalogue.sort(key=lambda entry: entry.obsolete)
        data = str(catalogue).encode()
        written = shouted(data, "a.po", lambda text: f"{text.upper()} {text}").decode()
        assert written == with_polib(data.decode(), lambda text: f"{text.upper()} {text}")


def test_all_of_a_catalogue_but_translations_stays_as_it_is() -> None:
    text = PO.replace("# A comment", "#\n# A comment").replace('"Open %s"', '""\n"Open "\n"%s"') + '\n#~ msgid "old"\n'
    written = shouted(text.replace("\n", "\r\n").encode(), "a.po").decode()
    expected = text.replace("Language: ", "Language: de").replace('msgstr ""\n\n', 'msgstr "OPEN %S"\n\n', 1)
    expected = expected.replace('msgstr[0] ""', 'msgstr[0] "ONE FILE"').replace('msgstr[1] ""', 'msgstr[1] "%D FILES"')
    assert written == expected.replace("\n", "\r\n")
    alone = shouted(b'msgid "a"\nmsgstr ""\n', "a.po").decode()
    assert alone == 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "a"\nmsgstr "A"\n'
