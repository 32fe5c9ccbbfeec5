"""Text is cut and joined as sacremoses does it, which takes longer for some texts."""

from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

from server.subwords import moses as module
from server.subwords.byte_pairs import SubwordsError
from server.subwords.moses import Moses, MosesText
from tests.growth import assert_linear
from tests.subwords import TEXT

LANGUAGES = ("en", "de", "fr", "it", "es", "cs", "fi", "zh", "ja", "ko", "pt", "pb", "xx")
TOKENS = (
    "a", "B", "\u00e9", "don't", "l'", "'s", " ", "  ", ".", "...", '."', '"', ",", "5,3", "1.5", "z.B.", "Mr.",
    "No. 5",
    "-", "a-b", "@-@", "&", "<", "&apos;", "\u201e", "\u201c", "\u2019", "\u00ab\u00a0", "\u00a0", "\t", "\n", "\x07",
    "\u3002", "\uff01", "\u6f22\u5b57", "\u304b\u306a", "\ud55c", "\U0001f600", "\u0301", "\u200b", "|", "[", "]",
    "(", ")",
    "USA:n", "EU", ":", "``", "''", "\u20ac", "%", "\u0939\u093f",
)  # fmt: skip
lines = st.lists(st.sampled_from(TOKENS) | st.text(max_size=3), max_size=24).map("".join)


@cache
def tokenizer_of(language: str) -> Any:
    return MosesTokenizer(language)


def expected(moses: Moses, text: str) -> list[str]:
    normalizer = MosesPunctNormalizer(
        moses.language, pre_replace_unicode_punct=moses.replaces_unicode, post_remove_control_chars=False
    )
    if moses.normalizes:
        text = normalizer.normalize(text)
    words: list[str] = tokenizer_of(moses.language).tokenize(
        text, aggressive_dash_splits=moses.splits_dashes, escape=moses.escapes
    )
    return words


@cache
def made(language: str) -> tuple[MosesText, ...]:
    """Chinese takes a second of a core: large patterns."""
    return (
        MosesText(Moses(language, normalizes=True)),
        MosesText(Moses(language, replaces_unicode=True, normalizes=True, splits_dashes=True)),
        MosesText(Moses(language, escapes=False)),
    )


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=150)
@given(text=lines)
@example('a..."b.."." c')
@example('."<')
def test_text_is_cut_and_joined_as_sacremoses_does_it(language: str, text: str) -> None:
    detokenizer = MosesDetokenizer(language)
    for ours in made(language):
        words = ours.words(text)
        assert words == expected(ours._moses, text)
        assert ours.text(words) == detokenizer.detokenize(words)


def test_control_characters_become_blanks_before_punctuation_is_normalized() -> None:
    """As remove-non-printing-char.perl, which comes first in the scripts of OPUS-MT; sacremoses drops them last."""
    ours = MosesText(Moses("en", removes_control=True, normalizes=True))
    assert ours.words("a\x07b \u200bc\ud800 d\ue000e") == ["a", "b", "c", "d", "e"]


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(SubwordsError, match=r"needs the package sacremoses.*pip install 'ringmt\[moses\]'"):
        MosesText(Moses("en"))


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_text_is_cut_and_joined_in_linear_time(language: str) -> None:
    ours = MosesText(Moses(language, True, True, True, True))
    assert_linear(lambda text: ours.text(ours.words(text)), TOKENS, count=12)
    assert len(ours.words(" ".join(TEXT))) > 20
