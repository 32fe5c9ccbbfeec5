"""The training curve as a picture."""

import csv
from pathlib import Path


def plot_metrics(metrics: Path, picture: Path, title: str) -> None:
    """Draw every nll column of metrics.csv over target tokens. The places of axes and legend are given: to find them
    takes longer than to draw."""
    from matplotlib.figure import Figure

    with metrics.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figure = Figure(figsize=(7, 4))
    axes = figure.add_axes((0.1, 0.13, 0.87, 0.79))
    for column in rows[0]:
        if "nll" in column:
            axes.plot([int(row["tokens"]) / 1e6 for row in rows], [float(row[column]) for row in rows], label=column)
    axes.set_xlabel("target tokens, millions")
    axes.set_ylabel("nll per token, nats")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right")  # curves fall
    figure.savefig(picture, dpi=110)
