"""The comparison's tables as Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from export.compare.claims import AGAINST, HOLDS, NOT_COMPARABLE, NOT_TRIED, Claim, OrderGroup, short
from export.compare.conditions import ALONE
from export.compare.estimate import Estimate, margin
from export.compare.measurements import Measured
from export.compare.papers import CHELBA, CHELBA_ROWS, OWN, PaperTable
from export.compare.precisions import PRECISIONS
from export.compare.quality import METRICS, Quality
from export.compare.rows import Size
from export.compare.variants import Contrast, Family, Variant, contrast, named, seed_groups, tokens_text, variant_name

NONE = "-"
Qualities = Mapping[str, Mapping[str, Quality]]
"""System -> metric -> score."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def estimate_text(estimate: Estimate | None, digits: int = 3) -> str:
    """The value with half of its 95% interval over text."""
    return NONE if estimate is None else f"{estimate.value:.{digits}f} ± {margin(estimate):.{digits}f}"


def difference_text(difference: Contrast | None) -> str:
    """The value with half of its 95% interval over text and, where it is known, over seeds."""
    return NONE if difference is None else f"{signed(difference.estimate.value)} ± {difference.margin:.3f}"


def signed(value: float) -> str:
    """The value with its sign; zero has none."""
    text = f"{value:+.3f}"
    return "0.000" if float(text) == 0 else text


def system_name(measured: Measured, condition: str) -> str:
    """The name of a row and condition among the scored systems."""
    return measured.row.name if measured.row.section is None else f"{measured.row.name}, {condition}"


def summary(found: Sequence[Family], rows: Sequence[Measured], scores: Qualities, reference: str) -> str:
    """One line per variant, averaged over its seeds; differences are against `reference` of the same budget."""
    head = ["variant", "attention", "seeds", "target tokens", "parameters", "cache, bytes", "log-perplexity"]
    cells = []
    for family in found:
        base = next((measured for name, measured in family.members.items() if short(name) == reference), None)
        for name, variant in family.members.items():
            seeds = [measured for measured in rows if variant_name(measured, ALONE) == name]
            if not seeds or seeds[0].row.section is not None:
                continue
            size, bleu = (
                Size.of(seeds[0].row.config),
                [scores.get(measured.row.name, {}).get("BLEU") for measured in seeds],
            )
            known = [quality.score for quality in bleu if quality]
            change = contrast([variant], [base], family.spread) if base and base is not variant else None
            cells.append(
                [name, seeds[0].row.config.variant, str(variant.seeds), tokens_text(variant.target_tokens),
                 f"{size.parameters:,}", NONE if size.cache_bytes is None else f"{size.cache_bytes:,}",
                 f"{variant.log_perplexity.value:.3f}", difference_text(change),
                 f"{sum(known) / len(known):.1f}" if known else NONE]
            )  # fmt: skip
    head += [f"minus {reference}", "BLEU"]
    width = len(head) if scores else len(head) - 1  # no empty column
    return table(head[:width], [row[:width] for row in cells])


def overview(rows: Sequence[Measured], scores: Qualities, reference: str) -> str:
    """Every row by itself, seed by seed."""
    head = ["row", "attention", "seed", "log-perplexity", *quality_head(reference), "target tokens", "training, min"]
    against = named_row(rows, reference)
    cells = []
    for measured in rows:
        row = measured.row
        cells.append(
            [row.name, row.config.variant, str(row.seed), estimate_text(measured.log_perplexity()),
             *quality_columns(scores.get(row.name, {}), is_comparable(measured, against)),
             tokens_text(row.target_tokens), f"{row.seconds / 60:.1f}"]
        )  # fmt: skip
    return table(head, cells)


def named_row(rows: Sequence[Measured], name: str) -> Measured | None:
    return next((measured for measured in rows if measured.row.name == name), None)


def is_comparable(measured: Measured, reference: Measured | None) -> bool:
    """Whether both rows have the same training budget."""
    return reference is not None and measured.row.budget == reference.row.budget


