"""Pictures of the comparison, drawn from plain numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

from export.compare.likelihood import Estimate

matplotlib.use("Agg")

from matplotlib import pyplot

Floats = NDArray[np.floating[Any]]
DPI = 110


def save(figure: Any, picture: Path) -> None:
    figure.tight_layout()
    figure.savefig(picture, dpi=DPI)
    pyplot.close(figure)


def plot_quality_against_order(points: Sequence[tuple[int | None, Estimate]], picture: Path) -> None:
    """Log-perplexity over N with its standard error; full attention (None) as a line with a band."""
    figure, axes = pyplot.subplots(figsize=(6, 4))
    finite = sorted((order, estimate) for order, estimate in points if order is not None)
    if finite:
        orders, estimates = zip(*finite, strict=True)
        axes.errorbar(
            orders, [e.value for e in estimates], [e.error for e in estimates], marker="o", capsize=3, label="N-gram"
        )
        axes.set_xticks(orders)
    for full in [estimate for order, estimate in points if order is None]:
        axes.axhline(full.value, linestyle="--", color="black", label="full attention")
        axes.axhspan(full.value - full.error, full.value + full.error, color="black", alpha=0.1)
    axes.set_xlabel("N")
    axes.set_ylabel("log-perplexity, nats per token")
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, picture)


def plot_window_sizes(sizes: Floats, picture: Path) -> None:
    """Mean learned window size per layer and head, [layer, head] (Yang et al. 2018, Figures 2 and 3): every head's
    as a dot, the layer's mean as a line."""
    layers, heads = sizes.shape
    figure, axes = pyplot.subplots(figsize=(6, 4))
    numbers = np.arange(1, layers + 1)
    for head in range(heads):
        axes.plot(numbers, sizes[:, head], linestyle="", marker="o", alpha=0.6, label=f"head {head + 1}")
    axes.plot(numbers, sizes.mean(axis=1), color="black", label="mean of heads")
    axes.set_xticks(numbers)
    axes.set_xlabel("layer")
    axes.set_ylabel("window size, tokens")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", ncols=2)
    save(figure, picture)


def plot_window_masks(masks: Floats, queries: Sequence[str], keys: Sequence[str], picture: Path) -> None:
    """Soft windows over a sentence, [head, query, key] with values from 0 to 2 (Nguyen et al. 2020, appendix): one
    panel per head. Raises ValueError when the labels do not fit."""
    heads, num_queries, num_keys = masks.shape
    if (len(queries), len(keys)) != (num_queries, num_keys):
        raise ValueError(f"masks of {num_queries} x {num_keys} need as many labels, not {len(queries)} x {len(keys)}")
    columns = min(heads, 4)
    rows = -(-heads // columns)
    figure, panels = pyplot.subplots(rows, columns, figsize=(3 * columns, 3 * rows), squeeze=False)
    for index, axes in enumerate(panels.flat):
        if index >= heads:
            axes.set_visible(False)
            continue
        axes.imshow(masks[index], vmin=0, vmax=2, cmap="viridis", aspect="auto")
        axes.set_title(f"head {index + 1}")
        axes.set_xticks(range(num_keys), keys, rotation=90, fontsize="x-small")
        axes.set_yticks(range(num_queries), queries, fontsize="x-small")
    save(figure, picture)
