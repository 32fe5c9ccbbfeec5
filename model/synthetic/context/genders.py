"""Genders of German nouns: from a lexicon, and from the determiners before them in text."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from model.data.corpus import CorpusError, read_lines
from model.synthetic.context.german import (
    ADJECTIVE,
    CASES,
    CONTRACTED,
    DETERMINERS,
    GENDERS,
    MIXED_STEMS,
    STRONG_STEMS,
    Gender,
    determiner,
)
from model.synthetic.context.words import split

Lexicon = Mapping[str, tuple[Gender, tuple[str, ...]]]
"""German noun -> (gender, English translations)."""

CASE_SHARE = {"nominative": 0.35, "accusative": 0.35, "dative": 0.22, "genitive": 0.08}
STEM_SHARE = {"der": 0.6, "ein": 0.25}
"""The share of each stem among determiners in text, roughly; the other stems divide the rest."""
IMPOSSIBLE = 0.001
"""Probability of a determiner that the gender does not have: errors, and plurals."""
MARGIN = 4.0
"""Log-odds between the two best genders below which a noun has none."""
MIN_COUNT = 3


def read_lexicon(path: Path) -> Lexicon:
    """Read a file, or .gz, of lines with a noun, its gender (m, f or n) and its translations, between tabs; semicolons
    separate translations. Raises CorpusError with the line that cannot be used."""
    lexicon: dict[str, tuple[Gender, tuple[str, ...]]] = {}
    genders: dict[str, Gender] = {gender: gender for gender in GENDERS}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        noun, *rest = line.split("\t")
        if not rest or rest[0] not in genders:
            raise CorpusError(f"{path}, line {number}: expected NOUN, tab, m, f or n, not {line[:60]!r}")
        glosses = rest[1].split(";") if len(rest) > 1 else []
        lexicon[noun] = (genders[rest[0]], tuple(gloss.strip() for gloss in glosses if gloss.strip()))
    return lexicon


def known_genders(sentences: Iterable[str], lexicon: Lexicon) -> dict[str, Gender]:
    """Noun -> gender, from the lexicon, and for other nouns from the text."""
    return {**genders_in_text(sentences), **{noun: gender for noun, (gender, _) in lexicon.items()}}


def determiner_chances() -> dict[Gender, dict[str, float]]:
    """P(determiner | gender) of a singular noun."""
    others = len(STRONG_STEMS) + len(MIXED_STEMS) - 1
    chances: dict[Gender, dict[str, float]] = {gender: defaultdict(float) for gender in GENDERS}
    for gender in GENDERS:
        for stem in ("der", *STRONG_STEMS, *MIXED_STEMS):
            share = STEM_SHARE.get(stem, (1 - sum(STEM_SHARE.values())) / others)
            for case in CASES:
                chances[gender][determiner(stem, gender, case)] += share * CASE_SHARE[case]
        for form, genders in CONTRACTED.items():
            if gender in genders:
                chances[gender][form] += 0.03
    return chances


def genders_in_text(sentences: Iterable[str]) -> dict[str, Gender]:
    """Naive Bayes over the determiners before each noun, with one adjective between them or none. Rare
    nouns, and nouns that occur only after possible plural determiners, are left out."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        words = [word.core for word in split(sentence)]
        for index in range(1, len(words)):
            noun, before = words[index], words[index - 1].lower()
            if not (noun[:1].isupper() and noun[1:].islower() and len(noun) > 2):
                continue
            if before not in DETERMINERS and before not in CONTRACTED and ADJECTIVE.fullmatch(before) and index > 1:
                before = words[index - 2].lower()
            if before in DETERMINERS or before in CONTRACTED:
                counts[noun][before] += 1
    chances = determiner_chances()
    results = {}
    for noun, determiners in counts.items():
        may_be_plural = "die" in determiners and determiners.keys() <= {"die", "der", "den", "meine", "ihre"}
        if sum(determiners.values()) < MIN_COUNT or may_be_plural:
            continue
        scores = {
            gender: sum(n * math.log(chances[gender].get(form, IMPOSSIBLE)) for form, n in determiners.items())
            for gender in GENDERS
        }
        best, second = sorted(GENDERS, key=lambda gender: -scores[gender])[:2]
        if scores[best] - scores[second] > MARGIN:
            results[noun] = best
    return results
