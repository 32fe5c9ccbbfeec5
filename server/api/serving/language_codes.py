"""Which of the served language codes a client's code names: pt-BR, pt_br, zh-Hans, nb and eng_Latn name pt, zh, no, en.

Of langcodes only the tables are used (the registry's replacements, CLDR's macrolanguages and likely subtags): its
functions keep every tag that they have ever parsed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from langcodes.data_dicts import LANGUAGE_REPLACEMENTS, LIKELY_SUBTAGS, NORMALIZED_MACROLANGUAGES

LONGEST_CODE = 35
"""Characters of a code that is read: as many as RFC 5646 (section 4.4.1) has an implementation take at least."""
ALIASES = {"pb": "pt-br", "zt": "zh-hant"}
"""Codes of LibreTranslate and its clients that are no language tags."""
SAME = {"nb": "no"}
"""Languages that the registry does not equate, and that models and clients call by either name."""
MOST_TAGS = 1024
"""Served codes whose tags are kept."""
NO_MATCH = 4
"""The rank of a tag of the same language in another script."""
_TAG = re.compile(r"(?P<language>[a-z]{2,3})(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|[0-9]{3}))?(?:-.*)?")


@dataclass(frozen=True)
class Tag:
    """A language tag (RFC 5646) in lower case. The script of a tag without one is that in which its language is most
    often written, in its region where it has one; "" where that is not known."""

    language: str
    script: str
    region: str
    is_language_alone: bool

    @classmethod
    def of(cls, code: str) -> "Tag | None":
        """None for what is no language tag."""
        spelled = _spelled(code)
        parts = None if len(code) > LONGEST_CODE else _TAG.fullmatch(ALIASES.get(spelled, spelled))
        if parts is None:
            return None
        language, _, own_script = LANGUAGE_REPLACEMENTS.get(parts["language"], parts["language"]).lower().partition("-")
        language = NORMALIZED_MACROLANGUAGES.get(language, language)
        given, region = parts["script"] or own_script[:4], parts["region"] or ""
        return cls(
            SAME.get(language, language), given or _likely_script(language, region), region, not (given or region)
        )


def served_code(requested: str, served: Iterable[str]) -> str | None:
    """The one of `served` that is equal to `requested` in any case and with - or _, else one of the same language,
    script and region, else of the same language and script, those without a region first, else the language alone
    (RFC 4647, section 3.4, after the aliases of the registry and of CLDR). None where there is none."""
    codes = {_spelled(code): code for code in served}
    exact = codes.get(_spelled(requested))
    wanted = Tag.of(requested) if exact is None else None
    if wanted is None:
        return exact
    fitting = {
        code: tag
        for code in codes.values()
        if (tag := _served_tag(code)) is not None and tag.language == wanted.language
    }
    beginning = _spelled(requested).partition("-")[0]
    ranked = sorted(fitting, key=lambda code: (_rank(wanted, fitting[code]), not _spelled(code).startswith(beginning)))
    return next((code for code in ranked if _rank(wanted, fitting[code]) < NO_MATCH), None)


def base_language(code: str) -> str:
    """Lower case, without a region."""
    return code.lower().replace("_", "-").partition("-")[0]


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


def _likely_script(language: str, region: str) -> str:
    tags = (f"{language}-{region.upper()}", language)
    likely: str = next((LIKELY_SUBTAGS[tag] for tag in tags if tag in LIKELY_SUBTAGS), "")
    return likely.split("-")[1].lower() if likely.count("-") == 2 else ""


def _spelled(code: str) -> str:
    return code.replace("_", "-").lower()
