"""Texts translated with a translation memory, compared with their sentences translated one by one."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.text.markup.tokens import Kind
from server.text.split.sentences import split_text
from server.translation.assembly import TextTranslation, TranslationOutcome
from server.translation.line_translation import translate_lines
from server.translation.markup_translation import translate_markup
from server.translation.memory_lookup import CHARS_PER_CHAR, FREE_CHARS, MemoryUse, TooManyMatches
from server.translation.memory_translator import MemoryTranslator
from server.translation.planning import TextRequest, TooManySentences
from server.translation.translator import Translator
from server.translation_memory.index import MemoryIndex
from server.translation_memory.pairs import EXACT, Pair
from tests.models import SENTENCES

KNOWN = {
    "Good morning.": "Moin!",
    "The house is red.": "Rot ist das Haus.",
    "One. Two.": "Eins und zwei.",
    "Yes!": "Jawohl",
}
ANY = st.sampled_from([*KNOWN, *SENTENCES[:4], "Good  morning.", "The house is green.", "Two."])
GAPS = st.sampled_from([" ", "\n", "  ", "\n\n- ", "\n--- 42\n"])
TEXTS = st.lists(
    st.tuples(st.sampled_from(["", " ", "\n* "]), st.lists(st.tuples(ANY, GAPS), min_size=1, max_size=5))
).map(lambda texts: [start + "".join(sentence + gap for sentence, gap in parts) for start, parts in texts])


@pytest.fixture(scope="module")
def translator(tiny_artifact: Path) -> Iterator[Translator]:
    engine = EngineSettings(slots=4, num_workers=1, precision="fp32", shortlist="off", max_beam_size=4)
    translator = Translator.load(tiny_artifact, engine, Metrics())
    yield translator
    translator.stop(timeout=5)


@pytest.fixture(scope="module")
def index() -> MemoryIndex:
    index = MemoryIndex()
    index.add(Pair(source, target) for source, target in KNOWN.items())
    return index


@dataclass
class Recorded:
    """A translator, and the texts that it was called with."""

    translator: Translator
    texts: list[str] = field(default_factory=list)

    async def translate(self, request: TextRequest) -> TranslationOutcome:
        self.texts += request.texts
        return await self.translator.translate(request)


def translated(
    recorded: Recorded, index: MemoryIndex, texts: list[str], threshold: int = EXACT, **more: object
) -> tuple[TextTranslation, ...]:
    request = TextRequest(texts, recorded.translator.options(2, 2), **more)  # type: ignore[arg-type]
    with_memory = MemoryTranslator(recorded, MemoryUse(index, threshold), "en")
    return asyncio.run(with_memory.translate(request)).translations


def slowly(translator: Translator, text: str) -> str:
    """The text by its definition: whole if it is known, else sentence by sentence, each known or the model's."""
    inner = text.strip()
    if " ".join(inner.split()) in KNOWN:
        return text.replace(inner, KNOWN[" ".join(inner.split())])
    parts = []
    for segment in split_text(text, "en"):
        known = KNOWN.get(" ".join(segment.text.split()))
        if segment.is_sentence and known is None:
            request = TextRequest([segment.text], translator.options(2))
            known = asyncio.run(translator.translate(request)).translations[0].text
        parts.append(known if segment.is_sentence and known is not None else segment.text)
    return "".join(parts)


@settings(deadline=None, max_examples=40)
@given(texts=TEXTS)
def test_known_sentences_are_taken_and_others_translated(
    translator: Translator, index: MemoryIndex, texts: list[str]
) -> None:
    recorded = Recorded(translator)
    results = translated(recorded, index, texts)
    assert [result.text for result in results] == [slowly(translator, text) for text in texts]
    for text, result in zip(texts, results, strict=True):
        rest = text
        for sentence in result.sentences:  # in their order, with the gaps between them
            _, found, rest = rest.partition(sentence.source)
            assert found
            assert sentence.is_from_memory == (" ".join(sentence.source.split()) in KNOWN)
            assert not sentence.is_from_memory or (sentence.score, sentence.num_tokens, sentence.flags) == (0, 0, ())
        assert result.hypotheses[0].text == result.text
        for match in result.matches:
            source = " ".join(text[slice(*match.place)].split())
            assert (source, match.entry.likeness, KNOWN[source]) == (source, EXACT, match.entry.pair.target)
    assert not {" ".join(text.split()) for text in recorded.texts} & (set(KNOWN) - {"One. Two."})


def test_the_model_is_not_called_where_everything_is_known(translator: Translator, index: MemoryIndex) -> None:
    recorded = Recorded(translator)
    results = translated(recorded, index, ["Good morning.", " One. Two.\n", "Yes! Good morning.", "42", ""])
    assert [result.text for result in results] == ["Moin!", " Eins und zwei.\n", "Jawohl Moin!", "42", ""]
    assert recorded.texts == ["42", ""]
    assert translated(recorded, index, ["Yes!"])[0].sentences[0].is_from_memory
    assert recorded.texts == ["42", ""]


def test_near_matches_are_offered(translator: Translator, index: MemoryIndex) -> None:
    recorded = Recorded(translator)
    text = "The house is green. Good mornings."
    [result] = translated(recorded, index, [text], threshold=75)
    shown = [(text[slice(*match.place)], match.entry.pair.source, match.entry.likeness) for match in result.matches]
    assert shown == [
        ("The house is green.", "The house is red.", 88),
        ("Good mornings.", "Good morning.", 96),
    ]
    assert recorded.texts == [text]
    free = asyncio.run(translator.translate(TextRequest([text], translator.options(2)))).translations[0]
    assert result.text == free.text


