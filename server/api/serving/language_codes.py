"""Which of the served language codes a client's code names."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from server.text.base.language_tags import Tag, base_language, spelled

MOST_TAGS = 1024
"""Served codes whose tags are kept."""
NO_MATCH = 4
"""The rank of a tag of the same language in another script."""


def served_code(requested: str, served: Iterable[str]) -> str | None:
    """The one of `served` that is equal to `requested` in any case and with - or _, else one of the same language,
    script and region, else of the same language and script, those without a region first, else the language alone
    (RFC 4647, section 3.4, after the aliases of the registry and of CLDR). None where there is none."""
    served = tuple(served)
    if requested in served:
        return requested
    codes = {spelled(code): code for code in served}
    exact = codes.get(spelled(requested))
    wanted = Tag.of(requested) if exact is None else None
    if wanted is None:
        return exact
    fitting = {
        code: tag
        for code in codes.values()
        if (tag := _served_tag(code)) is not None and tag.language == wanted.language
    }
    beginning = spelled(requested).partition("-")[0]
    ranked = sorted(fitting, key=lambda code: (_rank(wanted, fitting[code]), not spelled(code).startswith(beginning)))
    return next((code for code in ranked if _rank(wanted, fitting[code]) < NO_MATCH), None)


def base_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of languages without regions, each once."""
    return list(dict.fromkeys((base_language(source), base_language(target)) for source, target in pairs))


def translates(known: Mapping[str, Iterable[str]], pair: tuple[str, str]) -> bool:
    """Whether a pair of languages without regions is translated, by one model or two. `known`: targets by source."""
    sources = [source for source in known if base_language(source) == pair[0]]
    return any(base_language(target) == pair[1] for source in sources for target in known[source])


@lru_cache(MOST_TAGS)
def _served_tag(code: str) -> Tag | None:
    """Tag.of a code that is served; those of requests are not kept."""
    return Tag.of(code)


def _rank(wanted: Tag, served: Tag) -> int:
    """How near two tags of one language are: 0 is nearest."""
    if wanted.script == served.script:
        if wanted.region == served.region:
            return 0
        return 2 if served.region else 1
    return 3 if served.is_language_alone else NO_MATCH
