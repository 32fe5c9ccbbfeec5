"""A document that two models translate in two stages, also where each model is served by another process, or a process
dies."""

import asyncio
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from server.documents.correcting import Correction
from server.documents.errors import Refused
from server.documents.job_runner import JobRunner
from server.documents.leases import MAX_ATTEMPTS, GivenUp, Lease, begin
from server.documents.sentence_states import DocumentCache, StateReader
from server.documents.service import DocumentService, NewDocument
from server.documents.two_stage import after_first, as_shown
from server.files.file_translation import translate_file
from server.files.in_process import InProcessParser
from server.files.parsing import SourceFile, parse
from server.stores.interface import ContextStore
from server.stores.memory import MemoryStore
from server.stores.open_store import open_store
from server.stores.records import Leg, Sentence
from server.telemetry.labels import FinishReason
from server.telemetry.metrics import Metrics
from server.text.protect.terms import Terms
from server.translation.pivot import Pivot
from server.translation.planning import TextRequest
from server.translation.translator import RequestedOptions, Translator
from tests.server.api.conftest import settings_for
from tests.server.api.conftest import until as until_so
from tests.server.api.documents import MANY, STORY, Documents, translations
from tests.server.api.pairs import copy_of
from tests.server.documents.some import document, keep, sentence
from tests.server.processes import serving

PATIENCE = 120.0
SLOWLY = ("--slots", "1", "--document-lease", "1.0", "--log-level", "error")


@pytest.fixture(scope="module")
def folder(document_artifacts: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("turns")
    copy_of(document_artifacts["encoder"], folder / "de-en", name="de-en", source_language="de", target_language="en")
    copy_of(document_artifacts["decoder"], folder / "en-fr", name="en-fr", source_language="en", target_language="fr")
    return folder


@pytest.fixture(scope="module")
def translators(folder: Path) -> Iterator[dict[str, Translator]]:
    engine = settings_for(folder).engine
    loaded = {name: Translator.load(folder / name, engine, Metrics()) for name in ("de-en", "en-fr")}
    yield loaded
    for translator in loaded.values():
        translator.stop(0)


@pytest.fixture(scope="module")
def plain(pairs: dict[str, Path]) -> Iterator[dict[str, Translator]]:
    """Models of sentences that see nothing of each other."""
    engine = settings_for(pairs["de-en"]).engine
    models = {name: Translator.load(pairs[name], engine, Metrics()) for name in ("de-en", "en-fr")}
    yield models
    for model in models.values():
        model.stop(0)


class Process:
    """What a server does with documents, of the models that it serves."""

    def __init__(self, store: ContextStore, translators: dict[str, Translator]) -> None:
        reader = StateReader(DocumentCache(2**20))
        self.runner = JobRunner(store, reader, translators, 100, Metrics())
        self.documents = DocumentService(store, reader, self.runner, translators, settings_for(Path()))

    async def until(self, document_id: str, model: str, state: str) -> list[Sentence]:
        """Work until the document is in this state, with the turn of this model; its sentences as users see them."""
        self.runner.start()
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    document, sentences = await self.documents.read(document_id)
                    if (document.model, document.state) == (model, state):
                        return sentences
                    assert document.state != "failed", document.error
                    await asyncio.sleep(0.01)
        finally:
            await self.runner.stop()


def new(translators: dict[str, Translator]) -> NewDocument:
    first, second = translators.values()
    return NewDocument(first, "offline", STORY, {"beam_size": 1, "length_penalty": None, "max_length": 8}, then=second)


def test_each_of_two_processes_serves_one_of_the_models(
    store: ContextStore, translators: dict[str, Translator]
) -> None:
    async def scenario() -> None:
        whole = Process(MemoryStore(), translators)
        document, _ = await whole.documents.create(new(translators))
        expected = await whole.until(document.id, "en-fr", "done")

        first, second = (Process(store, {name: item}) for name, item in translators.items())
        document, _ = await first.documents.create(new(translators))
        sentences = await first.until(document.id, "en-fr", "queued")
        assert [sentence.source for sentence in sentences] == STORY
        assert all(sentence.is_pending for sentence in sentences)
        assert store.document(document.id).attempts == 0
        correction = Correction(None, "Oui.")
        with pytest.raises(Refused, match="it is queued: it can be changed when it is done"):
            await second.documents.correct(document.id, 0, correction, time.monotonic() + PATIENCE)
        sentences = await second.until(document.id, "en-fr", "done")
        assert [sentence.translation for sentence in sentences] == [sentence.translation for sentence in expected]
        assert [sentence.source for sentence in sentences] == STORY
        origins = [sentence.origin for sentence in store.sentences(document.id)]
        assert all(origin is not None and origin.translation for origin in origins)

    asyncio.run(scenario())


def test_one_that_killed_three_processes_says_what_can_be_done(store: ContextStore) -> None:
    """It takes no corrections, after which other documents are tried again, before it is done."""
    legs = (Leg("tiny", "f00d", "en"), Leg("other", "beef", "fr"))
    kept = keep(store, attempts=MAX_ATTEMPTS, legs=legs)
    with pytest.raises(GivenUp, match="the servers' logs may say why; send it again"):
        begin(Lease(store, kept.id, None, 0), kept)


OPTIONS = RequestedOptions(beam_size=2, length_penalty=None, max_length=None)
WORDS = [
    "Wir",
    "gehen",
    "im",
    "Regen",
    "heim",
    "Bahnhof",
    "Brot",
    "12,5",
    "{name}",
    "https://x.example/a",
    "***",
    "C++",
]
SOURCES = st.lists(st.sampled_from(WORDS), max_size=8).map(lambda words: " ".join(["Wir", *words, "heute."]))
TERMS = {"Bahnhof": "Gare-Sud", "Brot": "pain", "C++": "C plus-plus", "im Regen": "sous la pluie"}


async def translated_text(models: dict[str, Translator], sources: list[str], terms: Terms | None) -> list[str]:
    first, second = models.values()
    pivot = Pivot(first, second, second.options(**OPTIONS), terms)
    outcome = await pivot.translate(TextRequest(sources, first.options(**OPTIONS), splits=False))
    return [translation.text for translation in outcome.translations]


async def translated_file(models: dict[str, Translator], sources: list[str], terms: Terms | None) -> list[str]:
    source = SourceFile("\n".join(sources).encode(), "a.txt", "fr")
    file = await parse(InProcessParser(), source)
    done = await translate_file(list(models.values()), file, StateReader(DocumentCache(0)), OPTIONS, terms=terms)
    return done.data.decode().split("\n")


async def translated_document(models: dict[str, Translator], sources: list[str]) -> list[str]:
    first, second = models.values()
    process = Process(MemoryStore(), models)
    document, _ = await process.documents.create(NewDocument(first, "offline", sources, OPTIONS, then=second))
    return [str(sentence.translation) for sentence in await process.until(document.id, "en-fr", "done")]


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sources=st.lists(SOURCES, min_size=1, max_size=5))
def test_texts_files_and_documents_have_the_same_translations(plain: dict[str, Translator], sources: list[str]) -> None:
    """With a glossary, which documents do not take, texts and files."""
    assume(list(plain["de-en"].plan("\n".join(sources)).sentences) == sources)

    async def scenario() -> None:
        expected = await translated_text(plain, sources, None)
        assert await translated_file(plain, sources, None) == expected
        assert await translated_document(plain, sources) == expected
        with_terms = await translated_text(plain, sources, Terms(TERMS))
        assert await translated_file(plain, sources, Terms(TERMS)) == with_terms
        for source, translation in zip(sources, with_terms, strict=True):
            for match in Terms(TERMS).find(source):
                assert match.target in translation

    asyncio.run(scenario())


