"""The comparison as Markdown."""

from collections.abc import Iterable, Sequence

from export.compare.claims import Claim, Order
from export.compare.likelihood import Estimate
from export.compare.measurements import Measured
from export.compare.papers import PAPER_ROWS
from export.compare.quality import METRICS, Quality
from export.compare.rows import Row, Size

NONE = "-"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def estimate_text(estimate: Estimate | None) -> str:
    return NONE if estimate is None else f"{estimate.value:.3f} ± {estimate.error:.3f}"


def order_text(row: Row) -> str:
    return "full" if row.order is None else str(row.order)


def size_table(rows: Sequence[Measured]) -> str:
    head = [
        "row",
        "N",
        "seed",
        "parameters",
        "cache bytes per hypothesis",
        "tokens/s",
        "target tokens",
        "training, min",
    ]
    cells = []
    for measured in rows:
        row, size = measured.row, Size.of(measured.row.config)
        speed = NONE if measured.speed is None else f"{measured.speed:,.0f}"
        cells.append(
            [row.name, order_text(row), str(row.recipe.training.seed), f"{size.parameters:,}", f"{size.cache_bytes:,}",
             speed, f"{row.target_tokens / 1e6:.1f} M", f"{row.seconds / 60:.0f}"]
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


def quality_table(rows: Sequence[Measured], found: dict[str, dict[str, Quality]], reference: str) -> str:
    """One line a row; then one for every group of seeds, with the mean and range over its rows."""
    head = ["row", *(cell for metric in METRICS for cell in (metric, f"p against {reference}"))]
    cells = []
    for measured in rows:
        scores = found.get(measured.row.name, {})
        cells.append([measured.row.name, *(cell for metric in METRICS for cell in quality_cells(scores.get(metric)))])
    for group in seed_groups(rows):
        members = [found[measured.row.name] for measured in group if measured.row.name in found]
        spreads = [spread_text([member[metric].score for member in members], 1) for metric in METRICS]
        cells.append([seeds_text(group), *(cell for spread in spreads for cell in (spread, NONE))])
    return table(head, cells)


def quality_cells(quality: Quality | None) -> list[str]:
    if quality is None:
        return [NONE, NONE]
    p_value = NONE if quality.p_value is None else f"{quality.p_value:.3f}"
    return [f"{quality.score:.1f} ± {quality.half_width:.1f}", p_value]


def seed_groups(rows: Sequence[Measured]) -> list[list[Measured]]:
    """Rows that differ in their seed alone, where there are several."""
    groups: dict[str, list[Measured]] = {}
    for measured in rows:
        groups.setdefault(measured.row.group(), []).append(measured)
    return [group for group in groups.values() if len(group) > 1]


def seeds_text(group: Sequence[Measured]) -> str:
    return f"{len(group)} seeds: {', '.join(measured.row.name for measured in group)}"


def spread_text(values: Sequence[float], digits: int) -> str:
    """Mean and range."""
    if not values:
        return NONE
    return f"{sum(values) / len(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def claim_text(claim: Claim) -> str:
    lines = [f"**{claim.text}: {claim.verdict}**", ""]
    cells = [[step.label, estimate_text(step.difference), step.verdict] for step in claim.steps]
    return "\n".join([*lines, table(["difference in log-perplexity", "nats per token", ""], cells)])


def paper_table(group: Sequence[Order]) -> str:
    """Our orders beside the papers'."""
    sources = list(dict.fromkeys((row.source, row.task) for row in PAPER_ROWS))
    figures = {(row.source, row.order): f"{row.log_perplexity:.2f} ({row.bleu:.1f})" for row in PAPER_ROWS}
    cells = []
    for order in group:
        theirs = [figures.get((source, order.order), NONE) for source, _ in sources]
        cells.append([order.name, f"{order.log_perplexity.value:.3f}", *theirs])
    head = ["order", "ours", *(f"{source.split(', ')[-1]}, {task}" for source, task in sources)]
    papers = "; ".join(dict.fromkeys(source.rsplit(", ", 1)[0] for source, _ in sources))
    note = f"Log-perplexity on test sets (BLEU) from {papers}: other data and sizes, only the direction compares."
    return f"{table(head, cells)}\n\n{note}"