def test_near_matches_are_used_where_a_request_says_so(translator: Translator, index: MemoryIndex) -> None:
    for may_apply, expected in (
        (lambda source, text: True, "Rot ist das Haus. Moin!"),
        (lambda source, text: False, None),
    ):
        recorded = Recorded(translator)
        use = MemoryUse(index, EXACT, applies_from=80, may_apply=may_apply)
        request = TextRequest(["The house is green. Good mornings."], translator.options(2))
        [result] = asyncio.run(MemoryTranslator(recorded, use, "en").translate(request)).translations
        assert (result.text == expected) == (expected is not None)
        assert bool(recorded.texts) == (expected is None)


def test_a_prefix_is_kept(translator: Translator, index: MemoryIndex) -> None:
    texts = ["Good morning.", "Good morning. The house is red.", "Good morning. A dog. The house is red.", "Yes!"]
    prefixes = ["Guten", "Guten", "Guten", ""]
    results = translated(Recorded(translator), index, texts, prefixes=prefixes)
    assert all(result.text.startswith(prefix) for result, prefix in zip(results, prefixes, strict=True))
    assert [result.text.endswith("Rot ist das Haus.") for result in results] == [False, True, True, False]
    assert results[3].text == "Jawohl"


def test_without_splitting_only_whole_texts_are_compared(translator: Translator, index: MemoryIndex) -> None:
    results = translated(Recorded(translator), index, ["One. Two.", "Yes! Good morning."], splits=False)
    assert results[0].text == "Eins und zwei."
    assert not results[1].sentences[0].is_from_memory


@pytest.mark.parametrize("kind", ["html", "xml"])
def test_blocks_of_markup_are_compared(translator: Translator, index: MemoryIndex, kind: Kind) -> None:
    recorded = Recorded(translator)
    with_memory = MemoryTranslator(recorded, MemoryUse(index, EXACT), "en")
    request = TextRequest(["<p>Good morning.</p><p>Yes! <b>Good</b> morning.</p>"], translator.options(2))
    [result] = asyncio.run(translate_markup(with_memory, request, kind)).translations
    assert result.text.startswith("<p>Moin!</p><p>Jawohl ")
    assert "<b>" in result.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>Good <b>morning</b> all.</p>", "<b>"),
        ("<p>Good morning <img alt=''/> all.</p>", "<img alt=''/>"),
        ("<p>\U000f0001</p>", "\U000f0001"),
        ("<p>A dog.</p>", "<p>"),
    ],
)
@pytest.mark.parametrize("kind", ["html", "xml"])
def test_tags_of_sentences_are_not_lost(translator: Translator, text: str, expected: str, kind: Kind) -> None:
    """An entry has no tags, and characters of an entry are none."""
    index = MemoryIndex()
    index.add([Pair("Good morning all.", "Moin!"), Pair("A dog.", "Ein \U000f0005Hund.")])
    with_memory = MemoryTranslator(translator, MemoryUse(index, EXACT, applies_from=70), "en")
    [result] = asyncio.run(translate_markup(with_memory, TextRequest([text], translator.options(1)), kind)).translations
    assert expected in result.text
    assert "Moin" not in result.text


def test_lines_are_joined_before_they_are_compared(translator: Translator, index: MemoryIndex) -> None:
    recorded = Recorded(translator)
    with_memory = MemoryTranslator(recorded, MemoryUse(index, EXACT), "en")
    request = TextRequest(["The house\nis red.\n\nGood\nmorning. Yes!"], translator.options(2))
    [result] = asyncio.run(translate_lines(with_memory, request)).translations
    assert "".join(result.text.split()) == "RotistdasHaus.Moin!Jawohl"
    assert result.text.count("\n") == 4
    assert recorded.texts == []


def checked_translation(translator: Translator, use: MemoryUse, texts: list[str]) -> Callable[[], TextTranslation]:
    with_memory = MemoryTranslator(translator, use, "en", check_count=translator.planner.check_count)
    return lambda: asyncio.run(with_memory.translate(TextRequest(texts, translator.options(1)))).translations[0]


def test_known_sentences_are_counted_like_others(translator: Translator, index: MemoryIndex) -> None:
    most = translator.settings.max_waiting
    use = MemoryUse(index, EXACT)
    assert len(checked_translation(translator, use, ["Yes!\n" * most])().sentences) == most
    for texts in (["Yes!\n" * (most + 1)], ["Yes!"] * (most + 1)):
        with pytest.raises(TooManySentences, match=f"at most {most}"):
            checked_translation(translator, use, texts)()


@pytest.mark.parametrize("threshold", [EXACT, 70])
def test_matches_are_not_much_longer_than_the_texts(translator: Translator, threshold: int) -> None:
    index = MemoryIndex()
    index.add([Pair("Good day!" if threshold == EXACT else "Good days!", "x" * 4000)])
    use, text, length = MemoryUse(index, threshold, threshold), "Good day!\n", 4010
    fitting = (FREE_CHARS + CHARS_PER_CHAR * len(text)) // length
    assert len(checked_translation(translator, use, [text * fitting])().sentences) == fitting
    with pytest.raises(TooManyMatches, match="send fewer texts"):
        checked_translation(translator, use, [text * (2 * fitting)])()
