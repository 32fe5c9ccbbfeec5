from server.text.base.placeholders import term_placeholders
from server.text.protect.pivot_placeholders import PivotPlaceholders
from server.text.protect.terms import Terms


def test_placeholders_of_the_sentences_are_not_used_for_terms() -> None:
    first = next(term_placeholders())
    sentence = f"A Ring and {first}."
    terms = PivotPlaceholders(Terms({"Ring": "Kreis"}), [sentence])
    [match] = terms.find(sentence)
    assert match.target != first
    assert terms.fill_terms(sentence, f"Ein {match.target} und {first}.") == f"Ein Kreis und {first}."
