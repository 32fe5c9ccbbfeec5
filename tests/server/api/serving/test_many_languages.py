"""Routes with models of many languages, compared with the same models as one model for every pair."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.api.requests.errors import ApiError
from server.api.serving import language_codes, routing
from server.api.serving.model_names import names_of_pairs, pair_named
from server.api.serving.routing import MOST_PAIRS, Models, RoutingTable
from server.artifact.artifact import Artifact
from server.artifact.language_tokens import MANY, LanguageTokens
from server.artifact.manifest import read_manifest
from server.settings import EngineSettings
from server.telemetry.labels import ModelState
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator

LANGUAGES = ("ar", "de", "en", "fr")
STATES: tuple[ModelState, ...] = ("ready", "unloaded", "restarting", "failed")
Spec = tuple[frozenset[str], frozenset[str], ModelState]
"""Sources and targets of a model, of which any but a pair of the same is translated."""
MakeModels = Callable[[Sequence[Spec]], dict[str, Translator]]


@pytest.fixture(scope="module")
def make_models(tiny_artifact: Path) -> MakeModels:
    """Models of any languages in any state, without weights."""
    plain, engine, metrics = read_manifest(tiny_artifact), EngineSettings(precision="fp32"), Metrics()

    def make(specs: Sequence[Spec]) -> dict[str, Translator]:
        models = {}
        for number, (sources, targets, state) in enumerate(specs):
            sides: list[dict[str, tuple[int, ...]]] = [
                {code: (index + 4,) for index, code in enumerate(sorted(codes))} for codes in (sources, targets)
            ]
            languages = LanguageTokens(sides[0], sides[1], starts_target=True)
            manifest = dataclasses.replace(
                plain, name=f"model-{number}", source_language=MANY, target_language=MANY, languages=languages
            )
            if len(sources) == len(targets) == 1:
                [source], [target] = sources, targets
                manifest = dataclasses.replace(manifest, source_language=source, target_language=target, languages=None)
            model = Translator(Artifact(tiny_artifact, manifest), None, engine, metrics)
            model.state = state
            models[model.name] = model
        return models

    return make


def split(specs: Sequence[Spec]) -> list[tuple[int, Spec]]:
    """A model of one pair for every pair, with the number of the model that it is a part of."""
    return [
        (number, (frozenset({source}), frozenset({target}), state))
        for number, (sources, targets, state) in enumerate(specs)
        for source, target in itertools.product(sorted(sources), sorted(targets))
        if source != target
    ]


some = st.frozensets(st.sampled_from(LANGUAGES), min_size=1)
specs = st.lists(
    st.tuples(some, some, st.sampled_from(STATES)).filter(lambda spec: len(spec[0] | spec[1]) > 1), max_size=4
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(specs=specs, allows_pivot=st.booleans())
def test_a_model_of_many_is_routed_as_one_model_for_each_of_its_pairs(
    make_models: MakeModels, specs: list[Spec], allows_pivot: bool
) -> None:
    parts = split(specs)
    whole = RoutingTable(make_models(specs), allows_pivot)
    slow = RoutingTable(make_models([spec for _, spec in parts]), allows_pivot)
    for name in ("languages", "known_languages", "direct_languages", "targets", "listed_pairs"):
        assert getattr(whole, name) == getattr(slow, name)
    for source in whole.direct_languages:
        found = {target: whole.pivot_language(source, target) for target in whole.languages[source]}
        assert whole.pivots(source) == {target: pivot for target, pivot in found.items() if pivot is not None}
    of_part = {f"model-{number}": f"model-{part}" for number, (part, _) in enumerate(parts)}
    for source, target in itertools.product(LANGUAGES, LANGUAGES):
        assert whole.sources_into(target) == slow.sources_into(target)
        assert route(whole, source, target) == [
            (of_part[name], languages) for name, languages in route(slow, source, target)
        ]


def route(table: RoutingTable, source: str, target: str) -> list[tuple[str, tuple[str, str]]]:
    """The models of a route and their languages, none where the pair is not served."""
    try:
        return [(model.name, model.languages) for model in table.choose(None, source, target).models]
    except ApiError:
        return []


def test_lists_of_pairs_are_bounded_and_all_pairs_are_served(make_models: MakeModels) -> None:
    codes = frozenset({"en", *(f"{first}{second}" for first in "qvx" for second in "abcdefghijklmnopqrstuvwxyz")})
    assert len(codes) * (len(codes) - 1) > MOST_PAIRS
    models = make_models([(codes, codes, "ready")])
    routes = RoutingTable(models, True)
    assert sum(map(len, routes.languages.values())) == len(codes) * (len(codes) - 1)
    assert {frozenset(pair) for pair in routes.listed_pairs} == {frozenset({"en", code}) for code in codes - {"en"}}
    others = codes - {"en"}
    without = RoutingTable(make_models([(others, others, "ready")]), True)
    assert (
        without.listed_pairs
        == [(source, target) for source in sorted(others) for target in sorted(others - {source})][:MOST_PAIRS]
    )
    names = names_of_pairs(models, routes)
    assert len(names) == 1 + 2 * (len(codes) - 1) + len(codes)
    assert "qa-xb" not in names
    named = pair_named("qa-xb", models, routes)
    assert (named.source, named.target) == ("qa", "xb")
    assert [model.languages for model in routes.choose(None, "qa", "xb").models] == [("qa", "xb")]
    with pytest.raises(ApiError, match="translates between many languages: name two of them, such as en-"):
        pair_named("model-0", models, routes)


def test_lists_of_many_languages_are_made_once(make_models: MakeModels, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 200 languages a list that searches a code among all, for each of its pairs, takes seconds."""
    codes = frozenset({"en", *(f"q{letter}" for letter in "abcdefghijklmnopqrst")})
    one = frozenset({"en"})
    routes = RoutingTable(make_models([(codes, codes, "ready"), (one, frozenset({"xa"}), "ready")]), True)
    searched: list[str] = []

    def served_code(code: str, served: Iterable[str]) -> str | None:
        searched.append(code)
        return real(code, served)

    real = language_codes.served_code
    monkeypatch.setattr(routing, "served_code", served_code)
    assert {source: routes.pivots(source) for source in sorted(codes)} == {
        source: {} if source == "en" else {"xa": "en"} for source in sorted(codes)
    }
    assert searched == []
    assert routes.sources_into("qa") == sorted(codes - {"qa"})
    assert searched == ["qa", "qa"], "once to know the code, and once for the source that is it"
    monkeypatch.setattr(Models, "first", None)
    assert routes.pivots("qa") == {"xa": "en"}


