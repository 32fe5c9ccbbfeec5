"""Files through the translator: the same text gives the same translation, and a file is a document."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.cli.translate_files import translate_files
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.files.doubtful import MOST_SHOWN
from server.files.file_translation import TranslatedFile
from server.files.formats.base import FileTooLarge
from server.settings import BUNDLED_MODELS, EngineSettings
from server.stores.records import Mode
from server.telemetry.metrics import Metrics
from server.text.protect.terms import Terms
from server.translation.glossary import TermRefused
from server.translation.markup_translation import translate_markup
from server.translation.planning import TextRequest
from server.translation.translator import RequestedOptions, Translator
from tests.server.translated_files import translate_bytes

OPTIONS = RequestedOptions(beam_size=2, length_penalty=None, max_length=None)
TEXT = "We walk home in the rain. Where is the station?\n\n- Yes, {name}!\nThe old lamp is here."
LINES = ["We walk home in the rain. Where is the station?", "Yes, {name}!", "The old lamp is here."]


@pytest.fixture(scope="module")
def translator(document_artifact: Path) -> Iterator[Translator]:
    engine = EngineSettings(slots=4, max_waiting=64, num_workers=1, precision="fp32")
    loaded = Translator.load(document_artifact, engine, Metrics())
    yield loaded
    loaded.stop(timeout=0)


@pytest.fixture(scope="module")
def bundled() -> Iterator[Translator]:
    loaded = Translator.load(BUNDLED_MODELS / "en-de", EngineSettings(slots=4, num_workers=1), Metrics())
    yield loaded
    loaded.stop(timeout=5)


def reader() -> StateReader:
    return StateReader(StateCache(1_000_000))


def translated(translator: Translator, data: bytes, name: str, mode: Mode = "offline", **more: Any) -> TranslatedFile:
    return asyncio.run(translate_bytes(translator, data, name, reader(), OPTIONS, mode, **more))


def test_every_format_gives_the_text_s_translation(translator: Translator) -> None:
    lines = translated(translator, "\n".join(LINES).encode(), "a.txt").data.decode().split("\n")
    assert "{name}" in lines[1]
    assert lines != LINES
    page = "<ul>" + "".join(f"<li>{line}</li>" for line in LINES) + "</ul>"
    done = translated(translator, page.encode(), "a.html")
    assert done.data.decode() == "<ul>" + "".join(f"<li>{line}</li>" for line in lines) + "</ul>"
    assert (done.name, done.media_type, done.num_sentences) == ("a.de.html", "text/html", 4)
    cells = translated(translator, "\n".join(f'"{line}"' for line in LINES).encode(), "a.csv").data.decode()
    assert cells.replace('""', '"').split("\n") == [f'"{line}"' for line in lines]


def test_sentences_of_a_file_see_each_other(translator: Translator) -> None:
    offline, online = (translated(translator, TEXT.encode(), "a.txt", mode).data for mode in ("offline", "online"))
    assert offline != online


TAGGED = [
    "The train to <b>Hamburg</b> leaves in ten minutes.",
    'My <i>sister</i> works in a <a href="/h">hospital</a>.',
    "<b>{name}</b> has <i>two</i> brothers.",
    "Room <b>123</b> is cold.",
]


@pytest.mark.parametrize("tagged", TAGGED)
def test_tags_stand_in_a_file_as_in_a_text(bundled: Translator, tagged: str) -> None:
    """A page of one sentence, which sees no other."""
    done = translated(bundled, f"<p>{tagged}</p>".encode(), "a.html")
    search_options = bundled.options(**OPTIONS)
    outcome = asyncio.run(translate_markup(bundled, TextRequest([f"<p>{tagged}</p>"], search_options), "html"))
    assert done.data.decode() == outcome.translations[0].text
    assert done.data.decode().count("<") == tagged.count("<") + 2


def test_sentences_with_tags_are_read_without_them(bundled: Translator) -> None:
    """Beside others, several to a text, and in another format: the words are those of the file without tags."""
    plain = "The lamp is new. The train is late. It is broken. Where is the station?"
    placeholder_text = "The **lamp** is new. The *train* is late. It is broken. **Where** is the station?"
    words, tagged = (translated(bundled, text.encode(), "a.md").data.decode() for text in (plain, placeholder_text))
    assert tagged != words
    assert tagged.replace("*", "") == words
    assert "Die **Lampe**" in tagged


def test_a_long_sentence_has_its_tags_in_the_part_that_they_are_in(translator: Translator) -> None:
    words = " ".join(["We walk home in the rain,"] * 30)
    done = translated(translator, f"<p>{words} and <b>the old lamp</b> is here.</p>".encode(), "a.html").data.decode()
    assert (done.count("<b>"), done.count("</b>")) == (1, 1)
    assert done.index("<b>") > len(done) / 2


def test_what_separates_texts_may_stand_in_them(translator: Translator) -> None:
    data = b"\x1e\x1d\x1c\x1f Yes.\n"
    assert translated(translator, data, "a.txt").data.startswith(b"\x1e\x1d\x1c\x1f ")
    cells = translated(translator, b'"\x1e\x1d\x1c\x1f Yes.","Yes."', "a.csv").data
    assert cells.startswith(b" \x1d\x1c\x1f ") or cells.startswith(b'" \x1d\x1c\x1f ')


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_terms_are_said_and_other_sentences_stay(side: str, document_artifacts: dict[str, Path]) -> None:
    """A sentence without a term sees the same document as ever, one with a term still sees it."""
    engine = EngineSettings(slots=4, max_waiting=64, num_workers=1, precision="fp32")
    glossary, terms = {"station": "Hauptbahnhof", "lamp": "Funzel", "in the rain": "Sauwetter"}, ["station", "lamp"]
    translator = Translator.load(document_artifacts[side], engine, Metrics())
    try:
        for mode in ("offline", "online"):
            without_terms = translated(translator, TEXT.encode(), "a.txt", mode).data.decode()
            with_terms = translated(translator, TEXT.encode(), "a.txt", mode, terms=Terms(glossary)).data.decode()
            alone = [
                translated(translator, line.encode(), "a.txt", mode, terms=Terms(glossary)).data.decode()
                for line in LINES
            ]
            assert [with_terms.count(glossary[term]) for term in terms] == [1, 1]
            assert with_terms.count("Sauwetter") == 1
            assert "Sauwetter" not in without_terms
            assert [line for line in with_terms.split("\n") if "{name}" in line] == [
                line for line in without_terms.split("\n") if "{name}" in line
            ]
            assert with_terms.split("\n")[-1] != alone[-1], "it saw nothing of its document"
    finally:
        translator.stop(timeout=0)


def test_a_term_that_cannot_be_masked_is_told_once(translator: Translator, caplog: pytest.LogCaptureFixture) -> None:
    text = "We " + "a " * (translator.artifact.manifest.max_source_length - 10)
    with pytest.raises(TermRefused, match="shorten it"):
        translated(translator, text.encode(), "a.txt", terms=Terms({"a": "eine"}))
    assert not caplog.records


def test_too_much_is_refused(translator: Translator) -> None:
    with pytest.raises(FileTooLarge, match="at most 10"):
        translated(translator, TEXT.encode(), "a.txt", max_characters=10)


@pytest.mark.parametrize("text", ["Yes.\n", "No no. "])
def test_a_file_has_so_many_sentences_and_no_more(translator: Translator, text: str) -> None:
    """A sixteenth of its characters; they are counted before any of them is made."""
    few = translated(translator, (text * 60).encode(), "a.txt", max_characters=1024)
    assert 55 <= few.num_sentences <= 64
    with pytest.raises(FileTooLarge, match="more than 64 sentences"):
        translated(translator, (text * 80).encode(), "a.txt", max_characters=1024)


def test_the_command_goes_on_after_a_bad_file(
    translator: Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.docx"
    good.write_text(TEXT)
    bad.write_text("nothing")
    folder = tmp_path / "new"
    assert translate_files(translator, [bad, tmp_path / "none.txt", good], folder, OPTIONS, "offline", 1_000_000) == 1
    shown = capsys.readouterr()
    assert f"{bad}: the file is no Word file" in shown.err
    assert "none.txt" in shown.err
    assert f"{folder / 'good.de.txt'}: 4 sentences" in shown.out
    assert (folder / "good.de.txt").read_bytes() == translated(translator, TEXT.encode(), "good.txt").data


def test_pairs_of_tags_in_strings_enclose_their_words(bundled: Translator) -> None:
    data = b'{"a": "Click <b>here</b> to <i>continue</i>.", "c": "Yes."}'
    done = asyncio.run(translate_bytes(bundled, data, "a.json", StateReader(StateCache(2**20)), OPTIONS))
    assert "<b>hier</b>" in done.data.decode()
    assert not done.doubtful.sentences


def test_what_looks_wrong_is_shown(bundled: Translator) -> None:
    lines = [f"La la la la la la la la la la la la {number}." for number in range(30)]
    data = "\n".join(lines).encode()
    done = asyncio.run(translate_bytes(bundled, data, "a.txt", StateReader(StateCache(2**20)), OPTIONS))
    assert 0 < len(done.doubtful.sentences) <= MOST_SHOWN
    assert done.doubtful.count >= len(done.doubtful.sentences)
    assert sum(done.flags.values()) >= done.doubtful.count
    assert all(sentence.source in lines for sentence in done.doubtful.sentences)