@pytest.mark.parametrize("first", ["eos", "length"])
@pytest.mark.parametrize("second", [None, "eos", "length"])
@pytest.mark.parametrize("turn", [0, 1])
def test_a_sentence_is_cut_off_if_either_model_cut_it(first: FinishReason, second: Any, turn: int) -> None:
    """And is not translated before both have."""
    legs = (Leg("tiny", "f00d", "en"), Leg("other", "beef", "fr"))
    kept = document(legs=legs, model=legs[turn].model, fingerprint=legs[turn].fingerprint)
    begun = sentence(0, "Ja.", translation="Yes.", finish_reason=first, score=-1.0)
    ended = begun
    if turn:
        ended = replace(after_first(begun), translation=second and "Oui.", finish_reason=second, score=-2.0)
    [shown] = as_shown(kept, [ended])
    assert shown.source == "Ja."
    if turn == 0 or second is None:
        assert (shown.translation, shown.finish_reason) == (None, None)
    else:
        assert (shown.translation, shown.score) == ("Oui.", -2.0)
        assert shown.finish_reason == ("length" if "length" in (first, second) else "eos")


@pytest.mark.parametrize("model", ["de-en", "en-fr"])
def test_killed_in_the_turn_of_either_it_is_finished_by_the_next(folder: Path, tmp_path: Path, model: str) -> None:
    url = f"sqlite:///{tmp_path}/documents.db"
    fields: dict[str, Any] = {"sentences": MANY[:200], "source": "de", "target": "fr", "max_length": 6, "beam_size": 1}
    with serving(folder, *SLOWLY, "--context-store", url) as served, served.client() as client:
        names: list[str] = []
        store = open_store(url)
        try:

            def is_in_the_middle() -> bool:
                document, sentences = store.read(names[-1])  # at one moment: between two reads the other may begin
                pending = [sentence.is_pending for sentence in sentences]
                return document.model == model and any(pending) and not all(pending)

            def is_past() -> bool:
                document = store.document(names[-1])
                return document.state == "done" or document.model not in ("de-en", model)

            def is_caught() -> bool:
                if not names or is_past():  # the middle is short: a busy machine may look before and after it only
                    names.append(Documents(client).post(202, wait=False, **fields)["id"])
                if not is_in_the_middle():
                    return False
                served.process.send_signal(signal.SIGSTOP)  # or it is over before the signal that kills arrives
                if is_in_the_middle():
                    return True
                served.process.send_signal(signal.SIGCONT)
                return False

            until_so(is_caught, "a part is translated")
            served.kill()
            name = names[-1]
            assert (store.document(name).state, is_in_the_middle()) == ("running", True)
            before = store.sentences(name)
            quickly = (*SLOWLY, "--slots", "8", "--context-store", url)
            with serving(folder, *quickly) as another, another.client() as client:
                done = Documents(client).done(name, explain="false")
                assert [sentence["source"] for sentence in done["sentences"]] == MANY[:200]
                assert translations(done) == translations(Documents(client).post(**fields))
            after = [sentence.origin if model == "de-en" else sentence for sentence in store.sentences(name)]
            finished = [sentence.index for sentence in before if not sentence.is_pending]
            assert [after[index] for index in finished] == [before[index] for index in finished]  # not made twice
        finally:
            store.close()
