from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.base.pieces import Pieces
from server.text.protect.restoring import restore
from server.text.split.plan import TextPlan, plan_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


def join(plan: TextPlan, targets: Sequence[str]) -> str:
    """The text with the restored `targets` of a model in place of its sentences."""
    pairs = zip(plan.planned, targets, strict=True)
    return plan.fill([restore(sentence.masked, target).text for sentence, target in pairs])


@given(text=ANY_TEXT, limit=st.integers(2, 30))
def test_sources_rejoin_to_the_text(pieces: Pieces, text: str, limit: int) -> None:
    plan = plan_text(text, "en", pieces, limit)
    assert plan.fill(plan.sentences) == text
    translated = join(plan, [sentence.masked.text for sentence in plan.planned])
    assert translated.replace("\u00ad", "") == text.replace("\u00ad", "")  # the model does not read soft hyphens


@given(text=ANY_TEXT, limit=st.integers(2, 30))
def test_every_sentence_fits_the_model(pieces: Pieces, text: str, limit: int) -> None:
    plan = plan_text(text, "en", pieces, limit)
    assert len(plan.sentences) == len(plan.source_ids)
    assert all(2 <= len(ids) <= limit and ids[-1] == pieces.eos_id for ids in plan.source_ids)


@given(text=ANY_TEXT)
def test_gaps_survive_a_translation(pieces: Pieces, text: str) -> None:
    plan = plan_text(text, "en", pieces, 30)
    translated = plan.fill(["X"] * len(plan.source_ids))
    gaps = [segment.text for segment in plan.segments if not segment.is_sentence]
    assert len(translated) == len(plan.source_ids) + sum(map(len, gaps))
    position = 0
    for gap in gaps:
        position = translated.index(gap, position) + len(gap)


def test_a_paragraph(pieces: Pieces) -> None:
    plan = plan_text("Where is it?  Here.\n\nYes.\n", "en", pieces, 64)
    assert plan.sentences == ["Where is it?", "Here.", "Yes."]
    assert join(plan, ["Wo ist es?", "Hier.", "Ja."]) == "Wo ist es?  Hier.\n\nJa.\n"


def test_a_character_of_too_many_pieces_is_a_gap(pieces: Pieces) -> None:
    text = "\u33c2"  # One character that NFKC spells out as "a.m.".
    assert pieces.lengths([text])[0] > 4
    plan = plan_text(text, "en", pieces, 4)
    assert plan.sentences == []
    assert join(plan, []) == text


def test_a_sentence_in_another_script_is_read_as_a_mask(pieces: Pieces) -> None:
    plan = plan_text("Yes. \u041d\u0435\u0442, \u043d\u0435 \u0442\u0443\u0442! Here.", "en", pieces, 64)
    assert [sentence.masked.text for sentence in plan.planned] == ["Yes.", "X1!", "Here."]
    assert join(plan, ["Ja.", "X1!", "Hier."]) == "Ja. \u041d\u0435\u0442, \u043d\u0435 \u0442\u0443\u0442! Hier."


def test_what_is_protected_comes_through(pieces: Pieces) -> None:
    text = "\U0001f44d Yes, {name}! \U0001f389\nhttps://example.org/a\nThey lit the lamp <b>again</b>. \u2728"
    plan = plan_text(text, "en", pieces, 64)
    assert plan.sentences == ["Yes, {name}!", "They lit the lamp <b>again</b>."]
    targets = ["Ja, X1!", "Sie z\u00fcndeten X1 wieder X2 die Lampe an."]
    assert join(plan, targets) == (
        "\U0001f44d Ja, {name}! \U0001f389\nhttps://example.org/a\nSie z\u00fcndeten <b>wieder</b> die Lampe an. \u2728"
    )


def test_sentences_are_not_cut_inside_what_is_protected(pieces: Pieces) -> None:
    plan = plan_text('See <a title="Yes. Here. Now">this</a>. Then {{ a. B }} goes.', "en", pieces, 64)
    assert plan.sentences == ['See <a title="Yes. Here. Now">this</a>.', "Then {{ a. B }} goes."]


def test_quotes_are_read_as_the_vocabulary_spells_them(pieces: Pieces) -> None:
    assert not pieces.spells("\u2019")
    [curly] = plan_text("It isn\u2019t here.", "en", pieces, 64).source_ids
    [straight] = plan_text("It isn't here.", "en", pieces, 64).source_ids
    assert curly == straight


def test_a_long_sentence_is_split_and_flagged(pieces: Pieces) -> None:
    plan = plan_text("Yes, it is here, and they lit the lamp, and it is now. Yes.", "en", pieces, 16)
    assert [sentence.is_cut for sentence in plan.planned] == [True] * (len(plan.planned) - 1) + [False]
    assert len(plan.planned) > 2


def test_a_long_sentence_is_split_alike_for_models_whose_sources_have_no_eos(vocabulary: Path, pieces: Pieces) -> None:
    """Also one whose words are single pieces."""
    text, without = "is cold a " * 60 + "is", Pieces(vocabulary, ends_with_eos=False)
    assert pieces.num_pieces("cold") == 1
    parts = plan_text(text, "en", pieces, 16)
    shorter = plan_text(text, "en", without, 16)
    assert shorter.sentences == parts.sentences
    assert len(parts.sentences) < 30
    assert [[*ids, pieces.eos_id] for ids in shorter.source_ids] == [[*ids] for ids in parts.source_ids]
    assert plan_text("cold", "en", without, 16).sentences == ["cold"]


@pytest.mark.parametrize("limit", [8, 40])
def test_a_long_url_is_one_piece_of_a_sentence(pieces: Pieces, limit: int) -> None:
    text = f"Yes, {'https://example.org/' + 'a' * 500} here."
    plan = plan_text(text, "en", pieces, limit)
    translated = join(plan, [sentence.masked.text for sentence in plan.planned])
    assert translated.replace("\u00ad", "") == text.replace("\u00ad", "")  # the model does not read soft hyphens
    assert sum("example.org" in sentence for sentence in plan.sentences) <= 1


@pytest.mark.parametrize(
    ("text", "limit", "target", "expected"),
    [
        ("Stuhl", 30, "chair", "Chair"),
        ("http://a.org fehlt", 30, "X1 lacks", "http://a.org lacks"),
        ("Xaver fehlt", 30, "he lacks", "He lacks"),
    ],
)
def test_a_sentence_begins_as_its_source(pieces: Pieces, text: str, limit: int, target: str, expected: str) -> None:
    [planned] = plan_text(text, "de", pieces, limit).planned
    ids = pieces.encode([target])[0][:-1]
    assert planned.restore(ids, pieces).text == expected
    assert planned.restore_partial(ids, pieces) in (expected, "")


def test_a_part_of_a_sentence_begins_as_the_model_has_it(pieces: Pieces) -> None:
    """It may be in the middle of the sentence."""
    plan = plan_text("Hunde und Katzen und Hunde und Katzen und Hunde und Katzen", "de", pieces, 12)
    assert len(plan.planned) > 1
    ids = pieces.encode(["dogs"])[0][:-1]
    assert {planned.restore(ids, pieces).text for planned in plan.planned} == {"dogs"}


def test_after_a_prefix_nothing_is_raised(pieces: Pieces) -> None:
    [planned] = plan_text("Stuhl", "de", pieces, 30).with_prefix("the ", pieces).planned
    ids = (*planned.prefix_ids, *pieces.encode(["chair"])[0][:-1])
    assert planned.restore(ids, pieces).text.startswith("the ")
    assert not planned.restore(ids, pieces).text.endswith("Chair")
