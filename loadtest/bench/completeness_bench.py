"""Precision and recall of the flag `truncated` on translations from which a clause was removed.

    python -m loadtest.bench.completeness_bench server/bundled/en-de news.en [--count 300]

The sentences of the text, one a line, are translated. A translation of at least two clauses is also taken without its
last clause, and one of at least three without a clause in the middle; these are to be flagged. What the model wrote is
not to be flagged, although it may lack something as well: such flags are printed, to be judged by a reader.
"""

import argparse
import asyncio
import random
import re
from collections.abc import Sequence
from pathlib import Path

from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.translation.length_check import is_aligned
from server.translation.planning import TextRequest
from server.translation.translator import Translator

_CLAUSE = re.compile(r"[,;:]\s+|\s(?=(?:and|but|or|because|which|und|aber|oder|weil|dass)\s)")
MIN_WORDS, MAX_WORDS = 10, 150
AT_ONCE = 32
MIN_REMOVED = 4
"""Words of a clause that is removed, at least."""


def clauses(text: str) -> list[str]:
    """The clauses of a translation, of at least MIN_REMOVED words each; joined they are the translation."""
    ends = [match.end() for match in _CLAUSE.finditer(text)]
    parts: list[str] = []
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        if parts and min(len(text[start:end].split()), len(parts[-1].split())) < MIN_REMOVED:
            parts[-1] += text[start:end]
        else:
            parts.append(text[start:end])
    return parts


def shortened(text: str, chance: random.Random) -> dict[str, str]:
    """The translation without a clause, by where the clause was."""
    parts = clauses(text)
    made: dict[str, str] = {}
    if len(parts) > 1:
        made["end"] = "".join(parts[:-1]).rstrip(" ,;:") + text[-1]
    if len(parts) > 2:
        place = chance.randrange(1, len(parts) - 1)
        made["middle"] = "".join(parts[:place] + parts[place + 1 :])
    return made


async def translated(translator: Translator, sentences: Sequence[str]) -> list[str]:
    """The translations as the model writes them, without clauses of their own."""
    texts: list[str] = []
    for start in range(0, len(sentences), AT_ONCE):
        request = TextRequest(sentences[start : start + AT_ONCE], translator.options(), splits=False)
        planned = await translator.prepare(request)
        outcome = await translator.finish(planned, await translator.run(planned.sentences, None))
        texts += [text.text for text in outcome.translations]
    return texts


async def flagged(translator: Translator, pairs: Sequence[tuple[str, str]]) -> tuple[set[int], float]:
    """Numbers of the pairs that are flagged, and the share of pairs that were aligned."""
    ids = [
        (translator.source_pieces.encode([source])[0], translator.target_pieces.encode([target])[0][:-1])
        for source, target in pairs
    ]
    result = set[int]()
    for start in range(0, len(ids), AT_ONCE):
        result |= {start + number for number in await translator.find_incomplete(ids[start : start + AT_ONCE], None)}
    ratio = translator.artifact.manifest.length_ratio
    return result, sum(is_aligned(pair, ratio) for pair in ids) / max(1, len(ids))


async def measure(translator: Translator, sentences: Sequence[str]) -> None:
    """Print the table and the flags of what the model wrote."""
    chance = random.Random(1)
    whole = list(zip(sentences, await translated(translator, sentences), strict=True))
    made: dict[str, list[tuple[str, str]]] = {"end": [], "middle": []}
    for source, target in whole:
        for place, text in shortened(target, chance).items():
            made[place].append((source, text))
    wrong, aligned = await flagged(translator, whole)
    wrong_share = len(wrong) / len(whole)
    print(f"as the model wrote: {len(wrong)} of {len(whole)} flagged ({wrong_share:.1%}), {aligned:.1%} aligned")
    for place, pairs in made.items():
        result, aligned = await flagged(translator, pairs)
        recall = len(result) / max(1, len(pairs))
        precision = recall / (recall + wrong_share) if recall else 0.0
        print(f"clause removed ({place}): {len(pairs)}, recall {recall:.1%}, precision at 1:1 {precision:.1%}")
    for number in sorted(wrong):
        print(f"? {whole[number][0]}\n  {whole[number][1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("text", type=Path)
    parser.add_argument("--count", type=int, default=300)
    args = parser.parse_args()
    lines = [line.strip() for line in args.text.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if MIN_WORDS <= len(line.split()) <= MAX_WORDS]
    chosen = random.Random(0).sample(lines, min(args.count, len(lines)))
    translator = Translator.load(args.artifact, EngineSettings(num_workers=1), Metrics())
    try:
        asyncio.run(measure(translator, chosen))
    finally:
        translator.stop(1)


if __name__ == "__main__":
    main()
