"""Names for pairs of languages, for clients that send nothing else to say them: `en-de`, `ringmt-en-de`, `auto-de`, or
the name of a model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from server.api.requests.errors import ApiError
from server.api.serving.language_codes import served_code
from server.api.serving.routing import RoutingTable
from server.artifact.language_tokens import MANY
from server.runtime.nearest_name import nearest
from server.text.base.language_tags import LONGEST_CODE
from server.translation.translator import Translator

AUTO = "auto"
PREFIXES = ("ringmt-", "ringmt/", "ringmt:")
LONGEST_PAIR = 2 * LONGEST_CODE + 1


@dataclass(frozen=True)
class NamedPair:
    """`source` is None where it is to be detected; `model` is None for the first model, or two, of the languages."""

    source: str | None
    target: str
    model: str | None = None


def pair_named(name: str, models: Mapping[str, Translator], routes: RoutingTable) -> NamedPair:
    """The languages that a model's name stands for. Raises ApiError (404)."""
    if name in models:
        if MANY in models[name].languages:
            example = "-".join(models[name].artifact.manifest.first_pair)
            message = f"model '{name}' translates between many languages: name two of them, such as {example}"
            raise ApiError("invalid_value", message, "model")
        return NamedPair(*models[name].languages, model=name)
    prefix = next((prefix for prefix in PREFIXES if name.lower().startswith(prefix)), "")
    pair = name[len(prefix) :]
    result = next(_served_pairs(pair, routes), None) if len(pair) <= LONGEST_PAIR else None
    if result is None:
        known = names_of_pairs(models, routes)
        raise ApiError("not_found", f"no model '{name}' is served: {nearest(name, known)}", "model")
    return result


def names_of_pairs(models: Mapping[str, Translator], routes: RoutingTable) -> list[str]:
    """The served models' names; the pairs of languages, of two models too (see `RoutingTable.listed_pairs`); and the
    targets with a detected source."""
    pairs = [f"{source}-{target}" for source, target in routes.listed_pairs]
    return list(dict.fromkeys([*models, *pairs, *(f"{AUTO}-{target}" for target in routes.targets)]))


def _served_pairs(pair: str, routes: RoutingTable) -> Iterator[NamedPair]:
    """The ways in which a pair's name is two served codes, which may contain hyphens themselves."""
    known = routes.known_languages
    for at in (at for at, character in enumerate(pair) if character in "-_"):
        source, target = pair[:at], pair[at + 1 :]
        if source.lower() == AUTO:
            if any(served_code(target, targets) is not None for targets in known.values()):
                yield NamedPair(None, target)
        elif (code := served_code(source, known)) is not None and served_code(target, known[code]) is not None:
            yield NamedPair(code, target)
