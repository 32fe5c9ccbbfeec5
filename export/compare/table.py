"""The comparison as Markdown."""

from collections.abc import Iterable, Sequence

from export.compare.claims import Claim, Order
from export.compare.likelihood import Estimate, mean_estimate
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
    cells = []
    for measured in rows:
        estimates = [measured.costs[name].estimate if name in measured.costs else None for name in sets]
        cells.append([measured.row.name, *map(estimate_text, [*estimates, measured.log_perplexity])])
    return table(["row", *sets, "mean"], cells)


def quality_table(rows: Sequence[Measured], found: dict[str, dict[str, Quality]], reference: str) -> str:
    head = ["row", *(cell for metric in METRICS for cell in (metric, f"p against {reference}"))]
    cells = []
    for measured in rows:
        scores = found.get(measured.row.name)
        row = [measured.row.name]
        for metric in METRICS:
            row += [NONE, NONE] if scores is None else quality_cells(scores[metric])
        cells.append(row)
    return table(head, cells)


def quality_cells(quality: Quality) -> list[str]:
    p_value = NONE if quality.p_value is None else f"{quality.p_value:.3f}"
    return [f"{quality.score:.1f} ± {quality.half_width:.1f}", p_value]


def seed_groups(rows: Sequence[Measured]) -> list[list[Measured]]:
    """Rows that differ in their seed alone, where there are several."""
    groups: dict[str, list[Measured]] = {}
    for measured in rows:
        groups.setdefault(measured.row.group(), []).append(measured)
    return [group for group in groups.values() if len(group) > 1]


def seed_table(groups: Sequence[Sequence[Measured]]) -> str:
    """Mean and range of the log-perplexity over seeds."""
    cells = []
    for group in groups:
        estimates = [measured.log_perplexity for measured in group]
        values = [estimate.value for estimate in estimates if estimate is not None]
        summary = (
            [f"{sum(values) / len(values):.3f}", f"{min(values):.3f} to {max(values):.3f}"] if values else [NONE] * 2
        )
        cells.append([", ".join(measured.row.name for measured in group), str(len(values)), *summary])
    return table(["rows", "seeds", "mean log-perplexity", "range"], cells)


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
        ours = mean_estimate([costs.estimate for costs in order.costs.values()])
        cells.append(
            [order.name, f"{ours.value:.3f}", *(figures.get((source, order.order), NONE) for source, _ in sources)]
        )
    head = ["order", "ours", *(f"{source.split(', ')[-1]}, {task}" for source, task in sources)]
    papers = "; ".join(dict.fromkeys(source.rsplit(", ", 1)[0] for source, _ in sources))
    note = f"Log-perplexity on test sets (BLEU) from {papers}: other data and sizes, only the direction compares."
    return f"{table(head, cells)}\n\n{note}"
