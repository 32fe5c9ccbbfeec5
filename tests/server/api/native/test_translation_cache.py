"""The cache behind the routes: the same answers, fewer searches, and what it gives on text that repeats itself."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, ready, settings_for

REPEATS = Path(__file__).parents[3] / "sample" / "manual.en"
"""Interface strings and steps of a manual."""
HITS, MISSES = 19, 40
ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def caching(document_artifact: Path) -> Iterator[RunningServer]:
    plain = settings_for(document_artifact)
    with ready(
        dataclasses.replace(plain, engine=dataclasses.replace(plain.engine, translation_cache_bytes=10**6))
    ) as first:
        yield first


def lookups(server: RunningServer, result: str) -> float:
    return server.metric("translation_cache_lookups_total", result=result, model="documents")


def without_timings(answer: dict[str, Any]) -> dict[str, Any]:
    """What must be the same however it was found: all but times, and scores to the last bits that rounding has."""
    answer.pop("timings", None)

    def rounded(value: Any) -> Any:
        match value:
            case float():
                return round(value, 2)
            case dict():
                return {name: rounded(item) for name, item in value.items()}
            case list():
                return [rounded(item) for item in value]
        return value

    results: dict[str, Any] = rounded(answer)
    return results


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"beam_size": 1},
        {"num_hypotheses": 3, "length_penalty": 0.0},
        {"max_length": 4},
        {"context": "We walk home in the rain."},
        {"context": ["Yes.", "Where is the station?"], "num_hypotheses": 2},
    ],
)
def test_answers_are_the_same_from_the_cache(
    caching: RunningServer, document_server: RunningServer, fields: dict[str, Any]
) -> None:
    text = " ".join(SENTENCES[:5])
    plain = without_timings(document_server.translate(text, **fields).json())
    first = without_timings(caching.translate(text, **fields).json())
    hits = lookups(caching, "hit")
    again = caching.translate(text, **fields).json()
    assert lookups(caching, "hit") - hits >= 5
    assert again["timings"]["decode"] == 0
    assert plain == first
    assert first == without_timings(again)


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_a_document_that_comes_again_is_not_decoded_again(caching: RunningServer, mode: str) -> None:
    body = {"sentences": SENTENCES[:6], "source": "en", "target": "de", "mode": mode, "wait": True, "explain": True}
    # A sentence that sees the first five is the same in either mode: another one for each.
    other = {**body, "sentences": (*SENTENCES[:5], SENTENCES[7 if mode == "offline" else 8])}
    with caching.client() as client:
        first = client.post("/v1/documents", json=body).json()["sentences"]
        misses = lookups(caching, "miss")
        again = client.post("/v1/documents", json=body).json()["sentences"]
        assert lookups(caching, "miss") == misses
        assert [item["translation"] for item in first] == [item["translation"] for item in again]
        assert [sentence["context_used"] for sentence in first] == [sentence["context_used"] for sentence in again]
        client.post("/v1/documents", json=other)
        # Offline every sentence sees the one that changed, online only those after it would.
        assert lookups(caching, "miss") - misses == (6 if mode == "offline" else 1)


def test_concurrent_requests_for_one_sentence_cost_one_search(caching: RunningServer) -> None:
    text = "The children gave the old man some bread."
    before = {result: lookups(caching, result) for result in ("hit", "shared", "miss")}
    with ThreadPoolExecutor(8) as pool:
        answers = [response.json()["translations"] for response in pool.map(caching.translate, [text] * 8)]
    assert all(answer == answers[0] for answer in answers)
    results = {result: lookups(caching, result) - before[result] for result in before}
    assert results["miss"] == 1
    assert results["hit"] + results["shared"] == 7


def test_it_stays_within_its_bytes(caching: RunningServer) -> None:
    assert caching.translate("Yes.").status_code == 200
    budget = caching.metric("translation_cache_limit_bytes", model="documents")
    assert 0 < caching.metric("translation_cache_bytes", model="documents") <= budget == 10**6


def test_turned_off_it_is_not_there(document_server: RunningServer) -> None:
    before = {result: lookups(document_server, result) for result in ("hit", "shared", "miss")}
    assert document_server.translate(["Yes.", "Yes."]).json()["timings"]["decode"] > 0
    assert document_server.translate("Yes.").json()["timings"]["decode"] > 0
    assert before == {result: lookups(document_server, result) for result in ("hit", "shared", "miss")} == {
        "hit": 0, "shared": 0, "miss": 0,
    }  # fmt: skip
    assert document_server.metric("translation_cache_limit_bytes", model="documents") == 0


def test_a_third_of_a_manual_is_there_already(caching: RunningServer) -> None:
    """The figures of server/RESULTS.md."""
    lines = REPEATS.read_text(encoding="utf-8").splitlines()
    before = {result: lookups(caching, result) for result in ("hit", "miss")}
    for line in lines:
        assert caching.translate(line).status_code == 200
    actual = {result: int(lookups(caching, result) - before[result]) for result in before}
    assert actual == {"hit": HITS, "miss": MISSES}
    results = (ROOT / "server/RESULTS.md").read_text(encoding="utf-8")
    assert f"{HITS} of {HITS + MISSES}" in results
