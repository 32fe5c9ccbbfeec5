"""Which languages texts are detected to be in: served ones, the target, or none of these."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.admission.detection import Detected, detect, detect_sources

ITALIAN = "Il gatto dorme sul divano e non vuole mangiare."
GERMAN = "Wo ist der Bahnhof, und wann kommt der Zug?"
ENGLISH = "Where is the station, and when does the train leave?"
LABELS = [
    "Save changes",
    "Open file",
    "Gift",
    "Finger",
    "hello handsome",
    "Pfannkuchen",
    "Close the window",
    "Settings",
]


def sources_of(texts: Sequence[str], sources: Sequence[str] = ("en",), target: str = "de") -> list[Detected]:
    return asyncio.run(detect_sources(texts, sources, target))


@pytest.mark.parametrize("sources", [["en"], ["en", "fr"], ["pt-BR"], ["tlh"]])
def test_a_language_that_is_not_served_is_none_that_is(sources: list[str]) -> None:
    [detected] = sources_of([ITALIAN], sources)
    assert detected.language in sources
    assert detected.confidence < 5
    assert detected.foreign == "it"


def test_served_languages_and_the_target_are_sure() -> None:
    detected = sources_of([ENGLISH, GERMAN])
    assert [(item.language, item.foreign) for item in detected] == [("en", None), ("de", None)]
    assert all(detection.confidence > 90 for detection in detected)


def test_labels_are_in_the_language_that_they_are_in_together() -> None:
    detected = sources_of(LABELS)
    assert [item.language for item in detected] == ["en"] * len(LABELS)
    assert all(
        detection.confidence < 50
        for detection, label in zip(detected, LABELS, strict=True)
        if label in ("Gift", "Finger")
    )
    assert sources_of([*LABELS, GERMAN, ITALIAN])[-2:] == sources_of([GERMAN, ITALIAN])


def test_a_text_alone_or_beside_the_target_language_has_its_own() -> None:
    assert sources_of(["Yes."])[0].language == "en"
    assert sources_of([GERMAN, "Yes."])[1].language == "en"
    assert sources_of(["12:30"]) == [Detected("en", 0.0)]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([*LABELS, ENGLISH, GERMAN, ITALIAN, "12", ""]), max_size=6))
def test_every_text_gets_a_served_language_and_a_confidence(texts: list[str]) -> None:
    detected = sources_of(texts, ["en", "fr"])
    assert len(detected) == len(texts)
    for text, detection in zip(texts, detected, strict=True):
        assert detection.language in ("en", "fr", "de")
        assert 0 <= detection.confidence <= 100
        assert (detection.foreign == "it") == (text == ITALIAN)


def test_the_confidence_is_the_probability_among_all_languages() -> None:
    assert asyncio.run(detect(ITALIAN, ["en", "de"])).confidence < 5
    assert asyncio.run(detect(ITALIAN, ["en", "it"])).confidence > 90
