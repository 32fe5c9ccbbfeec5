"""Pictures of the comparison, drawn from plain numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

from export.compare.estimate import Estimate, margin

matplotlib.use("Agg")

from matplotlib import pyplot

Floats = NDArray[np.floating[Any]]
DPI = 80


@dataclass(frozen=True)
class LayerSizes:
    """Mean window sizes of one kind of attention: [layer, head], and the layers' numbers from 1."""

    title: str
    layers: tuple[int, ...]
    sizes: Floats


@dataclass(frozen=True)
class LayerMasks:
    """Soft windows of one layer, [head, query, key], and what to call queries and keys."""

    title: str
    masks: Floats
    queries: tuple[str, ...]
    keys: tuple[str, ...]


def save(figure: Any, picture: Path) -> None:
    figure.tight_layout()
    figure.savefig(picture, dpi=DPI)
    pyplot.close(figure)


def plot_quality_against_order(points: Sequence[tuple[int | None, Estimate]], picture: Path) -> None:
    """Log-perplexity over N with its 95% interval; full attention (None) as a line with a band."""
    figure, axes = pyplot.subplots(figsize=(6, 4))
    finite = sorted((order, estimate) for order, estimate in points if order is not None)
    if finite:
        orders, estimates = zip(*finite, strict=True)
        axes.errorbar(
            orders, [e.value for e in estimates], [margin(e) for e in estimates], marker="o", capsize=3, label="N-gram"
        )
        axes.set_xticks(orders)
    for full in [estimate for order, estimate in points if order is None]:
        axes.axhline(full.value, linestyle="--", color="black", label="full attention")
        axes.axhspan(full.value - margin(full), full.value + margin(full), color="black", alpha=0.1)
    axes.set_xlabel("N")
    axes.set_ylabel("log-perplexity, nats per token")
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, picture)


def plot_window_sizes(panels: Sequence[LayerSizes], picture: Path) -> None:
    """Mean learned window size per layer and head (Yang et al. 2018, Figures 2 and 3), a panel each: every head's as a
    dot, the layer's mean as a line."""
    figure, all_axes = grid(len(panels), 4, 2.6)
    for axes, panel in zip(all_axes, panels, strict=True):
        for head, sizes in enumerate(panel.sizes.T):
            axes.plot(panel.layers, sizes, linestyle="", marker="o", alpha=0.6, label=f"head {head + 1}")
        axes.plot(panel.layers, panel.sizes.mean(axis=1), color="black", label="mean of heads")
        axes.set_xticks(panel.layers)
        axes.set_ylim(bottom=0)
        axes.set_title(panel.title, fontsize="small")
        axes.grid(alpha=0.3)
    all_axes[0].set_xlabel("layer")
    all_axes[0].set_ylabel("window size, tokens")
    all_axes[0].legend(fontsize="x-small")
    save(figure, picture)


def plot_window_masks(layers: Sequence[LayerMasks], picture: Path) -> None:
    """Soft windows over a sentence, with values from 0 to 2 (Nguyen et al. 2020, appendix): a row of panels per layer,
    a panel per head. Raises ValueError when the labels do not fit."""
    heads = max(len(layer.masks) for layer in layers)
    figure, all_axes = grid(len(layers) * heads, heads, 2.4)
    for row, layer in enumerate(layers):
        _, queries, keys = layer.masks.shape
        if (len(layer.queries), len(layer.keys)) != (queries, keys):
            raise ValueError(
                f"masks of {queries} x {keys} need as many labels, not {len(layer.queries)} x {len(layer.keys)}"
            )
        for head, mask in enumerate(layer.masks):
            axes = all_axes[row * heads + head]
            axes.imshow(mask, vmin=0, vmax=2, cmap="viridis", aspect="auto")
            axes.set_title(f"{layer.title}, head {head + 1}", fontsize="small")
            axes.set_xticks(range(keys), layer.keys, rotation=90, fontsize="xx-small")
            axes.set_yticks(range(queries), layer.queries, fontsize="xx-small")
    save(figure, picture)


def grid(panels: int, columns: int, inches: float) -> tuple[Any, list[Any]]:
    """A figure, and the axes of its panels; unused panels are hidden."""
    columns = min(panels, columns)
    rows = -(-panels // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(inches * columns, inches * rows), squeeze=False)
    for unused in axes.flat[panels:]:
        unused.set_visible(False)
    return figure, list(axes.flat[:panels])