def language_table(rows: Sequence[Measured]) -> str:
    head = ["row", "attention", "seed", "parameters", "perplexity", "log-perplexity", "target tokens", "training, min"]
    cells = []
    for measured in rows:
        row, cost = measured.row, measured.log_perplexity()
        cells.append(
            [row.name, row.config.variant, str(row.seed), f"{Size.of(row.config).parameters:,}",
             NONE if cost is None else estimate_text(cost.perplexity, 2),
             estimate_text(cost), tokens_text(row.target_tokens), f"{row.seconds / 60:.1f}"]
        )  # fmt: skip
    return table(head, cells)


def likelihood_table(rows: Sequence[Measured], sets: Sequence[str]) -> str:
    """One line for every condition of a row; then one line per group of seeds, with the mean and range over its
    rows."""

    def estimates(measured: Measured, condition: str = ALONE) -> list[Estimate | None]:
        costs = measured.costs.get(condition, {})
        return [*(costs[name].estimate if name in costs else None for name in sets), measured.log_perplexity(condition)]

    cells = [
        [system_name(measured, condition), *map(estimate_text, estimates(measured, condition))]
        for measured in rows
        for condition in measured.row.conditions
    ]
    for group in seed_groups(rows):
        columns = zip(*map(estimates, group), strict=True)
        cells.append([seeds_text(group), *(spread_text([e.value for e in column if e], 3) for column in columns)])
    return table(["row", *sets, "mean"], cells)


def precision_table(rows: Sequence[Measured]) -> str:
    """The quality of each row at both precisions, and the difference."""
    cells = []
    for measured in rows:
        fp32, int8 = (measured.precisions[precision] for precision in PRECISIONS)
        nats = [f"{fp32['nll']:.4f}", f"{int8['nll']:.4f}", f"{int8['nll'] - fp32['nll']:+.4f}"]
        bleu = [f"{fp32['bleu']:.2f}", f"{int8['bleu']:.2f}", f"{int8['bleu'] - fp32['bleu']:+.2f}"]
        cells.append([measured.row.name, measured.row.config.variant, *nats, *bleu])
    head = ["nats, fp32", "nats, int8", "difference", "BLEU, fp32", "BLEU, int8", "difference"]
    return table(["row", "attention", *head], cells)


def quality_table(systems: Mapping[str, Measured], scores: Qualities, reference: str) -> str:
    """One line a system; then one line per group of seeds, with the mean and range over its rows. `systems`: which
    row each is of."""
    against = systems.get(reference)
    cells = [
        [name, *quality_columns(scores[name], is_comparable(measured, against))]
        for name, measured in systems.items()
        if name in scores
    ]
    for group in seed_groups([measured for name, measured in systems.items() if name == measured.row.name]):
        members = [scores[measured.row.name] for measured in group if measured.row.name in scores]
        spreads = [spread_text([member[metric].score for member in members], 1) for metric in METRICS]
        cells.append([seeds_text(group), *(cell for spread in spreads for cell in (spread, NONE))])
    return table(["row", *quality_head(reference)], cells)


def quality_head(reference: str) -> list[str]:
    return [cell for metric in METRICS for cell in (metric, f"p against {reference}")]


def quality_columns(scores: Mapping[str, Quality], with_p: bool) -> list[str]:
    """Score and p-value in every metric; no p-value where the reference was trained otherwise."""
    cells = []
    for quality in map(scores.get, METRICS):
        cells.append(NONE if quality is None else f"{quality.score:.1f} ± {quality.half_width:.1f}")
        cells.append(f"{quality.p_value:.3f}" if with_p and quality and quality.p_value is not None else NONE)
    return cells


def seeds_text(group: Sequence[Measured]) -> str:
    return f"{len(group)} seeds: {', '.join(measured.row.name for measured in group)}"


def spread_text(values: Sequence[float], digits: int) -> str:
    """Mean and range."""
    if not values:
        return NONE
    return f"{sum(values) / len(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def verdict_table(claims: Sequence[Claim], head: str = "paper") -> str:
    """One line a claim: what was found, and how many of the differences are resolved."""
    cells = [
        [claim.source.removeprefix(f"{OWN}, "), claim_text(claim), claim.tokens, found_text(claim),
         resolved_text(claim), f"**{claim.verdict}**"]
        for claim in claims
    ]  # fmt: skip
    return table([head, "claim", "target tokens", "ours, ± 95%", "differences resolved", "verdict"], cells)


