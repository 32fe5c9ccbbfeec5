"""Which words come from which: what the bundled models say of plain sentences, alone and in company."""

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from server.backends.alignment import CannotAlign
from server.settings import BUNDLED_MODELS, EngineSettings
from server.telemetry.metrics import Metrics
from server.text.protect.terms import Terms
from server.translation.alignment import LEAST, MOST_TOKENS, AlignmentItem, _batches, _words, aligned_pairs
from server.translation.assembly import TextTranslation
from server.translation.glossary import translate_with_terms
from server.translation.markup_translation import translate_markup
from server.translation.planning import TextRequest
from server.translation.translator import Translator


@pytest.fixture(scope="module", params=["en-de", "de-en"])
def translator(request: pytest.FixtureRequest) -> Iterator[Translator]:
    loaded = Translator.load(BUNDLED_MODELS / request.param, EngineSettings(num_workers=1), Metrics())
    yield loaded
    loaded.stop(timeout=5)


def translated(translator: Translator, texts: list[str]) -> list[TextTranslation]:
    outcome = asyncio.run(translator.translate(TextRequest(texts, translator.options(), aligns=True)))
    return list(outcome.translations)


def words(source: str, translation: TextTranslation) -> set[tuple[str, str]]:
    assert translation.alignment is not None
    return {(source[slice(*ours)], translation.text[slice(*theirs)]) for ours, theirs in translation.alignment}


PLAIN = {
    "en-de": [
        ("The old man reads a book.", {("old", "alte"), ("man", "Mann"), ("book", "Buch"), ("The", "Der")}),
        ("The house is very big today.", {("house", "Haus"), ("today", "heute"), ("big", "gro\u00df"), ("is", "ist")}),
        ("THE HOUSE IS BIG.", {("HOUSE", "HAUS"), ("BIG", "GROSS")}),
    ],
    "de-en": [
        ("Der alte Mann liest ein Buch.", {("alte", "old"), ("Mann", "man"), ("Buch", "book")}),
        ("Das Haus ist heute sehr gro\u00df.", {("Haus", "house"), ("heute", "today"), ("ist", "is")}),
    ],
}


def test_words_come_from_their_translations(translator: Translator) -> None:
    sentences = PLAIN[translator.name]
    for (source, expected), translation in zip(
        sentences, translated(translator, [source for source, _ in sentences]), strict=True
    ):
        assert expected <= words(source, translation), (source, translation.text)


TEXT = (
    "  The old man reads https://example.org/a every day.\n\n\u2022 {name} is my \u201cfriend\u201d\u2026  "
    "Where is the station? Yes.\n"
)


def test_an_alignment_is_the_same_alone_and_in_company(translator: Translator) -> None:
    others = [" ".join(["Yes, the house is very big."] * count) for count in (1, 3, 9)]
    [alone] = translated(translator, [TEXT])
    assert translated(translator, [*others, TEXT])[3].alignment == alone.alignment


def test_weights_are_the_same_alone_and_in_company(translator: Translator) -> None:
    texts = ["Yes.", "The old man reads a book.", "The house is very big, and the man is very old."]
    items = [item(translator, source, target) for source, target in zip(texts, reversed(texts), strict=True)]
    translator.worker.side_tasks.prepare_alignments()
    pairs = [(hypothesis.planned.ids, hypothesis.ids) for hypothesis in items]
    for pair, together in zip(pairs, translator.worker.side_tasks.align(pairs).result(), strict=True):
        [alone] = translator.worker.side_tasks.align([pair]).result()
        assert together.shape == (len(pair[1]), len(pair[0]))
        np.testing.assert_allclose(together, alone, atol=1e-6)


def test_places_are_words_of_the_whole_text(translator: Translator) -> None:
    [result] = translated(translator, [TEXT])
    assert result.alignment
    pairs = words(TEXT, result)
    assert {("https://example.org/a", "https://example.org/a"), ("{name}", "{name}")} <= pairs
    for source, target in pairs:
        assert source.isalnum() or source in ("https://example.org/a", "{name}")
        assert target == target.strip()
    for (ours, _), (later, _) in zip(result.alignment, result.alignment[1:], strict=False):
        assert ours <= later


def test_terms_of_a_glossary_are_paired_with_what_they_became(translator: Translator) -> None:
    source = PLAIN[translator.name][0][0]
    term = "old man" if translator.name == "en-de" else "alte Mann"
    options = translator.options()
    outcome = asyncio.run(
        translate_with_terms(translator, TextRequest([source], options, aligns=True), Terms({term: "Zorro-7 X"}))
    )
    [result] = outcome.translations
    assert [target for entry, target in words(source, result) if entry == term] == ["Zorro-7 X"]


