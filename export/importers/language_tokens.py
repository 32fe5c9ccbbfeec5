"""Language tokens: words like >>deu<< before every source of a Marian model with several targets, __de__ in M2M-100,
deu_Latn in NLLB."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from export.importers import ImportRefused
from export.importers.language_codes import codes_of, found_in, kept_of, named
from server.artifact.language_tokens import MANY, LanguageTokens

LISTED = 20


@dataclass(frozen=True)
class Wanted:
    """Which languages of a model its artifact has. `source`, `target`: the only one of a side; `kept`: codes with
    commas between them; `token`: the language token before every source, or "none"."""

    source: str | None = None
    target: str | None = None
    kept: str | None = None
    token: str | None = None


def tokens_of(words: Mapping[str, int]) -> dict[str, int]:
    """The names of language tokens among words, and their ids."""
    return {name: index for text, index in words.items() if (name := named(text)) is not None}


def marian_tokens(words: Mapping[str, int]) -> dict[str, int]:
    """The same of words like >>deu<< only."""
    return tokens_of({text: index for text, index in words.items() if text.startswith(">>")})


def several_targets(
    words: Mapping[str, int], source: str | None, wanted: Wanted, where: Path, begin: tuple[int, ...] = ()
) -> LanguageTokens | None:
    """The languages of a Marian model with several targets, of which every request names one; None for a model with
    one target, or where one is chosen for all. The ids `begin` stand before every source. Raises ImportRefused."""
    tokens = marian_tokens(words)
    source = wanted.source or source
    if len(tokens) < 2 or wanted.target is not None or wanted.token is not None or not source:
        return None
    ids = {code: (*begin, tokens[name]) for name, code in codes_of(tokens).items() if found_in(name, [source]) is None}
    kept = kept_of([*ids], without(wanted.kept, source), where)
    if not kept:
        raise ImportRefused(f"{where}: --languages leaves no language to translate into")
    return LanguageTokens({source: ()}, {code: ids[code] for code in kept}, starts_target=False)


def without(kept: str | None, source: str) -> str | None:
    """The list `kept` without the source language, which is no target."""
    names = [] if kept is None else kept.split(",")
    return None if kept is None else ",".join(name for name in names if found_in(name.strip(), [source]) is None)


def prefix_of(words: Mapping[str, int], target: str, requested: str | None, where: Path) -> tuple[int, ...]:
    """The ids before every source, of a model with these words: `requested` names a language token, or "none"; without
    it the token of the target language is taken. Raises ImportRefused where a choice is needed."""
    tokens = marian_tokens(words)
    if requested == "none" or not (tokens or requested):
        return ()
    wanted = requested.removeprefix(">>").removesuffix("<<") if requested else target
    if wanted in tokens:
        return (tokens[wanted],)
    by_code = {code: name for name, code in codes_of(tokens).items()}
    code = found_in(wanted, [*by_code])
    if code is not None:
        return (tokens[by_code[code]],)
    some = ", ".join(sorted(tokens)[:LISTED]) + (", ..." if len(tokens) > LISTED else "")
    raise ImportRefused(
        f"{where} has no language token {wanted}: choose one by --language-token, among {some or 'none'}, or none"
    )


def many_languages(
    tokens: Mapping[str, int], wanted: Wanted, where: Path, begin: tuple[int, ...] = ()
) -> LanguageTokens:
    """The languages of M2M-100 or NLLB, whose sources begin with the ids `begin`. Raises ImportRefused."""
    codes = codes_of(tokens)
    ids = {code: (tokens[name],) for name, code in codes.items()}
    kept = kept_of([*ids], wanted.kept, where)
    sources, targets = (
        kept if only is None else kept_of([*ids], only, where) for only in (wanted.source, wanted.target)
    )
    if len({*sources, *targets}) < 2:
        raise ImportRefused(f"{where}: one language is no pair: name several by --languages")
    return LanguageTokens(
        {code: (*begin, *ids[code]) for code in sources}, {code: ids[code] for code in targets}, starts_target=True
    )


def pair_of(languages: LanguageTokens) -> tuple[str, str]:
    """The codes of a manifest's sides: the only language of a side, or MANY."""
    source, target = ([*side] for side in (languages.sources, languages.targets))
    return source[0] if len(source) == 1 else MANY, target[0] if len(target) == 1 else MANY