def claim_text(claim: Claim) -> str:
    by = f" (of BLEU; judged by {claim.metric.name})" if claim.is_of_bleu else ""
    return f"{claim.text}{by}"


def found_text(claim: Claim) -> str:
    """The difference, or the least and the greatest."""
    result = sorted(
        (step.difference for step in claim.tried if step.difference), key=lambda difference: difference.estimate.value
    )
    if not result:
        return NONE
    ends = [difference_text(difference) for difference in dict.fromkeys((result[0], result[-1]))]
    return f"{' to '.join(ends)} {claim.metric.short_unit}"


def resolved_text(claim: Claim) -> str:
    """ "1 of 3, as claimed": a difference that is not resolved has no direction."""
    verdicts = [verdict for step, verdict in zip(claim.steps, claim.verdicts, strict=True) if step.difference]
    for_it, against = verdicts.count(HOLDS), verdicts.count(AGAINST)
    text = f"{for_it + against} of {len(verdicts)}"
    if for_it and against:
        return f"{text}: {for_it} as claimed, {against} against"
    return text + (", as claimed" if for_it else ", against the claim" if against else "")


def claim_table(claim: Claim) -> str:
    cells = []
    for step, corrected, verdict in zip(claim.steps, claim.corrected, claim.verdicts, strict=True):
        result = step.difference
        errors = [NONE] * 3 if result is None else [
            difference_text(result), f"{result.estimate.error:.4f}",
            f"{result.seed_error:.4f}, {result.freedom}" if result.freedom else NONE,
        ]  # fmt: skip
        cells.append([step.label, *errors, NONE if corrected is None else p_text(corrected), verdict])
    head = [
        f"difference in {claim.metric.name}", f"{claim.metric.unit}, ± 95%", "standard error over text",
        "over seeds, degrees of freedom", "p, corrected", "",
    ]  # fmt: skip
    because = f" ({claim.incomparable})" if claim.verdict == NOT_COMPARABLE else ""
    return f"**{claim_text(claim)}: {claim.verdict}**{because}\n\n{table(head, cells)}"


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def order_table(group: OrderGroup) -> str:
    """Our orders beside the paper's."""
    columns = list(dict.fromkeys((row.table, row.task) for row in CHELBA_ROWS))
    figures = {(row.table, row.order): f"{row.log_perplexity:.2f} ({row.bleu:.1f})" for row in CHELBA_ROWS}
    cells = [
        [
            order.name,
            f"{order.log_perplexity.value:.3f}",
            *(figures.get((name, order.order), NONE) for name, _ in columns),
        ]
        for order in group.orders
    ]
    note = f"Log-perplexity on test sets (BLEU) from {CHELBA}: other data and sizes, only the direction compares."
    return f"{table(['order', 'ours', *(f'{name}, {task}' for name, task in columns)], cells)}\n\n{note}"


def paper_table(paper: PaperTable, family: Family) -> str:
    """A paper's figures beside ours; rows that were not trained say so."""
    base = family.members.get(paper.base)
    cells = []
    for name, figures in paper.figures.items():
        theirs = [NONE if figure is None else f"{figure:.2f}" for figure in figures]
        ours = family.members.get(name)
        if ours is None:
            cells.append([short(name), *theirs, NOT_TRIED, NONE, NONE])
        else:
            change = contrast([ours], [base], family.spread) if base and ours is not base else None
            read = tokens_text(ours.target_tokens)
            cells.append([short(name), *theirs, read, estimate_text(ours.log_perplexity), difference_text(change)])
    head = ["row", *paper.columns, "target tokens", f"{family.metric.name}, ours", f"minus {short(paper.base)}"]
    text = table(head, cells)
    return f"{text}\n\n{paper.note}" if paper.note else text


def has_rows(paper: PaperTable, members: Mapping[str, Variant]) -> bool:
    """Whether there is anything to compare."""
    return sum(named(members, [name]) is not None for name in paper.figures) > 1