def test_tags_enclose_the_translations_of_their_words(translator: Translator) -> None:
    source, expected = {
        "en-de": ("The <b>old</b> man reads <i>a <b>book</b></i>.", ("<b>alte</b> Mann", "<b>Buch</b></i>")),
        "de-en": ("Der <b>alte</b> Mann liest <i>ein <b>Buch</b></i>.", ("<b>old</b> man", "<b>book</b></i>")),
    }[translator.name]
    outcome = asyncio.run(
        translate_markup(translator, TextRequest([source], translator.options(num_hypotheses=2)), "html")
    )
    [actual] = outcome.translations
    assert all(part in actual.text for part in expected)
    assert len(actual.hypotheses) == 2
    for hypothese in actual.hypotheses:
        assert [hypothese.text.count(tag) for tag in ("<b>", "</b>", "<i>", "</i>")] == [2, 2, 1, 1]


def test_nothing_is_aligned_unless_requested(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the model aligned")

    monkeypatch.setattr(translator.worker.side_tasks, "align", never)
    options = translator.options()
    plain = asyncio.run(translator.translate(TextRequest([TEXT], options)))
    assert plain.translations[0].alignment is None
    asyncio.run(translate_markup(translator, TextRequest(["<p>Yes.<br>No.</p>"], options), "html"))
    with pytest.raises(AssertionError, match="the model aligned"):
        asyncio.run(translate_markup(translator, TextRequest(["<p><b>Yes</b>, today.</p>"], options), "html"))


def item(translator: Translator, source: str, target: str) -> AlignmentItem:
    [planned] = translator.plan(source, splits=False).planned
    [ids] = translator.target_pieces.encode([target])
    return AlignmentItem(source, planned, ids[:-1], target)


def test_a_word_is_paired_with_all_words_that_its_pieces_attend_to_enough(translator: Translator) -> None:
    hypothesis = item(translator, "ab cd ef", "gh ij")
    weights = np.zeros((len(hypothesis.ids), len(hypothesis.planned.ids)), np.float32)
    vocabularies = (translator.source_pieces, translator.target_pieces)
    text, places = translator.source_pieces.decode_with_offsets(hypothesis.planned.ids)
    first = {letter: next(n for n, (start, end) in enumerate(places) if letter in text[start:end]) for letter in "ace"}
    assert aligned_pairs(hypothesis, vocabularies, weights) == ()  # it looks at nothing
    weights[:, first["a"]], weights[:, first["e"]], weights[:, first["c"]] = 0.5, 0.3, 0.1
    weights[:, -1] = 9.0  # the end of the sentence is no word
    both = ((0, 2), (3, 5))
    assert aligned_pairs(hypothesis, vocabularies, weights) == tuple(
        (ours, theirs) for ours in ((0, 2), (6, 8)) for theirs in both
    )


def test_pairs_are_those_of_weights_added_up_one_by_one(translator: Translator) -> None:
    first = item(translator, "The old man reads https://example.org/a, they say.", "Der Mann liest X1, sagen sie.")
    vocabularies = (translator.source_pieces, translator.target_pieces)
    sides = [
        _words(ids, vocabulary, first.planned.masked, text, {})
        for ids, vocabulary, text in zip(
            (first.planned.ids, first.ids), vocabularies, (first.sentence, first.shown), strict=True
        )
    ]
    (source, of_source), (target, of_target) = sides
    generator = np.random.default_rng(1)
    for _ in range(20):
        weights = generator.random((len(first.ids), len(first.planned.ids))).astype(np.float32) ** 4
        looked: dict[tuple[int, int], float] = {}
        for row, to in enumerate(of_target):
            for column, come_from in enumerate(of_source):
                if to is not None and come_from is not None:
                    looked[to, come_from] = looked.get((to, come_from), 0.0) + float(weights[row, column])
        expected = set()
        for (to, come_from), weight in looked.items():
            total = sum(other for (word, _), other in looked.items() if word == to)
            ours, theirs = source[come_from], target[to]
            if ours is not None and theirs is not None and weight >= LEAST * total > 0:
                expected.add((ours, theirs))
        assert aligned_pairs(first, vocabularies, weights) == tuple(sorted(expected))


def test_batches_have_all_items_and_are_not_too_large(translator: Translator) -> None:
    items = [item(translator, "Yes. " * 5 if count % 3 else "Yes.", "Ja " * count) for count in range(1, 90)]
    items = [entry for entry in items if len(entry.planned.ids)]
    batches = list(_batches([(entry.planned.ids, entry.ids) for entry in items]))
    assert sorted(number for batch in batches for number in batch) == list(range(len(items)))
    for batch in batches:
        longest = max(len(items[number].planned.ids) + len(items[number].ids) for number in batch)
        assert len(batch) == 1 or longest * len(batch) <= MOST_TOKENS
    assert len(batches) > 1


def test_a_model_without_the_graph_says_what_to_do(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translator.worker._backends[0], "aligner", None)
    with pytest.raises(CannotAlign, match="has no graph that aligns words: repeat `ringmt export`"):
        asyncio.run(translator.translate(TextRequest(["Yes."], translator.options(), aligns=True)))
    outcome = asyncio.run(
        translate_markup(translator, TextRequest(["<p><b>Yes</b>, today.</p>"], translator.options()), "html")
    )
    assert outcome.translations[0].text.count("<b>") == 1
