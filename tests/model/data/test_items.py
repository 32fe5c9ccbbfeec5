"""Items of contrastive sets."""

import json

import pytest

from model.data.corpus import CorpusError
from model.data.items import ContrastiveItem, parse_item, sentences

ITEM = {"src": "a", "ref": "b", "contrastive": ["c", "d"], "src_context": ["x", "y"]}
NOUN = {"noun": "dog", "translation": "Hund"}


def parsed(**changes: object) -> ContrastiveItem:
    return parse_item(json.dumps(ITEM | changes), "set, line 3")


@pytest.mark.parametrize("value", [None, "", [], ["u"], "u", ["u", "v"], ["u", "v", "w"]])
def test_a_context_has_as_many_translations_as_sentences_or_none(value: object) -> None:
    if len(sentences(value)) in (0, 2):
        assert parsed(ref_context=value).reference_context == sentences(value)
        return
    with pytest.raises(CorpusError, match=r"set, line 3: src_context and ref_context differ"):
        parsed(ref_context=value)


@pytest.mark.parametrize("sentence", [-1, 0, 1, 2])
def test_an_antecedent_is_in_the_context(sentence: int) -> None:
    if sentence in (0, 1):
        antecedent = parsed(antecedent=NOUN | {"sentence": sentence}).antecedent
        assert antecedent is not None
        assert (antecedent.sentence, antecedent.noun, antecedent.translation) == (sentence, "dog", "Hund")
        return
    with pytest.raises(CorpusError, match="set, line 3: its antecedent is in a sentence"):
        parsed(antecedent=NOUN | {"sentence": sentence})


@pytest.mark.parametrize("missing", ["src", "ref", "contrastive"])
def test_what_an_item_lacks_is_named(missing: str) -> None:
    empty: tuple[object, ...] = (None, "", [])
    for value in empty:
        with pytest.raises(CorpusError, match=f"set, line 3 lacks '{missing}'"):
            parsed(**{missing: value})


def test_what_is_no_object_says_where() -> None:
    for line in ("{", "[1]", "3"):
        with pytest.raises(CorpusError, match="set, line 3"):
            parse_item(line, "set, line 3")
    assert parsed(contrastive="c").wrong == ("c",)
    assert parsed(gender="f", other=1).groups == (("gender", "f"),)
