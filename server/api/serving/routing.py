"""Which model translates from one language into another, or which two do, through a language between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from server.api.requests.errors import ApiError
from server.api.serving.language_codes import served_code
from server.settings import nearest
from server.translation.translator import Translator

PREFERRED_PIVOT = "en"
"""The language between two models, where several are possible."""

Targets = Mapping[str, Mapping[str, Translator]]
"""Source language -> target language -> the first model for the two; both sorted."""


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


class RoutingTable:
    """The routes between all languages, for the states that the models had when the table was made. Immutable."""

    def __init__(self, models: Mapping[str, Translator], allows_pivot: bool) -> None:
        """`models` by name, in the order of preference. Without `allows_pivot` no route has two models."""
        self._models, self._allows_pivot = models, allows_pivot
        self._all = _by_languages(models.values())
        self._usable = _by_languages(model for model in models.values() if model.state != "failed")
        # An unloaded model is as good as a loaded one: what is translated how must not depend on the requests before.
        self._ready = _by_languages(model for model in models.values() if model.is_available)

    def choose(self, model: str | None, source: str, target: str) -> Route:
        """The route from `source` to `target`; with `model`, a name, that model or none. Ready and unloaded models are
        preferred, then one model to two; two are chosen only where no model for the pair is usable. The models of a
        route need not be ready. Languages are named as in `served_code`. Raises ApiError (422), which names what is
        served.
        """
        if model is not None:
            return OneModel(self._named(model, source, target))
        source = served_code(source, self._all) or source
        target = served_code(target, self.known_languages.get(source, ())) or target
        if target in self._usable.get(source, ()):
            return OneModel(self._first_for(source, target))
        two_models = self._through_pivot(source, target)
        if two_models is not None:
            return two_models
        if target in self._all.get(source, ()):
            return OneModel(self._first_for(source, target))
        raise _not_served(self._all, source, target, "is served")

    def pivot_language(self, source: str, target: str) -> str | None:
        """The language between the two models that translate from `source` to `target`; None where one does or none."""
        if target not in self.known_languages.get(source, ()):
            return None
        return self.choose(None, source, target).pivot_language

    def closest_language(self, code: str) -> str:
        """The source or target language that `code` names (see `served_code`); `code` itself where none is."""
        return served_code(code, self._all_codes) or code

    def serves(self, code: str) -> bool:
        """Whether a source or target language has this code."""
        return code in self._all_codes

    @cached_property
    def _all_codes(self) -> list[str]:
        return sorted({*self._all}.union(*self._all.values()))

    @cached_property
    def direct_languages(self) -> dict[str, list[str]]:
        """Source language -> target languages of a single model that has not failed; both sorted."""
        return {source: list(targets) for source, targets in self._usable.items()}

    @cached_property
    def languages(self) -> dict[str, list[str]]:
        """Source language -> target languages of one model or two that have not failed; both sorted."""
        return self._reachable(self._usable)

    @cached_property
    def known_languages(self) -> dict[str, list[str]]:
        """`languages`, and those of failed models: a request for them is answered with 503, not with 422."""
        return self._reachable(self._all)

    def _reachable(self, models: Targets) -> dict[str, list[str]]:
        if not self._allows_pivot:
            return {source: list(targets) for source, targets in models.items()}
        return {
            source: sorted({*targets, *({end for pivot in targets for end in models.get(pivot, ())} - {source})})
            for source, targets in models.items()
        }

    def _named(self, name: str, source: str, target: str) -> Translator:
        if name not in self._models:
            raise ApiError("invalid_value", f"no model '{name}' is served: {nearest(name, self._models)}", "model")
        model = self._models[name]
        own_source, own_target = model.languages
        if served_code(source, [own_source]) is None or served_code(target, [own_target]) is None:
            raise _not_served(_by_languages([model]), source, target, f"is what model '{name}' translates")
        return model

    def _through_pivot(self, source: str, target: str) -> TwoModels | None:
        """Two ready models if possible, else two that are not failed, else, where no model is for the pair, any two."""
        if not self._allows_pivot or source == target:
            return None
        is_direct = target in self._all.get(source, ())
        for models in (self._ready, self._usable) if is_direct else (self._ready, self._usable, self._all):
            pivots = [pivot for pivot in models.get(source, ()) if target in models.get(pivot, ())]
            if pivots:
                pivot = PREFERRED_PIVOT if PREFERRED_PIVOT in pivots else pivots[0]
                return TwoModels(self._first_for(source, pivot), self._first_for(pivot, target))
        return None

    def _first_for(self, source: str, target: str) -> Translator:
        """The first model for the pair that is ready, else the first of all."""
        return self._ready.get(source, {}).get(target) or self._all[source][target]


def _by_languages(models: Iterable[Translator]) -> Targets:
    pairs: dict[tuple[str, str], Translator] = {}
    for model in models:
        pairs.setdefault(model.languages, model)
    targets: dict[str, dict[str, Translator]] = {}
    for source, target in sorted(pairs):
        targets.setdefault(source, {})[target] = pairs[source, target]
    return targets


def _not_served(models: Targets, source: str, target: str, where: str) -> ApiError:
    """The error for a pair of languages that none of the `models` translates."""
    if source in models:
        param, language, known = "target", target, sorted(models[source])
    else:
        param, language, known = "source", source, sorted(models)
    names = ", ".join(f"'{name}'" for name in known)
    return ApiError("invalid_value", f"{param} language '{language}': only {names} {where}", param)
