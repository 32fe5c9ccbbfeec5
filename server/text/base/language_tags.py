"""Language tags, as clients and files write them: pt-BR, pt_br, zh-Hans, nb and eng_Latn are of pt, zh, no, en.

Of langcodes only the tables are used (the registry's replacements, CLDR's macrolanguages and likely subtags): its
functions keep every tag that they have ever parsed.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from langcodes.data_dicts import LANGUAGE_REPLACEMENTS, LIKELY_SUBTAGS, NORMALIZED_MACROLANGUAGES

LONGEST_CODE = 35
"""Characters of a code that is read: as many as RFC 5646 (section 4.4.1) has an implementation take at least."""
ALIASES = {"pb": "pt-br", "zt": "zh-hant"}
"""Codes of LibreTranslate and its clients that are no language tags."""
SAME = {"nb": "no"}
"""Languages that the registry does not equate, and that models and clients call by either name."""
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
        written = spelled(code)
        parts = None if len(code) > LONGEST_CODE else _TAG.fullmatch(ALIASES.get(written, written))
        if parts is None:
            return None
        language, _, own_script = LANGUAGE_REPLACEMENTS.get(parts["language"], parts["language"]).lower().partition("-")
        language = NORMALIZED_MACROLANGUAGES.get(language, language)
        given, region = parts["script"] or own_script[:4], parts["region"] or ""
        return cls(
            SAME.get(language, language), given or _likely_script(language, region), region, not (given or region)
        )


def base_language(code: str) -> str:
    """The language of a code without its region, and with its script where that is not the usual one of the language:
    pt of pt_BR, zh of zh-Hans, zh-hant of zh-TW. Of what is no language tag, what is before the first - or _."""
    return _base_language(code) if len(code) <= LONGEST_CODE else spelled(code).partition("-")[0]


@lru_cache(1024)
def _base_language(code: str) -> str:
    tag = Tag.of(code.strip())
    if tag is None:
        return spelled(code).strip().partition("-")[0]
    is_usual = tag.script == _likely_script(tag.language, "")
    return tag.language if is_usual or not tag.script else f"{tag.language}-{tag.script}"


def _likely_script(language: str, region: str) -> str:
    tags = (f"{language}-{region.upper()}", language)
    likely: str = next((LIKELY_SUBTAGS[tag] for tag in tags if tag in LIKELY_SUBTAGS), "")
    return likely.split("-")[1].lower() if likely.count("-") == 2 else ""


def spelled(code: str) -> str:
    """With - in lower case."""
    return code.replace("_", "-").lower()
