"""A figure of `ringmt bench load`: throughput and latencies against the offered load."""

import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

from loadtest.bench.load_bench import KINDS, OBJECTIVE
from loadtest.bench.report import Row

NAME = re.compile(r"^(?P<rate>[\d.]+) requests/s: (?P<kind>\w+)$")


def draw_load(rows: Sequence[Row], picture: Path, peer_name: str = "CTranslate2 behind FastAPI") -> None:
    """Draw one panel a kind. Raises ValueError without rows to draw."""
    matches = [(match, row) for row in rows if (match := NAME.match(row.name))]
    if not matches:
        raise ValueError("nothing to draw: no rate was measured")
    figure, all_axes = pyplot.subplots(1, len(KINDS), figsize=(4 * len(KINDS), 4))
    for axes, kind in zip(all_axes, KINDS, strict=True):
        shown = [(float(match["rate"]), row) for match, row in matches if match["kind"] == kind]
        rates = [rate for rate, _ in shown]
        axes.plot(rates, [row.ours for _, row in shown], marker="o", label="RingMT")
        peer = [row.peer or 0.0 for _, row in shown]
        axes.plot(rates, peer, marker="s", linestyle="--", label=peer_name)
        if kind == "throughput":
            axes.plot(rates, rates, color="grey", linewidth=0.8, label="offered")
            axes.set_ylabel("answered requests/s")
        else:
            axes.axhline(OBJECTIVE, color="grey", linewidth=0.8)
            axes.set_yscale("log")
            axes.set_ylabel(f"{kind} of the latency, s")
        axes.set_xlabel("offered requests/s")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(picture, dpi=110)
    pyplot.close(figure)
