"""Translations of the bundled model in the requested form of address."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from server.engine.request import Hypothesis, SentenceRequest, SentenceResult, Timings
from server.settings import BUNDLED_MODELS, EngineSettings
from server.subwords.moses import Moses
from server.telemetry.metrics import Metrics
from server.text.base.pieces import Pieces
from server.text.checks.address import WANTED, Address, Formality, SourceHints, address_of
from server.text.protect.terms import Terms
from server.translation.address_constraint import AddressConstraint, continued_words
from server.translation.assembly import TextTranslation
from server.translation.formality import Addressing, supports_formality
from server.translation.glossary import translate_with_terms
from server.translation.planning import TextRequest
from server.translation.streaming import Beginning
from server.translation.term_streaming import TermStream
from server.translation.translator import Translator
from tests.subwords import SPECIAL, codes, pieces_of, write_words

ADDRESSED: Final = [
    "You can open the file in your browser.",
    "Did you bring your book?",
    "I will help you tomorrow.",
    "Please tell me when you are ready.",
    "Why don't you ask your brother?",
]
NEUTRAL: Final = ["The house is old.", "She sells bread and milk.", "Thank you.", "They are at home."]
FORMALITIES: Final[tuple[Formality, ...]] = ("more", "less")
both = pytest.mark.parametrize("formality", FORMALITIES)


@pytest.fixture(scope="module")
def translator() -> Iterator[Translator]:
    engine = EngineSettings(slots=8, num_workers=1, translation_cache_bytes=0)
    translator = Translator.load(BUNDLED_MODELS / "en-de", engine, Metrics())
    yield translator
    translator.stop(timeout=5)


def translated(
    translator: Translator, texts: list[str], formality: Formality | None, num_hypotheses: int = 1
) -> list[TextTranslation]:
    options = translator.options(num_hypotheses=num_hypotheses, formality=formality)
    return list(asyncio.run(translator.translate(TextRequest(texts, options))).translations)


@both
def test_every_sentence_has_the_requested_form(translator: Translator, formality: Formality) -> None:
    for source, translation in zip(ADDRESSED, translated(translator, ADDRESSED, formality), strict=True):
        assert address_of(translation.text, source) is WANTED[formality], translation.text


@both
def test_sentences_without_address_or_in_the_requested_form_are_translated_as_without_a_request(
    translator: Translator, formality: Formality
) -> None:
    texts = [*NEUTRAL, *ADDRESSED]
    plain, asked = translated(translator, texts, None), translated(translator, texts, formality)
    stays = [
        place
        for place, (source, one) in enumerate(zip(texts, plain, strict=True))
        if address_of(one.text, source) in (Address.NONE, WANTED[formality])
    ]
    assert set(range(len(NEUTRAL))) <= set(stays) < set(range(len(texts)))
    for place in stays:
        assert plain[place] == asked[place]


@both
def test_alternatives_have_the_form_too(translator: Translator, formality: Formality) -> None:
    for source, translation in zip(ADDRESSED, translated(translator, ADDRESSED, formality, 3), strict=True):
        texts = [hypothesis.text for hypothesis in translation.hypotheses]
        assert 1 <= len(set(texts)) == len(texts) <= 3
        assert {address_of(text, source) for text in texts} <= {WANTED[formality], Address.NONE}


@both
def test_terms_and_the_form_go_together(translator: Translator, formality: Formality) -> None:
    request = TextRequest(ADDRESSED[:2], translator.options(formality=formality))
    terms = Terms({"book": "Kladde", "browser": "Blätterer"})
    done = asyncio.run(translate_with_terms(translator, request, terms)).translations
    for source, term, translation in zip(ADDRESSED, ("Blätterer", "Kladde"), done, strict=False):
        assert term in translation.text
        assert address_of(translation.text, source) is WANTED[formality], translation.text


@both
def test_a_stream_shows_only_what_is_final(translator: Translator, formality: Formality) -> None:
    async def streamed() -> tuple[list[str], list[str]]:
        request = TextRequest(ADDRESSED, translator.options(formality=formality))
        stream = await TermStream.begin_with_terms(translator, request, Terms({}))
        shown: dict[int, str] = {}
        async for update in stream.updates():
            if update is None:
                continue
            if isinstance(update, Beginning):
                assert update.text not in shown, "a sentence is shown once"
                shown[update.text] = update.target
                continue
            return [shown[place] for place in range(len(ADDRESSED))], [text.text for text in update.translations]
        raise AssertionError("a stream ends with its outcome")

    shown, done = asyncio.run(streamed())
    assert shown == done == [text.text for text in translated(translator, ADDRESSED, formality)]


def test_a_text_without_event_loop_has_it(translator: Translator) -> None:
    pending = translator.submit_text(ADDRESSED[1], translator.options(formality="more"))
    assert address_of(pending.wait().text, ADDRESSED[1]) is Address.FORMAL


FORMS: Final = (
    ("Kannst du mir helfen?", "Können Sie mir helfen?"),
    ("Das ist deines.", "Das ist Ihres."),
    ("Öffne die Datei!", "Öffnen Sie die Datei!"),
    ("„Dir gefällt es“, sagte er.", "„Ihnen gefällt es“, sagte er."),
    ("Wenn ich komme, sag es.", "Wenn ich komme, sagen Sie es."),
)
"""In the informal form, and in the formal one."""


def is_permitted(pieces: Pieces, text: str, wanted: Address, continued: frozenset[str] = frozenset()) -> bool:
    constraint = AddressConstraint(wanted, SourceHints.of("Can you help me?"), pieces, continued)
    state = constraint.start()
    for token in pieces.encode([text])[0]:
        following = constraint.after(state, token)
        if following is None:
            return False
        state = following
    return True


def words_of_codes(folder: Path) -> Pieces:
    """German words cut by byte pairs behind Moses' tokenizer."""
    moses, texts = Moses("de"), [*(text for forms in FORMS for text in forms), "Es ist dunkel.", "Bist du da?"]
    listed = (*SPECIAL, *pieces_of([*texts, "Er kommt, wenn ich gehe, frage ich."], moses, codes()))
    return Pieces(write_words(folder / "vocabulary.model", moses, words=listed))


