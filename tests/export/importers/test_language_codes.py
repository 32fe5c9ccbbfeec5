"""Codes of the languages of models with many: short, each another one, found by whatever a person writes."""

import pytest
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M100_AND_WMT21
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB

from export.importers import ImportRefused
from export.importers.language_codes import codes_of, found_in, kept_of, named
from export.importers.m2m100.folder import LANGUAGES
from server.api.serving.language_codes import served_code

KNOWN = {
    "deu_Latn": "de", "eng_Latn": "en", "zho_Hans": "zh", "zho_Hant": "zh-Hant", "arb_Arab": "ar", "zsm_Latn": "ms",
    "pes_Arab": "fa", "prs_Arab": "prs", "aka_Latn": "ak", "twi_Latn": "twi", "kor_Hang": "ko", "tgl_Latn": "tl",
    "nob_Latn": "nb", "nno_Latn": "nn", "kas_Arab": "ks", "kas_Deva": "ks-Deva", "acm_Arab": "acm", "jpn_Jpan": "ja",
    "ace_Latn": "ace", "ace_Arab": "ace-Arab", "yue_Hant": "yue", "als_Latn": "sq", "lvs_Latn": "lv",
}  # fmt: skip


def test_all_languages_of_nllb_have_codes_of_their_own_that_requests_find() -> None:
    codes = codes_of(NLLB)
    assert {name: codes[name] for name in KNOWN} == KNOWN
    assert len({*codes.values()}) == len(NLLB)
    assert codes_of(reversed(NLLB)) == codes
    served = [*codes.values()]
    for name, code in codes.items():
        assert found_in(name, served) == found_in(code.upper(), served) == code
        assert served_code(code, served) == code
    wrong = {name: served_code(name, served) for name in NLLB if served_code(name, served) != codes[name]}
    # The server's tables know these as others: a dialect as its language, a script that is no language's usual one.
    assert len(wrong) <= 4, wrong


def test_languages_of_m2m100_are_those_of_transformers_in_their_order() -> None:
    assert {name: codes.split() for name, codes in LANGUAGES.items()} == M2M100_AND_WMT21
    codes = codes_of(LANGUAGES["m2m100"].split())
    assert {name: code for name, code in codes.items() if name != code} == {"ns": "nso"}


def test_names_of_one_language_share_it_by_what_tells_them_apart() -> None:
    assert codes_of(["cmn_Hans", "cmn_Hant", "por", "pt_br", "ROMANCE", "srp_Latn"]) == {
        "cmn_Hans": "zh", "cmn_Hant": "zh-Hant", "por": "pt", "pt_br": "pt-br", "ROMANCE": "ROMANCE",
        "srp_Latn": "sr-Latn",
    }  # fmt: skip


def test_a_list_keeps_what_it_names_once_and_refuses_the_rest() -> None:
    codes = ["de", "zh", "zh-Hant", "nb"]
    assert kept_of(codes, None, "m") == codes
    assert kept_of(codes, " deu_Latn, de,zho_Hant ,no,", "m") == ["de", "zh-Hant", "nb"]
    for name in ("it", "de_Cyrl"):
        with pytest.raises(ImportRefused, match=f"m has no language '{name}'; it has de, nb, zh, zh-Hant"):
            kept_of(codes, f"de,{name}", "m")


def test_words_that_are_language_tokens() -> None:
    words = ("__de__", "deu_Latn", ">>cmn_Hans<<", "de", "<unk>", "__", ">><<", "Deu_latn")
    assert [named(word) for word in words] == ["de", "deu_Latn", "cmn_Hans", None, None, None, None, None]
