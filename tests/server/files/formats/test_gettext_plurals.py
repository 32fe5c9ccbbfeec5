"""Catalogues have as many plural forms as the target language."""

import shutil
import subprocess
from pathlib import Path

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.files.formats.gettext_plurals import _BY_LANGUAGE, plurals_of, with_plurals
from server.files.formats.registry import open_file

HEADER = (
    'msgid ""\nmsgstr ""\n"Language: {}\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: {}\\n"\n\n'
)
TEMPLATE = "nplurals=INTEGER; plural=EXPRESSION;"
ENGLISH = "nplurals=2; plural=(n != 1);"


def catalogue(language: str, rule: str, *messages: dict[int, str]) -> str:
    entries = (
        f'msgid "house {number}"\nmsgid_plural "houses {number}"\n'
        + "".join(f'msgstr[{form}] "{text}"\n' for form, text in forms.items())
        for number, forms in enumerate(messages)
    )
    return HEADER.format(language, rule) + "\n".join(entries)


def translated(text: str, language: str) -> str:
    opened = open_file(text.encode(), "a.po", language, 100_000)
    return opened.write([source.upper() for source in opened.texts]).decode()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_missing_forms_are_added_and_surplus_ones_left_out(newline: str) -> None:
    whole = catalogue("en", ENGLISH, {0: "", 1: ""}).replace("\n", newline)
    polish = translated(whole, "pl")
    assert 'msgstr[0] "HOUSE 0"\nmsgstr[1] "HOUSES 0"\nmsgstr[2] "HOUSES 0"\n'.replace("\n", newline) in polish
    assert "nplurals=3;" in polish
    japanese = translated(whole, "ja")
    assert japanese.endswith('msgid_plural "houses 0"\nmsgstr[0] "HOUSES 0"\n'.replace("\n", newline))
    assert "nplurals=1;" in japanese


def test_a_form_that_is_missing_is_added_to_what_is_translated() -> None:
    whole = catalogue("de", ENGLISH, {0: "Haus 0"}, {0: "Haus 1", 1: "Häuser 1"})
    assert translated(whole, "de") == whole.replace('"Haus 0"\n', '"Haus 0"\nmsgstr[1] "HOUSES 0"\n')


def test_the_rule_stays_where_forms_have_translations() -> None:
    whole = catalogue("pl", "nplurals=3; plural=n%3;", {0: "x", 1: "y", 2: "z"}, {0: "", 1: "", 2: ""})
    assert "nplurals=3; plural=n%3;" in translated(whole, "de")


FORMS = st.dictionaries(st.integers(0, 2), st.just(""), min_size=1, max_size=3).map(
    lambda forms: dict(sorted(forms.items()))
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(_BY_LANGUAGE)), st.sampled_from([TEMPLATE, ENGLISH]), st.lists(FORMS, min_size=1, max_size=4)
)
def test_every_message_has_the_forms_of_its_language(language: str, rule: str, messages: list[dict[int, str]]) -> None:
    written = polib.pofile(translated(catalogue("", rule, *messages), language))
    plurals = plurals_of(language)
    assert plurals is not None
    assert written.metadata["Plural-Forms"].startswith(f"nplurals={plurals.num_forms};")
    for entry in written:
        assert sorted(entry.msgstr_plural) == list(range(plurals.num_forms))
        assert all(entry.msgstr_plural.values())


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
@pytest.mark.parametrize("language", sorted(_BY_LANGUAGE))
def test_gettext_takes_the_rule(language: str, tmp_path: Path) -> None:
    """Also that every form is used by some number, which msgfmt checks."""
    (tmp_path / "a.po").write_text(translated(catalogue("", TEMPLATE, {0: ""}), language))
    command = ["msgfmt", "--check-header", "--check-format", "-o", "/dev/null", "a.po"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "plural" not in done.stderr


def test_a_language_without_a_rule_changes_nothing() -> None:
    assert with_plurals(f"Plural-Forms: {TEMPLATE}\n", "xx", is_other=True) == f"Plural-Forms: {TEMPLATE}\n"
