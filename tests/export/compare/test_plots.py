"""Pictures are drawn, and show what they are given."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from export.compare.estimate import Estimate
from export.compare.plots import (
    LayerMasks,
    LayerSizes,
    plot_quality_against_order,
    plot_window_masks,
    plot_window_sizes,
)

WORDS = ("The", "old", "man", "reads")


def draw_quality(seed: int, picture: Path) -> None:
    values = np.random.default_rng(seed).normal(size=3)
    points = [(order, Estimate(float(v), 0.1)) for order, v in zip((8, 2, None), values, strict=True)]
    plot_quality_against_order(points, picture)


def draw_sizes(seed: int, picture: Path) -> None:
    sizes = np.random.default_rng(seed).uniform(1, 20, (3, 4))
    plot_window_sizes([LayerSizes("a: encoder", (1, 2, 3), sizes), LayerSizes("b", (2,), sizes[:1])], picture)


def draw_masks(seed: int, picture: Path) -> None:
    masks = np.random.default_rng(seed).uniform(0, 2, (2, 5, 4, 4))
    plot_window_masks([LayerMasks(f"encoder {n + 1}", masks[n], WORDS, WORDS) for n in range(2)], picture)


@pytest.mark.parametrize("draw", [draw_quality, draw_sizes, draw_masks])
def test_a_picture_depends_on_its_numbers_alone(draw: Callable[[int, Path], None], tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("again", 0), ("b", 1)):
        draw(seed, tmp_path / f"{name}.png")
    first, again, other = ((tmp_path / f"{name}.png").read_bytes() for name in ("a", "again", "b"))
    assert first.startswith(b"\x89PNG")
    assert first == again != other


def test_full_attention_alone_can_be_drawn(tmp_path: Path) -> None:
    plot_quality_against_order([(None, Estimate(2.0, 0.1))], tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_labels_must_fit_the_masks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="masks of 4 x 4 need as many labels, not 4 x 3"):
        plot_window_masks([LayerMasks("encoder 1", np.zeros((2, 4, 4)), WORDS, WORDS[:3])], tmp_path / "x.png")
