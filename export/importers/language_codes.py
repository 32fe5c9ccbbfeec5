"""Codes of languages for the tokens of models that translate between many: `de` for deu, deu_Latn and __de__; `zh` and
`zh-Hant` for zho_Hans and zho_Hant.

By tables of langcodes: the registry's replacements, CLDR's macrolanguages and likely subtags.
"""

import re
from collections.abc import Iterable, Sequence

from langcodes.data_dicts import LANGUAGE_REPLACEMENTS, LIKELY_SUBTAGS, NORMALIZED_MACROLANGUAGES

from export.importers import ImportRefused

SAME = {"no": "nb", "nb": "no"}
"""Languages that the registry does not equate, and that models and people call by either name."""
PART_OF = {"Kore": "Hang", "Jpan": "Hira"}
"""Scripts of the tables that are several in one, and the part that models name."""
LONG_TAG = 3
"""Parts of a likely tag that has a script: language, script and region."""
USUAL = {"fil": "tl", "ns": "nso"}
"""Codes that clients use for what CLDR calls otherwise, and M2M-100's own for Northern Sotho."""
TOKEN = re.compile(r"__(?P<m2m>[a-z]{2,3})__|(?P<nllb>[a-z]{3}_[A-Z][a-z]{3})|>>(?P<marian>[A-Za-z][A-Za-z0-9_-]*)<<")
"""Language tokens of M2M-100, NLLB and Marian."""
PARTS = re.compile(
    r"(?P<language>[A-Za-z]{2,3})(?:[_-](?P<script>[A-Za-z]{4}))?(?:[_-](?P<region>[A-Za-z]{2}|[0-9]{3}))?"
)


def named(token: str) -> str | None:
    """What a language token says between its marks: `deu_Latn`; None for a word that is none."""
    match = TOKEN.fullmatch(token)
    return None if match is None else match["m2m"] or match["nllb"] or match["marian"]


def codes_of(names: Iterable[str]) -> dict[str, str]:
    """The code of every name of a language, each another one: the shortest language code of the registry; with the
    script where that is not its usual one; the name's own language where another name has the code already (`twi`,
    where `aka` is `ak`)."""
    codes: dict[str, str] = {}
    of_language: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        of_language.setdefault(base_of(name), []).append(name)
    taken = set[str]()
    for language, found in of_language.items():
        ranked = sorted(found, key=lambda name: (not is_usual_script(name, language), *_distance(name, language), name))
        for number, name in enumerate(ranked):
            own = tag_of(name).partition("-")[0]
            wanted = (
                (own if number else language) if is_usual_script(name, language) else f"{language}-{script_of(name)}"
            )
            code = next(code for code in (wanted, tag_of(name), f"{tag_of(name)}-x-{number}") if code not in taken)
            taken.add(code)
            codes[name] = code
    return codes


def base_of(name: str) -> str:
    """The language of a name without script and region, by its shortest code; the name itself where it is no tag."""
    parts = PARTS.fullmatch(name)
    if parts is None:
        return tag_of(name)
    language = parts["language"].lower()
    language = LANGUAGE_REPLACEMENTS.get(language, language).partition("-")[0].lower()
    language = NORMALIZED_MACROLANGUAGES.get(language, language)
    return USUAL.get(language, language)


def script_of(name: str) -> str:
    parts = PARTS.fullmatch(name)
    return (parts["script"] or "").title() if parts is not None else ""


def is_usual_script(name: str, language: str) -> bool:
    """Whether a name has no script, or that in which its language is most often written, as far as that is known."""
    script, likely = script_of(name), LIKELY_SUBTAGS.get(language, "").split("-")
    return not script or len(likely) < LONG_TAG or script in (likely[1], PART_OF.get(likely[1]))


def _distance(name: str, language: str) -> tuple[bool, int, bool]:
    """How far a name is from its language's code: first dialects that the registry replaces by language and region,
    then names with more parts, then other spellings."""
    own, *others = tag_of(name).lower().split("-")
    return "-" in LANGUAGE_REPLACEMENTS.get(own, ""), len(others), own != language


def tag_of(name: str) -> str:
    return name.replace("_", "-")


def kept_of(codes: Sequence[str], wanted: str | None, where: object) -> list[str]:
    """Those of `codes` that `wanted` names, a list of codes with commas between them; all without it. Raises
    ImportRefused for a language that the model does not have."""
    if wanted is None:
        return [*codes]
    names = dict.fromkeys(part.strip() for part in wanted.split(",") if part.strip())
    kept: list[str] = []
    for name in names:
        code = found_in(name, codes)
        if code is None:
            raise ImportRefused(f"{where} has no language '{name}'; it has {', '.join(sorted(codes))}")
        kept.append(code)
    return list(dict.fromkeys(kept))


def found_in(name: str, codes: Sequence[str]) -> str | None:
    """The one of `codes` that a person means by `name`: `de`, `deu` and `deu_Latn` for `de`."""
    spelled = {code.lower(): code for code in codes}
    base = base_of(name)
    candidates = [tag_of(name), f"{base}-{script_of(name)}"]
    candidates += [tag_of(name).partition("-")[0], base, SAME.get(base, base)] if is_usual_script(name, base) else []
    return next((spelled[code.lower()] for code in candidates if code.lower() in spelled), None)
