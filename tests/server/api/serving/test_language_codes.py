"""Codes of clients against codes that are served."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.api.serving.language_codes import base_pairs, served_code, translates
from server.api.serving.language_names import NAMES
from server.text.base.language_tags import LONGEST_CODE, Tag, base_language
from tests.growth import assert_linear

REGIONS = st.sampled_from(["", "-US", "_GB", "-de", "-419", "-Latn", "_Latn_DE", "-x-private", "-1996"])


@given(language=st.sampled_from(sorted(NAMES)), region=REGIONS, upper=st.booleans())
def test_any_region_falls_back_to_the_language(language: str, region: str, upper: bool) -> None:
    code = language + region
    assert served_code(code.upper() if upper else code, NAMES) == language


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("pt-BR", "pt"),
        ("pt_br", "pt"),
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zh-Hans", "zh"),
        ("zh-TW", "zh-hant"),
        ("zh_Hant_HK", "zh-hant"),
        ("zt", "zh-hant"),
        ("sr", "sr"),
        ("sr-Cyrl-RS", "sr"),
        ("sr-Latn", "sr-latn"),
        ("eng_Latn", "en"),
        (" DEU", "de"),
        ("nb", "no"),
        ("English", "english"),
        ("auto-x", "auto"),
        ("de" + "-abcd" * LONGEST_CODE, "de"),
        ("", ""),
    ],
)
def test_the_language_without_region(code: str, expected: str) -> None:
    assert base_language(code) == base_language(base_language(code)) == expected


def test_pairs_are_translated_in_their_scripts() -> None:
    known = {"en-US": ["zh-Hant", "pt-BR"]}
    assert base_pairs([("en-US", "zh-Hant"), ("en", "zh-TW"), ("en", "zh")]) == [("en", "zh-hant"), ("en", "zh")]
    assert translates(known, ("en", "pt"))
    assert translates(known, ("en", "zh-hant"))
    assert not translates(known, ("en", "zh"))


@given(served=st.lists(st.sampled_from(["en", "en-US", "pt-BR", "pt", "zh-Hant", "sr", "x"]), unique=True))
def test_what_is_served_is_named_by_itself_in_any_spelling(served: list[str]) -> None:
    for code in served:
        assert {served_code(other, served) for other in (code, code.upper(), code.replace("-", "_"))} == {code}


@pytest.mark.parametrize(
    ("requested", "served", "expected"),
    [
        ("pb", "pt", "pt"),
        ("pb", "pt pt-BR", "pt-BR"),
        ("zt", "zh zh-Hant", "zh-Hant"),
        ("pt", "pt-BR", "pt-BR"),
        ("en-GB", "en-US", "en-US"),
        ("zh-TW", "zh-Hans zh-Hant", "zh-Hant"),
        ("zh-CN", "zh-Hant zh-Hans", "zh-Hans"),
        ("zh-HK", "zh", "zh"),
        ("zh-TW", "zh-Hans", None),
        ("sr-Latn", "sr-Cyrl", None),
        ("cmn", "zh", "zh"),
        ("eng_Latn", "en", "en"),
        ("deu_Latn", "de", "de"),
        ("zho_Hant", "zh-Hans zh-Hant", "zh-Hant"),
        ("arb_Arab", "ar", "ar"),
        ("als_Latn", "sq", "sq"),
        ("iw", "he", "he"),
        ("nb", "da no", "no"),
        ("no", "da nb", "nb"),
        ("nn", "no nb", None),
        ("yue", "zh", None),
        ("zz", "de en", None),
        ("english", "en", None),
        ("", "en", None),
        ("\ud800", "en", None),
        ("de\n", "de", None),
        ("de" + "-abcd" * LONGEST_CODE, "de", None),
    ],
)
def test_codes_of_clients(requested: str, served: str, expected: str | None) -> None:
    assert served_code(requested, served.split()) == expected


def test_reading_a_code_takes_linear_time() -> None:
    tokens = ["a", "-", "_", "de", "-Latn", "-US", "-419", "x", "\n", "\u0130", "1"]
    assert_linear(lambda text: served_code(text, ["de", "zh-Hant"]), tokens, ordinary=None)
    assert_linear(lambda text: Tag.of(text[:LONGEST_CODE]), tokens, count=10, ordinary=None)


@pytest.mark.parametrize("served", [["pt-BR", "pt"], ["pt", "pt-BR"]])
def test_a_code_without_region_comes_before_another_region(served: list[str]) -> None:
    assert served_code("pt-PT", served) == "pt"
    assert served_code("pt-BR", served) == "pt-BR"
    assert served_code("PT_br", served) == "pt-BR"
