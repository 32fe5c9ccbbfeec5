"""Terms of glossaries: decoded and indexed once for a version of the glossaries, whoever writes them."""

import asyncio
import dataclasses
from collections.abc import Mapping

import pytest

from server.glossaries import service
from server.glossaries.service import Dictionary, Glossary, GlossaryService, NoDictionary
from server.glossaries.terms_cache import TermsCache
from server.stores.glossaries import GlossaryLimits, UnknownGlossary
from server.stores.open_store import open_store
from server.text.protect.terms import Terms

LIMITS = GlossaryLimits(10, 10**6)
TEXT = "bread and milk"


@pytest.fixture
def decodes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the glossaries that were decoded."""
    names: list[str] = []

    def decoded(body: str) -> Glossary:
        glossary = real(body)
        names.append(glossary.name)
        return glossary

    real = service._decoded
    monkeypatch.setattr(service, "_decoded", decoded)
    return names


def german(entries: Mapping[str, str]) -> Dictionary:
    return Dictionary("en", "de", entries)


def translations(terms: Terms) -> list[str]:
    return [match.target for match in terms.find(TEXT)]


def test_a_glossary_is_decoded_once_for_a_version(store_url: str, decodes: list[str]) -> None:
    """Changes by another process (another store of the same documents, where it is not memory) are seen at once."""
    store = open_store(store_url)
    other = store if store_url == "memory://" else open_store(store_url)
    glossaries, elsewhere = GlossaryService(store.glossaries, LIMITS), GlossaryService(other.glossaries, LIMITS)

    async def scenario() -> None:
        first = await glossaries.create("shop", "first", [german({"bread": "Brot"})])
        second = await glossaries.create("shop", "second", [german({"bread": "Laib", "milk": "Milch"})])

        async def translated(*ids: str) -> list[str]:
            return translations(await glossaries.terms("shop", ids, "en", "de"))

        decodes.clear()
        for _ in range(3):
            assert await translated(first.id) == ["Brot"]
            assert await translated(first.id, second.id) == ["Brot", "Milch"]
            assert await translated(second.id, first.id) == ["Laib", "Milch"]
        assert sorted(decodes) == ["first"] * 3 + ["second"] * 2
        await elsewhere.change("shop", first.id, lambda old: old.with_entries(german({"bread": "Brote"})))
        decodes.clear()
        for _ in range(3):
            assert await translated(first.id) == ["Brote"]
        assert decodes == ["first"]
        decodes.clear()
        await elsewhere.change("shop", first.id, lambda old: old.with_entries(german({"bread": "Stulle"})))
        assert await asyncio.gather(*(translated(first.id) for _ in range(5))) == [["Stulle"]] * 5
        assert decodes.count("first") <= 2, "one by the change, one for all requests"
        await elsewhere.change("shop", first.id, lambda old: dataclasses.replace(old, dictionaries=()))
        with pytest.raises(NoDictionary):
            await translated(first.id)
        await elsewhere.delete("shop", second.id)
        with pytest.raises(UnknownGlossary):
            await translated(second.id)
        with pytest.raises(UnknownGlossary):
            await glossaries.terms("desk", (first.id,), "en", "de")

    try:
        asyncio.run(scenario())
    finally:
        for opened in {store, other}:
            opened.close()


def test_the_cache_of_terms_keeps_to_its_budget() -> None:
    cache = TermsCache(budget_bytes=100)
    terms = [Terms({"bread": str(number)}) for number in range(4)]

    def key(number: int) -> tuple[str, tuple[str, ...], str, str]:
        return "shop", (str(number),), "en", "de"

    for number in range(3):
        cache.put(key(number), ("1",), terms[number], 40)
    assert [cache.get(key(number), ("1",)) for number in range(3)] == [None, terms[1], terms[2]]
    assert cache.get(key(1), ("2",)) is None
    cache.get(key(1), ("1",))
    cache.put(key(0), ("1",), terms[0], 40)
    assert [cache.get(key(number), ("1",)) for number in range(3)] == [terms[0], terms[1], None]
    cache.put(key(1), ("2",), terms[3], 101)
    assert (cache.get(key(1), ("1",)), cache.get(key(1), ("2",)), cache.num_bytes) == (None, None, 40)