@pytest.mark.parametrize("kind", ["SentencePiece", "byte pairs"])
def test_the_words_of_the_other_form_are_forbidden_however_they_are_spelled(
    kind: str, translator: Translator, tmp_path: Path
) -> None:
    pieces = translator.target_pieces if kind == "SentencePiece" else words_of_codes(tmp_path)
    for informal, formal in FORMS:
        assert not is_permitted(pieces, informal, Address.FORMAL), informal
        assert is_permitted(pieces, informal, Address.INFORMAL), informal
        assert not is_permitted(pieces, formal, Address.INFORMAL), formal
        assert is_permitted(pieces, formal, Address.FORMAL), formal
    dark = "Es ist dunkel."
    assert is_permitted(pieces, "Er kommt, wenn ich gehe, frage ich.", Address.FORMAL)
    spelled = pieces.spelled(pieces.encode([dark])[0])
    assert continued_words([spelled]) == {"du"}
    assert is_permitted(pieces, dark, Address.FORMAL, frozenset(["du"]))
    assert not is_permitted(pieces, "Bist du da?", Address.FORMAL, frozenset(["du"]))


def test_only_sentences_in_the_other_form_are_searched_again(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []
    answer_all = translator.worker.answer_all

    def counted(requests: Sequence[SentenceRequest]) -> None:
        counts.append(len(requests))
        answer_all(requests)

    monkeypatch.setattr(translator.worker, "answer_all", counted)
    texts = [*NEUTRAL, *ADDRESSED]
    plain = translated(translator, texts, None)
    assert counts == [len(texts)]
    other = sum(address_of(one.text, text) is Address.INFORMAL for text, one in zip(texts, plain, strict=True))
    translated(translator, texts, "more")
    assert counts[1:] == [len(texts), other]


def test_languages() -> None:
    assert supports_formality("en", "de")
    assert supports_formality("en-GB", "de-AT")
    assert not supports_formality("de", "en")
    assert not supports_formality("fr", "de")


@pytest.mark.parametrize(
    ("widest", "beam_size", "searched"), [(2, 1, 2), (8, 1, 8), (8, 4, 8), (12, 10, 10), (2, 2, 2)]
)
def test_the_second_search_is_as_wide_as_the_engine_allows(
    translator: Translator, widest: int, beam_size: int, searched: int
) -> None:
    addressing = Addressing(translator.source_pieces, translator.target_pieces, widest)
    [source] = translator.source_pieces.encode(["Did you bring your book?"])
    [familiar] = translator.target_pieces.encode(["Hast du dein Buch mitgebracht?"])
    options = translator.options(beam_size=beam_size, formality="more")
    result = SentenceResult((Hypothesis(familiar, -1.0, -1.0, "eos"),), Timings(1.0, 2.0, 4.0))
    [search] = addressing.second_searches([SentenceRequest(source, options)], [result])
    assert (search.number, search.request.options.beam_size) == (0, searched)
    [polite] = translator.target_pieces.encode(["Haben Sie Ihr Buch mitgebracht?"])
    second = SentenceResult((Hypothesis(polite, -2.0, -2.0, "eos"),), Timings(8.0, 16.0, 32.0))
    chosen = addressing.chosen(SentenceRequest(source, options), result, second)
    assert [hypothesis.ids for hypothesis in chosen.hypotheses] == [polite]
    assert chosen.timings == Timings(9.0, 18.0, 36.0)
