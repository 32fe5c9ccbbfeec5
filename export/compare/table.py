"""The comparison's tables as Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from export.compare.claims import Claim, OrderGroup, short
from export.compare.contenders import Contender, contrast, named, seed_groups
from export.compare.likelihood import Estimate
from export.compare.measurements import Measured
from export.compare.papers import CHELBA, CHELBA_ROWS, PaperTable
from export.compare.quality import METRICS, Quality
from export.compare.rows import Size

NONE = "-"
Qualities = Mapping[str, Mapping[str, Quality]]
"""Row -> metric -> score."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def estimate_text(estimate: Estimate | None) -> str:
    return NONE if estimate is None else f"{estimate.value:.3f} ± {estimate.error:.3f}"


def difference_text(estimate: Estimate | None) -> str:
    return NONE if estimate is None else f"{estimate.value:+.3f} ± {estimate.error:.3f}"


def overview(rows: Sequence[Measured], found: Qualities, reference: str) -> str:
    """Everything that translates, a line each; the difference and the p-values are against `reference`."""
    head = ["row", "attention", "seed", "parameters", "cache, bytes", "tokens/s", "log-perplexity"]
    head += [f"less {reference}'s", *quality_head(reference), "target tokens", "training, min"]
    against = next((one for one in rows if one.row.name == reference), None)
    cells = []
    for measured in rows:
        row, size = measured.row, Size.of(measured.row.config)
        cells.append(
            [row.name, row.config.variant, str(row.recipe.training.seed), f"{size.parameters:,}",
             f"{size.cache_bytes:,}", NONE if measured.speed is None else f"{measured.speed:,.0f}",
             estimate_text(measured.log_perplexity), difference_text(difference(measured, against)),
             *(cell for metric in METRICS for cell in quality_cells(found.get(row.name, {}).get(metric))),
             f"{row.target_tokens / 1e6:.1f} M", f"{row.seconds / 60:.1f}"]
        )  # fmt: skip
    return table(head, cells)


def difference(one: Measured, reference: Measured | None) -> Estimate | None:
    """In log-perplexity; None for the reference itself and where both were not measured alike."""
    if reference is None or one is reference or not (one.costs and reference.costs):
        return None
    if one.row.vocabulary_hash != reference.row.vocabulary_hash:
        return None
    return contrast([Contender(one.row.name, one.costs)], [Contender(reference.row.name, reference.costs)])


def language_table(rows: Sequence[Measured]) -> str:
    head = ["row", "attention", "seed", "parameters", "perplexity", "log-perplexity", "target tokens", "training, min"]
    cells = []
    for measured in rows:
        row, cost = measured.row, measured.log_perplexity
        cells.append(
            [row.name, row.config.variant, str(row.recipe.training.seed), f"{Size.of(row.config).parameters:,}",
             NONE if cost is None else f"{cost.perplexity.value:.2f} ± {cost.perplexity.error:.2f}",
             estimate_text(cost), f"{row.target_tokens / 1e6:.1f} M", f"{row.seconds / 60:.1f}"]
        )  # fmt: skip
    return table(head, cells)


def likelihood_table(rows: Sequence[Measured], sets: Sequence[str]) -> str:
    """One line a row; then one for every group of seeds, with the mean and range over its rows."""

    def estimates(measured: Measured) -> list[Estimate | None]:
        each = [measured.costs[name].estimate if name in measured.costs else None for name in sets]
        return [*each, measured.log_perplexity]

    cells = [[measured.row.name, *map(estimate_text, estimates(measured))] for measured in rows]
    for group in seed_groups(rows):
        columns = zip(*map(estimates, group), strict=True)
        cells.append([seeds_text(group), *(spread_text([e.value for e in column if e], 3) for column in columns)])
    return table(["row", *sets, "mean"], cells)


def quality_table(rows: Sequence[Measured], found: Qualities, reference: str) -> str:
    """One line a row; then one for every group of seeds, with the mean and range over its rows."""
    cells = []
    for measured in rows:
        scores = found.get(measured.row.name, {})
        cells.append([measured.row.name, *(cell for metric in METRICS for cell in quality_cells(scores.get(metric)))])
    for group in seed_groups(rows):
        members = [found[measured.row.name] for measured in group if measured.row.name in found]
        spreads = [spread_text([member[metric].score for member in members], 1) for metric in METRICS]
        cells.append([seeds_text(group), *(cell for spread in spreads for cell in (spread, NONE))])
    return table(["row", *quality_head(reference)], cells)


def quality_head(reference: str) -> list[str]:
    return [cell for metric in METRICS for cell in (metric, f"p against {reference}")]


def quality_cells(quality: Quality | None) -> list[str]:
    if quality is None:
        return [NONE, NONE]
    p_value = NONE if quality.p_value is None else f"{quality.p_value:.3f}"
    return [f"{quality.score:.1f} ± {quality.half_width:.1f}", p_value]


def seeds_text(group: Sequence[Measured]) -> str:
    return f"{len(group)} seeds: {', '.join(measured.row.name for measured in group)}"


def spread_text(values: Sequence[float], digits: int) -> str:
    """Mean and range."""
    if not values:
        return NONE
    return f"{sum(values) / len(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def claim_text(claim: Claim) -> str:
    lines = [f"**{claim.text}: {claim.verdict}**", ""]
    cells = [
        [step.label, difference_text(step.difference), f"{step.seed_error:.3f}" if step.seed_error else NONE,
         step.verdict]
        for step in claim.steps
    ]  # fmt: skip
    return "\n".join([*lines, table(["difference in log-perplexity", "nats per token", "± of seeds", ""], cells)])


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


def paper_table(paper: PaperTable, family: Mapping[str, Contender]) -> str:
    """A paper's figures beside ours; rows that were not trained say so."""
    base = family.get(paper.base)
    cells = []
    for name, figures in paper.figures.items():
        theirs = [NONE if figure is None else f"{figure:.2f}" for figure in figures]
        ours = family.get(name)
        if ours is None:
            cells.append([short(name), *theirs, "not trained", NONE])
        else:
            change = contrast([ours], [base]) if base and ours is not base else None
            cells.append([short(name), *theirs, estimate_text(ours.log_perplexity), difference_text(change)])
    text = table(["row", *paper.columns, "log-perplexity, ours", f"less {short(paper.base)}'s"], cells)
    return f"{text}\n\n{paper.note}" if paper.note else text


def has_rows(paper: PaperTable, family: Mapping[str, Contender]) -> bool:
    """Whether there is anything to compare."""
    return sum(named(family, [name]) is not None for name in paper.figures) > 1
