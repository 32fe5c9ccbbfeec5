"""A figure: throughput and latency against concurrency, time of a step against length."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

Rows = list[dict[str, Any]]
Series = list[tuple[float, float, float]]
"""(x, ours, peer)"""

CLIENTS = re.compile(r"^(?P<x>\d+) clients: (?P<what>throughput|p95 latency)$")
LENGTHS = re.compile(r"length (?P<x>\d+), (?P<what>N=8|full attention): step$")


def read_rows(paths: Sequence[Path]) -> Rows:
    """The rows of several files of `ringmt bench --json`."""
    return [row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]


def series(rows: Rows, pattern: re.Pattern[str], what: str) -> Series:
    """Points of the rows whose name matches, by x; only rows with a peer."""
    matches = [(match, row) for row in rows if (match := pattern.search(row["name"])) and match["what"] == what]
    return sorted((float(match["x"]), row["ours"], row["peer"]) for match, row in matches if row["peer"] is not None)


def draw(rows: Rows, picture: Path) -> None:
    """Draw three panels. Raises ValueError without rows to draw."""
    steps = [("ours, " + order, series(rows, LENGTHS, order)) for order in ("N=8", "full attention")]
    panels = [
        ("clients at once", "tokens/s", [("ours", series(rows, CLIENTS, "throughput"))]),
        ("clients at once", "95th percentile of the latency, s", [("ours", series(rows, CLIENTS, "p95 latency"))]),
        ("target length", "microseconds a step", steps),
    ]
    if not any(points for _, _, lines in panels for _, points in lines):
        raise ValueError(
            "nothing to draw: give files that `ringmt bench http` or `lengths` wrote with --peer and --json"
        )
    figure, all_axes = pyplot.subplots(1, 3, figsize=(13, 4))
    for axes, (x_label, y_label, lines) in zip(all_axes, panels, strict=True):
        for label, points in lines:
            if points:
                axes.plot([x for x, _, _ in points], [ours for _, ours, _ in points], marker="o", label=label)
        if lines[0][1]:
            points = lines[0][1]
            peer = [peer for _, _, peer in points]
            axes.plot([x for x, _, _ in points], peer, marker="s", linestyle="--", label="CTranslate2, full attention")
        axes.set_xscale("log", base=2)
        axes.set_xticks([x for x, _, _ in lines[0][1]], [f"{x:g}" for x, _, _ in lines[0][1]])
        axes.set_ylim(bottom=0)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)
