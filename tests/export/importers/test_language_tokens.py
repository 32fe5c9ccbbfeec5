"""Which language token stands before the sources of an imported model."""

from pathlib import Path

import pytest

from export.importers import ImportRefused
from export.importers.language_tokens import prefix_of
from server.artifact.language_tokens import LanguageTokens

HERE = Path("model")


def test_the_token_of_the_target_or_the_named_one_is_taken() -> None:
    words = {"a": 0, ">>de<<": 1, ">>fra<<": 2}
    assert prefix_of(words, "de", None, HERE) == (1,)
    assert prefix_of(words, "de", "fra", HERE) == prefix_of(words, "de", ">>fra<<", HERE) == (2,)
    assert prefix_of(words, "de", "none", HERE) == ()
    assert prefix_of({"a": 0}, "de", None, HERE) == ()


@pytest.mark.parametrize("words", [{">>deu<<": 1}, {">>deu<<": 1, ">>fra<<": 2}])
def test_the_token_is_found_by_any_code_and_a_choice_is_asked_for_where_none_is_the_targets(
    words: dict[str, int],
) -> None:
    assert prefix_of(words, "de", None, HERE) == prefix_of(words, "de-Latn", None, HERE) == (1,)
    with pytest.raises(ImportRefused, match="no language token nl: choose one by --language-token, among deu"):
        prefix_of(words, "nl", None, HERE)
    with pytest.raises(ImportRefused, match="no language token nl"):
        prefix_of(words, "de", "nl", HERE)


@pytest.mark.parametrize(
    ("sources", "targets", "pair"),
    [
        ("de en fr", "de en fr", ("en", "de")),
        ("de en fr", "en", ("de", "en")),
        ("de en fr", "en fr", ("en", "fr")),
        ("de fr", "de fr", ("de", "fr")),
        ("en", "en de", ("en", "de")),
    ],
)
def test_the_pair_of_examples_is_one_that_is_translated(sources: str, targets: str, pair: tuple[str, str]) -> None:
    sides: list[dict[str, tuple[int, ...]]] = [
        {code: (number,) for number, code in enumerate(side.split())} for side in (sources, targets)
    ]
    assert LanguageTokens(sides[0], sides[1], starts_target=True).first_pair == pair
