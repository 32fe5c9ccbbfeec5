"""Which model translates from one language into another, or which two do, through a language between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from server.api.requests.errors import ApiError
from server.api.serving.language_codes import served_code
from server.runtime.nearest_name import nearest
from server.translation.formality import supports_formality
from server.translation.pair_translator import in_languages
from server.translation.translator import Translator

PREFERRED_PIVOT = "en"
"""The language between two models, where several are possible."""

MOST_PAIRS = 2000
"""Pairs in lists for clients; of more, as many languages have, only some are listed."""


@dataclass(frozen=True)
class OneModel:
    model: Translator

    @property
    def models(self) -> tuple[Translator, ...]:
        return (self.model,)

    @property
    def pivot_language(self) -> None:
        return None


@dataclass(frozen=True)
class TwoModels:
    """`second` translates what `first` returns."""

    first: Translator
    second: Translator

    @property
    def models(self) -> tuple[Translator, ...]:
        return (self.first, self.second)

    @property
    def pivot_language(self) -> str:
        """The target language of the first model, the source language of the second."""
        return self.first.languages[1]

    @property
    def languages(self) -> tuple[str, str, str]:
        """Source, pivot and target language."""
        return (*self.first.languages, self.second.languages[1])


Route = OneModel | TwoModels


class Models:
    """Some models, in the order of preference. A model of many languages translates between all of them."""

    def __init__(self, models: Iterable[Translator]) -> None:
        self._of_source: dict[str, tuple[Translator, ...]] = {}
        for model in models:
            manifest = model.artifact.manifest
            for source in manifest.sources:
                if any(manifest.translates(source, target) for target in manifest.targets):
                    self._of_source[source] = (*self._of_source.get(source, ()), model)
        self.sources = sorted(self._of_source)
        self._targets: dict[str, list[str]] = {}
        self._into: dict[str, frozenset[str]] = {}

    def into(self, target: str) -> frozenset[str]:
        """The languages that one model translates into `target`."""
        known = self._into.get(target)
        if known is None:
            known = frozenset(source for source in self.sources if self.first(source, target) is not None)
            if known:  # other values of `target` are any text of a request
                self._into[target] = known
        return known

    def first(self, source: str, target: str) -> Translator | None:
        """The first model for the two."""
        fitting = (
            each for each in self._of_source.get(source, ()) if each.artifact.manifest.translates(source, target)
        )
        return next(fitting, None)

    def targets(self, source: str) -> list[str]:
        """The languages into which one model translates from `source`, sorted."""
        known = self._targets.get(source)
        if known is None:
            manifests = [model.artifact.manifest for model in self._of_source.get(source, ())]
            known = sorted({target for each in manifests for target in each.targets if each.translates(source, target)})
            if source in self._of_source:
                self._targets[source] = known
        return known

    def direct(self) -> dict[str, list[str]]:
        """Source language -> target languages of one model; both sorted."""
        return {source: self.targets(source) for source in self.sources}

    def reachable(self) -> dict[str, list[str]]:
        """Source language -> target languages of one model or two. Pivots of the same models are followed once: with
        200 languages there are 8 million ways through a pivot."""
        ends: dict[tuple[Translator, ...], set[str]] = {}
        for models in self._of_source.values():
            if models not in ends:
                ends[models] = {target for model in models for target in model.artifact.manifest.targets}
        result: dict[str, list[str]] = {}
        for source in self.sources:
            direct = self.targets(source)
            groups = {self._of_source[pivot] for pivot in direct if pivot in self._of_source}
            result[source] = sorted({*direct, *(set().union(*(ends[group] for group in groups)) - {source})})
        return result


class RoutingTable:
    """The routes between all languages, for the states that the models had when the table was made. Immutable."""

    def __init__(self, models: Mapping[str, Translator], allows_pivot: bool) -> None:
        """`models` by name, in the order of preference. Without `allows_pivot` no route has two models."""
        self._models, self._allows_pivot = models, allows_pivot
        self._all = Models(models.values())
        self._usable = Models(model for model in models.values() if model.state != "failed")
        # An unloaded model is as good as a loaded one: what is translated how must not depend on the requests before.
        self._ready = Models(model for model in models.values() if model.is_available)
        self._sources_into: dict[str, list[str]] = {}
        self._pivots: dict[str, dict[str, str]] = {}

    def choose(self, model: str | None, source: str, target: str) -> Route:
        """The route from `source` to `target`; with `model`, a name, that model or none. Ready and unloaded models are
        preferred, then one model to two; two are chosen only where no model for the pair is usable. The models of a
        route need not be ready. Languages are named as in `served_code`. Raises ApiError (422), which names what is
        served.
        """
        if model is not None:
            return OneModel(self._named(model, source, target))
        source = served_code(source, self._all.sources) or source
        target = served_code(target, self.known_languages.get(source, ())) or target
        if self._usable.first(source, target) is not None:
            return OneModel(self._first_for(source, target))
        two_models = self._through_pivot(source, target)
        if two_models is not None:
            return two_models
        if self._all.first(source, target) is not None:
            return OneModel(self._first_for(source, target))
        raise _not_served(self._all, source, target, "is served")

    def pivot_language(self, source: str, target: str) -> str | None:
        """The language between the two models that translate from `source` to `target`; None where one does or none."""
        if self._usable.first(source, target) is not None or target not in self.known_languages.get(source, ()):
            return None
        return self.choose(None, source, target).pivot_language

    def pivots(self, source: str) -> dict[str, str]:
        """Target language -> the language between, of those that `source` is translated into by two models."""
        known = self._pivots.get(source)
        if known is None:
            direct = {*self._usable.targets(source)}
            routes = {
                target: self._through_pivot(source, target) for target in self.languages[source] if target not in direct
            }
            known = {target: route.pivot_language for target, route in routes.items() if route is not None}
            self._pivots[source] = known
        return known

    def formality_targets(self, source: str) -> list[str]:
        """The targets of `languages` for which the form of address can be chosen, by the last of the models."""
        pivots = self.pivots(source)
        return [
            target
            for target in self.languages.get(source, ())
            if supports_formality(pivots.get(target, source), target)
        ]

    def sources_into(self, target: str) -> list[str]:
        """The languages that are translated, by models that may have failed, into what `target` names (see
        `served_code`); none for a code that is not served."""
        code = served_code(target, self._all_codes)
        if code is None:
            return []
        if code not in self._sources_into:
            known = self.known_languages
            self._sources_into[code] = [
                each for each in known if code in known[each] or served_code(code, known[each]) is not None
            ]
        return self._sources_into[code]

    @cached_property
    def listed_pairs(self) -> list[tuple[str, str]]:
        """The pairs of `languages`, for clients that read pairs; of more than MOST_PAIRS, those of PREFERRED_PIVOT, or
        the first where it is not served."""
        pairs = [(source, target) for source, targets in self.languages.items() for target in targets]
        if len(pairs) <= MOST_PAIRS:
            return pairs
        return [pair for pair in pairs if PREFERRED_PIVOT in pair] or pairs[:MOST_PAIRS]

    def closest_language(self, code: str) -> str:
        """The source or target language that `code` names (see `served_code`); `code` itself where none is."""
        return served_code(code, self._all_codes) or code

    def serves(self, code: str) -> bool:
        """Whether a source or target language has this code."""
        return code in self._all_codes

    @cached_property
    def _all_codes(self) -> list[str]:
        return sorted({*self._all.sources}.union(*map(self._all.targets, self._all.sources)))

    @cached_property
    def direct_languages(self) -> dict[str, list[str]]:
        """Source language -> target languages of a single model that has not failed; both sorted."""
        return self._usable.direct()

    @cached_property
    def languages(self) -> dict[str, list[str]]:
        """Source language -> target languages of one model or two that have not failed; both sorted."""
        return self._reachable(self._usable)

    @cached_property
    def targets(self) -> list[str]:
        """All target languages of `languages`, sorted."""
        return sorted(set[str]().union(*self.languages.values()))

    @cached_property
    def known_languages(self) -> dict[str, list[str]]:
        """`languages`, and those of failed models: a request for them is answered with 503, not with 422."""
        return self._reachable(self._all)

    def _reachable(self, models: Models) -> dict[str, list[str]]:
        return models.reachable() if self._allows_pivot else models.direct()

    def _named(self, name: str, source: str, target: str) -> Translator:
        if name not in self._models:
            raise ApiError("invalid_value", f"no model '{name}' is served: {nearest(name, self._models)}", "model")
        model = self._models[name]
        only = Models([model])
        own_source = served_code(source, only.sources)
        own_target = None if own_source is None else served_code(target, only.targets(own_source))
        if own_source is None or own_target is None:
            raise _not_served(only, own_source or source, target, f"is what model '{name}' translates")
        return in_languages(model, own_source, own_target)

    def _through_pivot(self, source: str, target: str) -> TwoModels | None:
        """Two ready models if possible, else two that are not failed, else, where no model is for the pair, any two."""
        if not self._allows_pivot or source == target:
            return None
        is_direct = self._all.first(source, target) is not None
        for models in (self._ready, self._usable) if is_direct else (self._ready, self._usable, self._all):
            into = models.into(target)
            pivots = [pivot for pivot in models.targets(source) if pivot in into]
            if pivots:
                pivot = PREFERRED_PIVOT if PREFERRED_PIVOT in pivots else pivots[0]
                return TwoModels(self._first_for(source, pivot), self._first_for(pivot, target))
        return None

    def _first_for(self, source: str, target: str) -> Translator:
        """The first model for the pair that is ready, else the first of all."""
        model = self._ready.first(source, target) or self._all.first(source, target)
        assert model is not None
        return in_languages(model, source, target)


def _not_served(models: Models, source: str, target: str, where: str) -> ApiError:
    """The error for a pair of languages that none of the `models` translates."""
    if source in models.sources:
        param, language, known = "target", target, models.targets(source)
    else:
        param, language, known = "source", source, models.sources
    names = ", ".join(f"'{name}'" for name in known)
    return ApiError("invalid_value", f"{param} language '{language}': only {names} {where}", param)
