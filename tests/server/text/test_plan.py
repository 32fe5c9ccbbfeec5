import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.pieces import EOS_ID, Pieces
from server.text.plan import plan_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


@given(text=ANY_TEXT, limit=st.integers(2, 30))
def test_sources_rejoin_to_the_text(pieces: Pieces, text: str, limit: int) -> None:
    plan = plan_text(text, "en", pieces, limit)
    assert plan.join(plan.sentences) == text


@given(text=ANY_TEXT, limit=st.integers(2, 30))
def test_every_sentence_can_be_read(pieces: Pieces, text: str, limit: int) -> None:
    plan = plan_text(text, "en", pieces, limit)
    assert list(plan.source_ids) == pieces.encode(plan.sentences)
    assert all(2 <= len(ids) <= limit and ids[-1] == EOS_ID for ids in plan.source_ids)


@given(text=ANY_TEXT)
def test_gaps_survive_a_translation(pieces: Pieces, text: str) -> None:
    plan = plan_text(text, "en", pieces, 30)
    translated = plan.join(["X"] * len(plan.source_ids))
    gaps = [segment.text for segment in plan.segments if not segment.is_sentence]
    assert len(translated) == len(plan.source_ids) + sum(map(len, gaps))
    position = 0
    for gap in gaps:
        position = translated.index(gap, position) + len(gap)


def test_a_paragraph(pieces: Pieces) -> None:
    plan = plan_text("Where is it?  Here.\n\nYes.\n", "en", pieces, 64)
    assert plan.sentences == ["Where is it?", "Here.", "Yes."]
    assert plan.join(["Wo ist es?", "Hier.", "Ja."]) == "Wo ist es?  Hier.\n\nJa.\n"


def test_a_character_of_too_many_pieces_is_a_gap(pieces: Pieces) -> None:
    text = "\ufdfa"  # One character that NFKC spells out as eighteen.
    assert pieces.lengths([text])[0] > 8
    plan = plan_text(text, "en", pieces, 8)
    assert plan.sentences == []
    assert plan.join([]) == text


def test_the_number_of_targets_must_fit(pieces: Pieces) -> None:
    with pytest.raises(ValueError, match="0 targets for 1 sentences"):
        plan_text("Yes.", "en", pieces, 8).join([])
