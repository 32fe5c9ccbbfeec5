"""How often translations have the requested form of address, and what that costs.

    python -m loadtest.bench.formality_bench server/bundled/en-de --data DATA --sets test/tatoeba,test/news [--show 50]

Of every set (NAME.en.gz and NAME.de.gz below DATA) the different pairs count whose English has "you" and whose German
addresses somebody, in one form. They are translated without a requested form, and with each form. The forms are those
that `server.text.checks.address` finds, for references as for translations; --show prints some of its findings, drawn
by chance, to be judged by a reader. BLEU and chrF are measured on the pairs whose reference has the requested form. In
brackets: 95% confidence interval (Wilson).
"""

import argparse
import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sacrebleu import BLEU, CHRF

from model.data.corpus import SentencePair, read_corpus
from model.evaluation.contrastive_accuracy import accuracy
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.text.checks.address import WANTED, Address, Formality, address_of
from server.translation.planning import TextRequest
from server.translation.translator import Translator

AT_ONCE = 64
_YOU = re.compile(r"\b(?:you|your|yours|yourself|yourselves)\b", re.IGNORECASE)
Found = tuple[str, str, Address]
"""A source, its translation, and the form that was found."""


@dataclass
class Counts:
    """Translations by their form, and of the pairs whose reference has the requested form: references, translations
    without a wish, and as asked. `seconds` of the processor, without a wish and with it."""

    forms: Counter[Address] = field(default_factory=Counter)
    plain_forms: Counter[Address] = field(default_factory=Counter)
    references: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    seconds: tuple[float, float] = (0.0, 0.0)


def chosen(pairs: Sequence[SentencePair], most: int) -> list[tuple[str, str]]:
    """The pairs that count; of more than `most`, as many at equal distances."""
    distinct = dict.fromkeys((pair.source, pair.target) for pair in pairs if _YOU.search(pair.source))
    addressed = [pair for pair in distinct if address_of(pair[1], pair[0]) in WANTED.values()]
    step = max(1, -(-len(addressed) // most))
    return addressed[::step]


async def translated(
    translator: Translator, sources: Sequence[str], formality: Formality | None
) -> tuple[list[str], float]:
    """The translations, and the seconds of the processor that they took."""
    texts: list[str] = []
    began = time.process_time()
    for start in range(0, len(sources), AT_ONCE):
        options = translator.options(formality=formality)
        outcome = await translator.translate(TextRequest(sources[start : start + AT_ONCE], options))
        texts += [text.text for text in outcome.translations]
    return texts, time.process_time() - began


async def measured(
    translator: Translator, pairs: Sequence[tuple[str, str]]
) -> tuple[dict[Formality, Counts], list[Found]]:
    """The counts for each requested form, and all findings in translations with a request."""
    sources = [source for source, _ in pairs]
    plain, plain_seconds = await translated(translator, sources, None)
    counts: dict[Formality, Counts] = {}
    findings: list[Found] = []
    for formality, wanted in WANTED.items():
        texts, seconds = await translated(translator, sources, formality)
        count = counts[formality] = Counts(seconds=(plain_seconds, seconds))
        for (source, reference), before, text in zip(pairs, plain, texts, strict=True):
            form = address_of(text, source)
            count.forms[form] += 1
            count.plain_forms[address_of(before, source)] += 1
            findings.append((source, text, form))
            if address_of(reference, source) is wanted:
                count.references.append(reference)
                count.plain.append(before)
                count.asked.append(text)
    return counts, findings


def row(name: str, formality: Formality, count: Counts) -> str:
    wanted, total = WANTED[formality], sum(count.forms.values())
    right, neither = count.forms[wanted], count.forms[Address.NONE]
    share = accuracy([True] * right + [False] * (total - right))
    cells = [name, formality, f"{total:,}", f"{count.plain_forms[wanted] / total:.1%}"]
    cells.append(f"{share.share:.1%} ({share.low:.1%} to {share.high:.1%})")
    cells += [f"{neither / total:.1%}", f"{(total - right - neither) / total:.1%}"]
    if count.references:
        scores = [
            f"{metric.corpus_score(texts, [count.references]).score:.1f}"
            for metric in (BLEU(), CHRF())
            for texts in (count.plain, count.asked)
        ]
        cells += [f"{len(count.references):,}", *scores]
    else:
        cells += ["0", "", "", "", ""]
    cells.append(f"{count.seconds[1] / count.seconds[0]:.2f}")
    return f"| {' | '.join(cells)} |"


def joined(counts: Sequence[Counts]) -> Counts:
    """Of several sets together."""
    whole = Counts()
    for count in counts:
        whole.forms += count.forms
        whole.plain_forms += count.plain_forms
        whole.references += count.references
        whole.plain += count.plain
        whole.asked += count.asked
        whole.seconds = (whole.seconds[0] + count.seconds[0], whole.seconds[1] + count.seconds[1])
    return whole


async def measure(translator: Translator, data: Path, sets: Sequence[str], most: int, show: int) -> None:
    print(
        "| set | formality | sentences | as asked, without the wish | as asked | no address | other form, or both "
        "| references in the form | BLEU without | BLEU | chrF without | chrF | processor time |\n"
        f"|{'---|' * 13}"
    )
    every: dict[Formality, list[Counts]] = {formality: [] for formality in WANTED}
    findings: list[Found] = []
    for name in sets:
        pairs = chosen(read_corpus(data, name, *translator.languages), most)
        if not pairs:
            continue
        counts, found = await measured(translator, pairs)
        findings += found
        for formality, count in counts.items():
            every[formality].append(count)
            print(row(name, formality, count), flush=True)
    for formality, of_sets in every.items():
        if len(of_sets) > 1:
            print(row("all", formality, joined(of_sets)))
    for source, text, form in random.Random(0).sample(findings, min(show, len(findings))):
        print(f"{form.value}: {source}\n  {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", required=True)
    parser.add_argument("--most", type=int, default=1000, help="pairs of a set at most")
    parser.add_argument("--show", type=int, default=0)
    args = parser.parse_args()
    settings = EngineSettings(num_workers=1, translation_cache_bytes=0)
    translator = Translator.load(args.artifact, settings, Metrics())
    try:
        asyncio.run(measure(translator, args.data, args.sets.split(","), args.most, args.show))
    finally:
        translator.stop(1)


if __name__ == "__main__":
    main()