def test_a_model_of_which_one_pair_was_kept_is_named_for_it(make_models: MakeModels) -> None:
    both = frozenset({"de", "en"})
    [model] = make_models([(both, both, "ready")]).values()
    manifest = dataclasses.replace(
        model.artifact.manifest,
        source_language="en",
        target_language="de",
        languages=LanguageTokens({"en": (4,)}, {"de": (5,)}, starts_target=True),
    )
    models = {model.name: Translator(Artifact(model.artifact.folder, manifest), None, model.settings, model.metrics)}
    routes = RoutingTable(models, True)
    named = pair_named(model.name, models, routes)
    assert (named.source, named.target, named.model) == ("en", "de", model.name)
    assert [route.languages for route in routes.choose(named.model, "en", "de").models] == [("en", "de")]


def test_a_pair_has_its_models_state_and_users(make_models: MakeModels) -> None:
    models = make_models([(frozenset({"de", "en"}), frozenset({"fr", "en"}), "unloaded")])
    [model] = models.values()
    [pair] = RoutingTable(models, True).choose(None, "de", "fr").models
    assert (pair.name, pair.languages, pair.state) == (model.name, ("de", "fr"), "unloaded")
    with pair.users:
        assert model.users.count == 1
    pair.fail("failed", "a reason")
    assert (model.state, model.reason, pair.reason) == ("failed", "a reason", "a reason")
    assert not pair.is_available
