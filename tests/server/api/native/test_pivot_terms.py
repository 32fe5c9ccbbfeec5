"""Terms of a glossary where two models translate: they are given in the last language, and are in the result."""

import asyncio
import io
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

import deepl
import deepl.http_client
import pytest
from deepl import DeepLClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.text.protect.terms import Terms
from server.translation.pivot import Pivot
from server.translation.planning import TextRequest
from tests.server.api.conftest import RunningServer, until
from tests.server.api.native.test_pivot import DE_FR, real

__all__ = ["real"]
TERMS = {"Bahnhof": "Gare-Sud", "alte Mann": "vieillard", "Brot": "<pain> & co", "C++": "C plus-plus"}
TEXT = "Wo ist der Bahnhof?\n\n  Der alte Mann kauft am Bahnhof Brot. Heute ist es kalt.\n"


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


@pytest.fixture
def client(real: RunningServer) -> Iterator[DeepLClient]:
    client = DeepLClient("a key", server_url=real.url, send_platform_info=False)
    yield client
    for glossary in client.list_multilingual_glossaries():
        client.delete_multilingual_glossary(glossary)


def translation(server: RunningServer, text: str, terms: Mapping[str, str] | None = None, **fields: Any) -> Any:
    glossary = {} if terms is None else {"glossary": dict(terms)}
    answer = server.translate(text, **DE_FR, **glossary, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()["translations"][0]


def test_terms_are_translated_into_the_last_language(real: RunningServer) -> None:
    free, translated_text = translation(real, TEXT), translation(real, TEXT, TERMS)
    assert [translated_text["text"].count(term) for term in TERMS.values()] == [2, 1, 1, 0]
    assert translated_text["text"].count("\n\n  ") == 1
    assert [sentence["source"] for sentence in translated_text["sentences"]] == [
        item["source"] for item in free["sentences"]
    ]
    assert translated_text["sentences"][2] == free["sentences"][2]
    assert translated_text["pivot"] == "en"
    assert all(item["score"] < 0 for item in translated_text["sentences"])


def test_a_translation_that_has_the_terms_by_itself_stays(real: RunningServer) -> None:
    free = translation(real, TEXT)
    word = re.findall(r"\w+", free["sentences"][0]["target"])[-1]
    assert translation(real, TEXT, {"Bahnhof": word})["sentences"][0] == free["sentences"][0]


def test_words_are_kept(real: RunningServer) -> None:
    translated_text = translation(real, "Der Bahnhof von RingMT ist alt. RingMT", keep=["RingMT", "Bahnhof"])
    assert translated_text["text"].count("RingMT") == 2
    assert translated_text["text"].count("Bahnhof") == 1


def test_numbers_in_terms_are_no_changed_numbers(real: RunningServer) -> None:
    translated_text = translation(real, "Wo ist das Modell 2000?", {"Modell 2000": "Modele 2000"})
    assert "Modele 2000" in translated_text["text"]
    assert translated_text["flags"] == []
    assert "numbers_changed" in translation(real, "Wo ist das Modell 2000?", {"Modell 2000": "Modele 3000"})["flags"]


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), tagged=st.booleans())
def test_every_term_is_there_as_often_as_it_was_found(many: RunningServer, seed: int, tagged: bool) -> None:
    """Also of models that say anything, between marks of other things and beside characters that look like marks."""
    generator = random.Random(seed)
    odd = ["https://x.example/Bahnhof", "{name}", "\U000fc000", "\U000f8000", "\U000f0000\U000f4000", "BROT", "Haus."]
    words = ["Wir", "gehen", "im", "Regen", *odd, *(3 * list(TERMS))]
    texts = [" ".join(generator.choice(words) for _ in range(generator.randrange(1, 10))) for _ in range(3)]
    first, second = (many.state.translators[name] for name in ("de-en", "en-fr"))
    terms = Terms(TERMS)
    pivot = Pivot(first, second, second.options(2), terms)
    outcome = asyncio.run(pivot.translate(TextRequest(texts, first.options(2), tagged=tagged)))
    for text, translated in zip(texts, outcome.translations, strict=True):
        wanted = [match.target for match in terms.find(text.replace(odd[0], "-"))]
        for target in set(wanted):
            assert translated.text.count(target) >= wanted.count(target), (text, translated.text)
        for mark in odd[:4]:
            assert translated.text.count(mark) == text.count(mark), (text, translated.text)


def test_deepl_s_glossaries_are_for_such_languages(client: DeepLClient, real: RunningServer) -> None:
    pairs = {(pair.source_lang, pair.target_lang) for pair in client.get_glossary_languages()}
    assert pairs == {("de", "en"), ("de", "fr"), ("en", "fr")}
    glossary = client.create_glossary("ours", "DE", "FR", TERMS)
    parameters = {"source_lang": "DE", "target_lang": "FR", "glossary": glossary}
    [word] = texts(client, [TEXT], parameters)
    assert word == translation(real, TEXT, TERMS)["text"]
    assert [document(client, "a.txt", TEXT, parameters).count(term) for term in TERMS.values()] == [2, 1, 1, 0]
    other = client.create_glossary("theirs", "DE", "EN", {"Bahnhof": "depot"})
    with pytest.raises(deepl.DeepLException, match="no dictionary from de to fr"):
        texts(client, [TEXT], {**parameters, "glossary": other.glossary_id})


def texts(client: DeepLClient, several: list[str], parameters: dict[str, Any]) -> list[str]:
    result = client.translate_text(several, **parameters)
    assert isinstance(result, list)
    return [item.text for item in result]


def document(client: DeepLClient, name: str, content: str, parameters: dict[str, Any]) -> str:
    out = io.BytesIO()
    handle = client.translate_document_upload(content.encode(), filename=name, **parameters)
    until(lambda: client.translate_document_get_status(handle).done, "the document is done")
    client.translate_document_download(handle, out)
    return out.getvalue().decode()


@pytest.mark.parametrize(
    ("page", "tagged"),
    [
        ("Wo ist der <b>Bahnhof</b>?", "<b>Gare-Sud</b>"),
        ("Der <i>alte <b>Mann</b></i> liest ein Buch.", "vieillard"),
        ("Der <b>Bahnhof</b>.", "<b>Gare-Sud</b>"),
        ("Sie verkauft <b>Brot</b> und <i>Milch</i>.", "<b>&lt;pain&gt; &amp; co</b>"),
    ],
)
def test_tags_stand_round_terms_in_texts_and_files(
    client: DeepLClient, real: RunningServer, page: str, tagged: str
) -> None:
    glossary = client.create_glossary("ours", "DE", "FR", TERMS)
    parameters = {"source_lang": "DE", "target_lang": "FR", "glossary": glossary}
    [word] = texts(client, [f"<p>{page}</p>"], {**parameters, "tag_handling": "html"})
    assert tagged in word
    assert word.count("<") == page.count("<") + 2
    assert document(client, "a.html", f"<p>{page}</p>", parameters) == word


def test_a_file_of_several_sentences_has_the_terms_and_leaves_other_sentences(client: DeepLClient) -> None:
    glossary = client.create_glossary("ours", "DE", "FR", TERMS)
    parameters = {"source_lang": "DE", "target_lang": "FR"}
    files = [document(client, "a.txt", TEXT, {**parameters, **more}) for more in ({}, {"glossary": glossary})]
    assert files[0].split(". ")[-1] == files[1].split(". ")[-1]
    assert [files[1].count(term) for term in TERMS.values()] == [2, 1, 1, 0]
