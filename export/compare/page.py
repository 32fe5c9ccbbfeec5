"""The comparison as a page: a README with its pictures beside it."""

from collections.abc import Sequence
from pathlib import Path

from export.compare.claims import ngram_groups
from export.compare.measurements import Measured
from export.compare.plots import plot_quality_against_order, plot_window_masks, plot_window_sizes
from export.compare.rows import CompareError
from export.compare.windows import SENTENCES, mask_layers, size_panels

PAGE, PICTURES = "README.md", "plots"
MARK = "<!-- Written by `ringmt compare --out`. -->"


def write_page(folder: Path, text: str, rows: Sequence[Measured]) -> None:
    """README.md, and pictures in plots/. Raises CompareError rather than overwrite a README.md of another kind."""
    page = folder / PAGE
    if page.is_file() and not page.read_text(encoding="utf-8").startswith(MARK):
        raise CompareError(f"{page} was not written by `ringmt compare`: choose another --out, or remove it first")
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for old in (folder / PICTURES).glob("*.png"):
        old.unlink()
    parts = [MARK, "# Trained variants, side by side", introduction(rows), text, *pictures(folder / PICTURES, rows)]
    page.write_text("\n\n".join([*parts, reproduction(rows)]) + "\n", encoding="utf-8")


def introduction(rows: Sequence[Measured]) -> str:
    """How much training stands behind the figures."""
    tokens = sorted(measured.row.target_tokens / 1e6 for measured in rows)
    shapes = sorted(
        {
            f"d={config.d_model}, "
            + (f"{config.encoder_layers}+" if config.encoder_layers else "")
            + f"{config.decoder_layers} layers"
            for config in (measured.row.config for measured in rows)
        }
    )
    amount = f"{tokens[0]:.1f}" if tokens[-1] - tokens[0] < 0.05 else f"{tokens[0]:.1f} to {tokens[-1]:.1f}"
    return (
        f"Small models ({'; '.join(shapes)}) that read {amount} million target tokens each: enough to compare kinds of "
        f"attention under equal conditions, far from enough to translate well or to repeat the papers' figures."
    )


def pictures(folder: Path, rows: Sequence[Measured]) -> list[str]:
    """Draw what the rows have, and say what it shows."""
    parts = []
    for number, group in enumerate(ngram_groups(rows), start=1):
        name = f"ngram-{number}.png"
        plot_quality_against_order([(order.order, order.log_perplexity) for order in group.orders], folder / name)
        parts.append(f"Log-perplexity against N, {group.name}:\n\n{link(name, 'log-perplexity by N')}")
    panels = [panel for one in rows for panel in size_panels(one.row.name, one.window_sizes)]
    if panels:
        plot_window_sizes(panels, folder / "window-sizes.png")
        caption = (
            f"Mean window size D per layer and head, over the queries of {SENTENCES} sentences of every set (Yang et "
            f"al. 2018, Figures 2 and 3; there the first layer's windows are wide, and those above grow with the "
            f"layer; a fixed window has 10 everywhere):"
        )
        parts.append(f"{caption}\n\n{link('window-sizes.png', 'window sizes')}")
    masked = [one for one in rows if one.window_masks]
    for measured in masked:
        name = f"window-masks-{measured.row.name}.png"
        plot_window_masks(mask_layers(measured.window_masks), folder / name)
        parts.append(f"Soft windows of {measured.row.name}:\n\n{link(name, 'soft windows')}")
    if masked:
        first = parts.index(next(part for part in parts if part.startswith("Soft windows")))
        parts.insert(
            first,
            "The soft windows m (Nguyen et al. 2020, appendix) over one sentence, for each layer and head: queries "
            "down, keys across, 0 dark, 2 bright.",
        )
    return ["### Pictures", *parts] if parts else []


def link(name: str, words: str) -> str:
    return f"![{words}]({PICTURES}/{name})"


def reproduction(rows: Sequence[Measured]) -> str:
    """How to train one of the rows again."""
    known = [measured.row for measured in rows if measured.row.bundled]
    if not known:
        return "### Train one again\n\nThese rows are of no bundled recipe."
    row = min(known, key=lambda row: row.seconds)  # the quickest
    return (
        f"### Train one again\n\n```sh\n{row.command}\n```\n\n"
        f"is {row.name}, which took {row.seconds / 60:.1f} minutes; every row's training.json has its own command and "
        f"seconds. DATA holds the corpora of its recipe as NAME.{row.recipe.data.source}.gz and "
        f"NAME.{row.recipe.data.target}.gz; data_sha256 says whether they are the same. `ringmt zoo RUN FOLDER` then "
        f"keeps the run in fp16, and `ringmt compare` shows it here."
    )
