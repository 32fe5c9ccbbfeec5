"""The routing table, compared with a search through all models and all pairs of models."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.api.requests.errors import ApiError
from server.api.serving.routing import OneModel, RoutingTable, TwoModels
from server.settings import EngineSettings
from server.telemetry.labels import ModelState
from server.telemetry.metrics import Metrics
from server.translation.loaded_model import LoadedModel
from server.translation.translator import Translator

LANGUAGES = ("ar", "de", "en", "fr")
STATES: tuple[ModelState, ...] = ("ready", "unloaded", "restarting", "failed")
Spec = tuple[str, str, ModelState]
MakeModels = Callable[[Sequence[Spec]], dict[str, Translator]]


@pytest.fixture(scope="module")
def make_models(tiny_artifact: Path) -> Iterator[MakeModels]:
    """Translators of any languages in any state; they share one engine."""
    loaded = Translator.load(tiny_artifact, EngineSettings(num_workers=1), Metrics())

    def make(specs: Sequence[Spec]) -> dict[str, Translator]:
        models = {}
        for number, (source, target, state) in enumerate(specs):
            manifest = dataclasses.replace(
                loaded.artifact.manifest, name=f"model-{number}", source_language=source, target_language=target
            )
            artifact = dataclasses.replace(loaded.artifact, manifest=manifest)
            parts = LoadedModel(loaded.source_pieces, loaded.target_pieces, loaded.planner, loaded.worker)
            model = Translator(artifact, parts, loaded.settings, loaded.metrics)
            model.state = state
            models[model.name] = model
        return models

    yield make
    loaded.stop(5)


def searched(models: Sequence[Translator], allows_pivot: bool, source: str, target: str) -> tuple[Translator, ...]:
    """The models of the route, () for none: the rules one after the other."""

    def first(source: str, target: str) -> Translator:
        fitting = [model for model in models if model.languages == (source, target)]
        return next((model for model in fitting if model.state in ("ready", "unloaded")), fitting[0])

    def pivots(*states: ModelState) -> list[str]:
        results = {
            entry.languages[1]
            for entry, other in itertools.product(models, models)
            if entry.languages[0] == source and other.languages == (entry.languages[1], target)
            if entry.state in states and other.state in states
        }
        return sorted(results, key=lambda language: (language != "en", language))

    direct = [model for model in models if model.languages == (source, target)]
    if any(model.state != "failed" for model in direct):
        return (first(source, target),)
    if allows_pivot and source != target:
        for states in STATES[:2], STATES[:3], () if direct else STATES:
            for pivot in pivots(*states):
                return first(source, pivot), first(pivot, target)
    return (first(source, target),) if direct else ()


PAIRS = tuple(itertools.product(LANGUAGES, repeat=2))
SPECS = st.tuples(*(st.lists(st.sampled_from(STATES), max_size=2) for _ in PAIRS)).map(
    lambda states: [(*pair, state) for pair, several in zip(PAIRS, states, strict=True) for state in several]
)
"""Up to two models for each pair of languages."""


PIVOT_RESTARTS: list[Spec] = [
    ("de", "en", "restarting"), ("en", "fr", "ready"), ("de", "ar", "ready"), ("ar", "fr", "ready"),
]  # fmt: skip
"""From "de" to "fr" goes through "ar", until "de-en" is ready again."""


@given(specs=SPECS, allows_pivot=st.booleans())
@example(specs=PIVOT_RESTARTS, allows_pivot=True)
@example(specs=[*PIVOT_RESTARTS, ("de", "fr", "failed")], allows_pivot=True)
def test_routes_are_those_of_a_search_through_all_models(
    make_models: MakeModels, specs: list[Spec], allows_pivot: bool
) -> None:
    models = make_models(specs)
    table = RoutingTable(models, allows_pivot)
    listed = list(models.values())
    usable = [model for model in listed if model.state != "failed"]
    for source, target in PAIRS:
        expected = searched(listed, allows_pivot, source, target)
        assert (target in table.known_languages.get(source, ())) == bool(expected)
        served = bool(searched(usable, allows_pivot, source, target))
        assert (target in table.languages.get(source, ())) == served
        direct = any(model.languages == (source, target) for model in usable)
        assert (target in table.direct_languages.get(source, ())) == direct
        if expected:
            route = table.choose(None, source, target)
            assert route.models == expected
            assert isinstance(route, TwoModels) == (len(expected) == 2)
            assert table.pivot_language(source, target) == route.pivot_language
            assert route.pivot_language == (None if len(expected) == 1 else expected[0].languages[1])
        else:
            assert table.pivot_language(source, target) is None
            with pytest.raises(ApiError, match="language"):
                table.choose(None, source, target)


@given(specs=SPECS)
def test_a_named_model_is_chosen_or_refused(make_models: MakeModels, specs: list[Spec]) -> None:
    """Whatever its state is, and never through another language."""
    models = make_models(specs)
    table = RoutingTable(models, True)
    for model in models.values():
        for pair in PAIRS:
            if pair == model.languages:
                assert table.choose(model.name, *pair) == OneModel(model)
            else:
                with pytest.raises(ApiError, match=f"is what model '{model.name}' translates"):
                    table.choose(model.name, *pair)
    with pytest.raises(ApiError, match="no model 'unknown' is served"):
        table.choose("unknown", "de", "en")


def test_errors_name_the_language_that_is_not_served(make_models: MakeModels) -> None:
    table = RoutingTable(make_models([("de", "en", "ready"), ("de", "fr", "failed")]), True)
    for pair, param, message in (
        (("nl", "en"), "source", "source language 'nl': only 'de' is served"),
        (("de", "nl"), "target", "target language 'nl': only 'en', 'fr' is served"),
    ):
        with pytest.raises(ApiError) as refused:
            table.choose(None, *pair)
        assert (refused.value.param, refused.value.message) == (param, message)


@given(
    pair=st.sampled_from(PAIRS), spellings=st.tuples(*[st.sampled_from(["{}", "{}-XA", "{}_Latn", "{}-x-a"])] * 2),
    named=st.booleans(),
)  # fmt: skip
def test_languages_are_named_with_any_region(
    make_models: MakeModels, pair: tuple[str, str], spellings: tuple[str, str], named: bool
) -> None:
    models = make_models([(*pair, "ready")])
    table = RoutingTable(models, True)
    source, target = (spelling.format(code).upper() for spelling, code in zip(spellings, pair, strict=True))
    route = table.choose("model-0" if named else None, source, target)
    assert route.models == tuple(models.values())
    assert table.closest_language(source) == pair[0]
    assert table.closest_language("zz-ZZ") == "zz-ZZ"
